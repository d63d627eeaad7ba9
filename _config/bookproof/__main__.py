"""The commands of the engine: ``python -m bookproof verify | why | lint | reseeded``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    if not __package__:  # run by its path, without being installed
        sys.path[0] = str(Path(__file__).parents[1])
    match sys.argv[1:2]:
        case ["verify"]:
            from bookproof.verify.command import main

            sys.exit(main(sys.argv[2:]))
        case ["why"]:
            from bookproof.why import main

            sys.exit(main(sys.argv[2:]))
        case ["lint"]:
            from bookproof.lint.__main__ import main as lint

            del sys.argv[1]
            sys.exit(lint())
        case ["reseeded"] if len(sys.argv) == 3:
            from bookproof.verify.reseeded import print_table

            sys.exit(print_table(Path(sys.argv[2])))
        case _:
            sys.exit("usage: python -m bookproof {verify,why,lint,reseeded} [--help]")
