"""Rules for prose: a sentence a line, no typed decimals, the field's words."""

import re
from collections.abc import Iterator
from pathlib import Path

from .page import Book, Finding, Page

CROWDED = r"^[A-Z][^|\n]*[a-z`)]\. [A-Z][a-z]+ .*$"
DECIMAL = re.compile(r"(?<![\w.])-?\d*\.\d+(?!\.?\d)")
# Removed one after the other: section numbers, mathematics, roles, code, links.
NO_NUMBERS = (
    r"sections? \d+(\.\d+)+( and \d+(\.\d+)+)?",
    r"\$\$.*?\$\$",
    r"\$[^$]*\$",
    r"\{[\w:]+\}`[^`]*`",
    r"`[^`]*`",
    r"\]\([^)]*\)",
)


def sentences(page: Page, book: Book) -> Iterator[Finding]:
    """Write one sentence a line, so that a change shows which sentence has changed."""
    for line, _ in page.find(CROWDED, page.prose):
        yield line, "a line has one sentence"


def decimals(page: Page, book: Book) -> Iterator[Finding]:
    """Compute each decimal in a cell, or mark it as given."""
    text = page.prose
    for aside in NO_NUMBERS:
        text = re.sub(aside, lambda m: " " + "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    for line, number in page.find(DECIMAL.pattern, text):
        yield line, f"a decimal comes from a cell, or is {{given}}; got {number[0]}"


def words(page: Page, book: Book) -> Iterator[Finding]:
    """Use the field's words."""
    yield from wrong_words(page.prose, book.settings["words"])


def wrong_words(text: str, words: dict[str, str]) -> Iterator[Finding]:
    """Yield each word that is not the field's, with a better one."""
    for word, better in words.items():
        for match in re.finditer(rf"\b(?:{word})\b", text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"write {better!r}; got {match[0]!r}"


def other_files(book: Book) -> Iterator[tuple[Path, Finding]]:
    """Yield the wrong words of files that are not pages."""
    for pattern in book.settings["pages"]["also_words"]:
        for file in sorted(book.root.glob(pattern)):
            for found in wrong_words(file.read_text("utf-8"), book.settings["words"]):
                yield file, found
