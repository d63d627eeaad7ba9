"""Run the book's checks on your own machine: its pages and seeds, handed to the engine."""

from pathlib import Path

from bookproof.verify import command
from bookproof.verify.cells import book_pages
from bookproof.verify.chapter import Result, verify_chapter
from bookproof.verify.disturbed import DisturbedRounding

__all__ = ["DisturbedRounding", "Result", "book_folder", "book_pages", "main", "verify_chapter"]


def book_folder() -> Path:
    """Return the folder of the pages: inside the installed package, or in the checkout.

    Example:
        >>> (book_folder() / "chapters" / "masks.md").exists()
        True
    """
    package = Path(__file__).parent
    installed = package / "_book"
    return installed if installed.exists() else package.parent / "docs"


def main(arguments: list[str]) -> int:
    """Verify pages of this book, and return the exit code of the command."""
    hook = "selfattn_book.experiments.seeding:first_seed"
    return command.main(arguments, book_folder(), hook, "python -m selfattn_book verify")
