"""The command line of the package: ``python -m selfattn_book verify``."""

import sys

USAGE = "usage: python -m selfattn_book verify [CHAPTER ...] [--help]"

if __name__ == "__main__":
    if sys.argv[1:2] != ["verify"]:
        sys.exit(USAGE)
    from selfattn_book.verify_command import main

    sys.exit(main(sys.argv[2:]))
