"""Run the book's checks on your own machine: its pages and seeds, handed to the engine."""

import sys
from pathlib import Path

PACKAGE = Path(__file__).parent
ENGINE = PACKAGE.parent / "_config"  # in a checkout; a wheel installs the engine beside the package
if ENGINE.is_dir():
    sys.path.insert(0, str(ENGINE))  # before a copy that was installed with the package

from bookproof.verify.cells import book_pages  # noqa: E402
from bookproof.verify.chapter import Result, verify_chapter  # noqa: E402
from bookproof.verify.command import run  # noqa: E402
from bookproof.verify.disturbed import DisturbedRounding  # noqa: E402

__all__ = ["DisturbedRounding", "Result", "book_folder", "book_pages", "main", "verify_chapter"]


def book_folder() -> Path:
    """Return the folder of the pages: inside the installed package, or in the checkout.

    Example:
        >>> (book_folder() / "chapters" / "masks.md").exists()
        True
    """
    installed = PACKAGE / "_book"
    return installed if installed.exists() else PACKAGE.parent / "docs"


def main(arguments: list[str]) -> int:
    """Verify pages of this book, and return the exit code of the command."""
    hook = "selfattn_book.experiments.seeding:first_seed"
    return run(arguments, book_folder(), hook, "python -m selfattn_book verify")
