"""Lint a book.

Run as: python -m bookproof.lint DOCS [--settings FILE]
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import cells, chapter, instructors, prose, translated, whole
from .page import Book, Rule
from .prose import other_files

SETTINGS = Path(__file__).resolve().parents[2] / "lint.toml"

EVERY_PAGE: dict[str, Rule] = {
    "cell-size": cells.sizes,
    "cell-definition": cells.definitions,
    "cell-neighbor": cells.neighbors,
    "cell-hidden-output": cells.hidden_output,
    "cell-undefined": cells.undefined,
    "cell-unseeded": cells.seeded,
    "cell-fixed-seed": cells.movable_seeds,
    "sentence": prose.sentences,
    "decimal": prose.decimals,
    "word": prose.words,
    "deeper-sections": chapter.deeper_sections,
    "checked": chapter.checked,
    "label": whole.labels,
}
EVERY_CHAPTER: dict[str, Rule] = {
    "sections": chapter.sections,
    "opening": chapter.opening,
    "set-up": chapter.set_up,
    "main-path": chapter.main_path_length,
    "page-length": chapter.page_length,
    "predictions": chapter.predictions,
    "unspoiled": chapter.unspoiled,
    "quiz": chapter.quiz,
    "exercises": chapter.exercises,
    "listing": chapter.listing,
    "deeper": chapter.deeper,
    "terms": chapter.terms,
    "instructors": instructors.instructors,
}
ONE_PAGE: dict[str, tuple[str, Rule]] = {
    "glossary": ("glossary", whole.glossary),
    "contents": ("index", whole.contents),
    "reading-time": ("index", whole.reading_time),
    "prerequisites": ("abilities", whole.prerequisites),
}
READERS = (cells.__name__, whole.__name__)  # of these, some rules read cells as Python


def findings(book: Book) -> Iterator[tuple[Path, int, str, str]]:
    """Apply each rule to its pages; yield file, line, rule and message."""
    unread = [(page.path, *found) for page in book.pages for found in cells.syntax(page, book)]
    yield from ((path, line, "cell-syntax", message) for path, line, message in unread)
    tasks = [(page, name, rule) for page in book.pages for name, rule in EVERY_PAGE.items()]
    tasks += [(page, name, rule) for page in book.chapters for name, rule in EVERY_CHAPTER.items()]
    for name, (only, rule) in ONE_PAGE.items():
        tasks += [(page, name, rule) for page in book.pages if page.name == only]
    broken = {path for path, _, _ in unread}
    for page, name, rule in tasks:
        if page.path in broken and rule.__module__ in READERS:
            continue
        yield from ((page.path, max(line, 1), name, message) for line, message in rule(page, book))
    yield from ((file, line, "word", message) for file, (line, message) in other_files(book))


def lint(book: Book, more: Iterable[tuple[Path, int, str, str]] = ()) -> int:
    """Print the findings; return 1 unless all of them are about older translations."""
    found = [*findings(book), *more]
    for file, line, rule, message in found:
        print(f"{file}:{line}: {rule}: {message}")
    return int(any(rule != translated.OLDER for _, _, rule, _ in found))


def main() -> int:
    """Lint the book that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m bookproof.lint", description=__doc__)
    parser.add_argument("docs", type=Path, help="folder of the pages")
    parser.add_argument("--settings", type=Path, default=SETTINGS)
    options = parser.parse_args()
    book = Book.read(options.docs, options.settings)
    return lint(book, translated.findings(options.docs))


if __name__ == "__main__":
    sys.exit(main())
