"""Command-line options and exit codes that the commands share."""

import argparse
from pathlib import Path

INTERRUPTED = 130


def make_parser(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser for ``python -m selfattn_book COMMAND`` that shows defaults in its help."""
    return argparse.ArgumentParser(
        prog=f"python -m selfattn_book {command}",
        description=description,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )


def count(text: str) -> int:
    """Parse a count of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1; got {text}")
    return int(text)


def seed(text: str) -> int:
    """Parse a seed of 32 bits, which are all that PyTorch's generator uses."""
    if not text.isdecimal() or int(text) >= 2**32:
        rule = f"must be an integer from 0 to {2**32 - 1}"
        raise argparse.ArgumentTypeError(f"{rule}; got {text}")
    return int(text)


def file(text: str) -> Path:
    """Parse the path of an output file, which must be in an existing folder."""
    file = Path(text)
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f"must be in an existing folder; got {text}")
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file; got the folder {text}")
    return file
