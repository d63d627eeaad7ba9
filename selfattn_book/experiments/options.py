"""What the training commands ask of their options, and say when they are interrupted."""

import argparse
import math
from pathlib import Path

from selfattn_book.experiments import checkpoint


def count(text: str) -> int:
    """Return a count of a command line, or refuse it.

    Example:
        >>> count("3")
        3
        >>> count("0")
        Traceback (most recent call last):
        argparse.ArgumentTypeError: must be an integer of at least 1; got 0
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(
            f"must be an integer of at least 1; got {text}"
        )
    return int(text)


def seed(text: str) -> int:
    """Return a seed of a command line, or refuse it.

    Example:
        >>> seed("0")
        0
        >>> seed("-1")
        Traceback (most recent call last):
        argparse.ArgumentTypeError: must be an integer from 0 to 4294967295; got -1
    """
    # PyTorch's generator looks at 32 bits: 0 and 2**32 would be one seed.
    if not text.isdecimal() or int(text) >= 2**32:
        rule = f"must be an integer from 0 to {2**32 - 1}"
        raise argparse.ArgumentTypeError(f"{rule}; got {text}")
    return int(text)


def rate(text: str) -> float:
    """Return a learning rate of a command line, or refuse it.

    Example:
        >>> rate("0.01")
        0.01
        >>> rate("nan")
        Traceback (most recent call last):
        argparse.ArgumentTypeError: must be a number above 0, and finite; got nan
    """
    wrong = argparse.ArgumentTypeError(
        f"must be a number above 0, and finite; got {text}"
    )
    try:
        rate = float(text)
    except ValueError:
        raise wrong from None
    if not 0 < rate < math.inf:
        raise wrong
    return rate


def file(text: str) -> Path:
    """Return a file that a command line wants written, or refuse it.

    Example:
        >>> file("losses.svg").name
        'losses.svg'
        >>> file("no such folder/losses.svg")
        Traceback (most recent call last):
        argparse.ArgumentTypeError: must be in a folder that is there; got no such folder/losses.svg
    """
    file = Path(text)
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"must be in a folder that is there; got {text}"
        )
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"must be a file; got the folder {text}")
    return file


def kept(file: Path) -> str:
    """Say what an interruption has left.

    Example:
        >>> kept(Path("no such file"))
        'No epoch was over yet, and nothing is kept.'
        >>> kept(Path("README.md"))
        'README.md is no checkpoint, and was left alone.'
    """
    try:
        epochs = len(checkpoint.load(file)["history"]["train"])
    except FileNotFoundError:
        return "No epoch was over yet, and nothing is kept."
    except (KeyError, OSError, TypeError, ValueError):
        return f"{file} is no checkpoint, and was left alone."
    return f"{file} keeps {epochs} epochs; the same command goes on from there."
