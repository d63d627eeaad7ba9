"""Command-line options and exit codes that the training commands share."""

import argparse
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


def rate(text: str) -> float:
    """Parse a learning rate."""
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, and finite; got {text}")
    return rate


def file(text: str) -> Path:
    """Parse the path of an output file, which must be in an existing folder."""
    file = Path(text)
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f"must be in an existing folder; got {text}")
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file; got the folder {text}")
    return file


def parse_two_files(
    parser: argparse.ArgumentParser, arguments: list[str] | None, *names: str
) -> argparse.Namespace:
    """Parse a command line, and refuse two options that name the same file."""
    options = parser.parse_args(arguments)
    one, other = (getattr(options, name) for name in names)
    if one.resolve() == other.resolve():
        parser.error(f"--{names[0]} and --{names[1]} must be two files; got {one}")
    return options


@contextmanager
def exit_with_message(file: Path) -> Iterator[None]:
    """Exit with 130 if training is interrupted and with 1 if it fails, after a message."""
    try:
        yield
    except KeyboardInterrupt:
        begins = "or begins again if it holds no epoch yet"
        print(f"\nInterrupted. The same command resumes from {file}, {begins}.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except (OSError, ValueError) as error:
        sys.exit(f"\nThe training failed: {error}")
