"""The commands of the engine: ``python -m bookproof COMMAND``."""

import sys
from importlib import import_module
from pathlib import Path

COMMANDS = {
    "new": "new",
    "verify": "verify.command",
    "why": "why",
    "lint": "lint.__main__",
    "reseeded": "verify.reseeded",
    "translations": "translations",
}

if __name__ == "__main__":
    if not __package__:  # run by its path, without being installed
        sys.path[0] = str(Path(__file__).parents[1])
    if not (module := COMMANDS.get("".join(sys.argv[1:2]))):
        sys.exit(f"usage: python -m bookproof {{{','.join(COMMANDS)}}} [--help]")
    del sys.argv[1]
    sys.exit(import_module(f"bookproof.{module}").main())
