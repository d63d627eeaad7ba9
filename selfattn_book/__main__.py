"""The command line: ``python -m selfattn_book verify | train | check | generate``."""

import sys

USAGE = "usage: python -m selfattn_book {verify,train text,check,generate} [--help]"

if __name__ == "__main__":
    match sys.argv[1:2]:
        case ["verify"]:
            from selfattn_book.verify import main

            sys.exit(main(sys.argv[2:]))
        case ["train"] if sys.argv[2:3] == ["text"]:
            from selfattn_book.experiments.train_text import main as train

            train(sys.argv[3:])
        case ["generate"]:
            from selfattn_book.experiments.generate_text import main as generate

            sys.exit(generate(sys.argv[2:]))
        case ["check"]:
            from selfattn_book.exercises.checking.command import main as check

            sys.exit(check(sys.argv[2:]))
        case _:
            sys.exit(USAGE)
