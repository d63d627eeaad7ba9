"""Rules for the book as a whole: contents, labels, glossary, minutes, the order of chapters."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .chapter import TERM, minutes
from .page import Book, Finding, Page

ENTRY = r"^(\w.*)\n((?:\w.*\n)*)((?:  .*\n|\n)+)"


def contents(page: Page, book: Book) -> Iterator[Finding]:
    """List each page in a table of contents, of the book or of its chapter."""
    lists = (block for other in book.pages for block in other.blocks if block.kind == "toctree")
    listed = {Path(line).name for block in lists for line in block.source}
    for other in book.pages:
        if other is not page and other.name not in listed:
            yield 1, f"each page is in a table of contents; got {other.path}"


def labels(page: Page, book: Book) -> Iterator[Finding]:
    """Give each figure, equation and exercise of the book a label of its own."""
    for line, label in page.labels:
        if len(pages := book.labeled[label]) > 1:
            yield line, f"a label is given once in the book; got {label} in {', '.join(pages)}"


def glossary(page: Page, book: Book) -> Iterator[Finding]:
    """Explain each term once, with its other names, and link it from a chapter and to one."""
    [block] = (block for block in page.blocks if block.kind == "glossary")
    text = "\n" * (block.start - 1) + block.code + "\n"
    chapters = (p.text for p in book.pages if p.path.parent.name == "chapters")
    linked = {term for chapter in chapters for term in re.findall(TERM, chapter)}
    entries = list(page.find(ENTRY, text))
    terms = [entry[1] for _, entry in entries]
    names = [*terms, *(name for _, entry in entries for name in entry[2].splitlines())]
    for name in {name for name in names if names.count(name) > 1}:
        yield block.line, f"a name belongs to one term; got {name}"
    if terms != sorted(set(terms), key=str.lower):
        yield block.line, "terms are sorted, and each is explained once"
    for line, entry in entries:
        meaning, _, place = entry[3].strip().partition("\n\n")
        sentences = meaning.splitlines()
        if len(sentences) > 2 or not all(sentence.endswith(".") for sentence in sentences):
            yield line, f"a term has a sentence or two; got {entry[1]}"
        if not entry[2]:
            yield line, f"a term says what else it is called, a line below it; got {entry[1]}"
        if "](../chapters/" not in place:
            yield line, f"a term names its chapter; got {entry[1]}"
        if entry[1] not in linked:
            yield line, f"a chapter links to each term; got {entry[1]}"


def reading_time(page: Page, book: Book) -> Iterator[Finding]:
    """Limit the minutes of the main paths up to some chapters."""
    names = [chapter.name for chapter in book.in_order]
    for name, limit in book.settings["minutes_to"].items():
        if (total := sum(minutes(c, book) for c in book.in_order[: names.index(name) + 1])) > limit:
            yield 1, f"the main paths up to {name} take at most {limit} minutes; got {total:.0f}"


def prerequisites(page: Page, book: Book) -> Iterator[Finding]:
    """Draw what the chapters say that they need, and need no later chapter."""
    numbers = book.numbers
    needed = {numbers[chapter.name]: _needs(chapter, book) for chapter in book.in_order}
    headings = {c.name: re.search(r"^# (.*)$", c.prose, re.M) for c in book.in_order}
    titles = {numbers[name]: found[1] for name, found in headings.items() if found}
    wanted: dict[str, dict[Any, Any]] = {
        "chapters": titles,
        "parts": {part: numbers[listed[0]] for part, listed in book.parts.items()},
        "builds_on": needed,
    }
    for name, value in wanted.items():
        line, drawn = _literal(page, name)
        for key in {**value, **drawn}:
            new, old = (known.get(key, "nothing") for known in (value, drawn))
            if new != old and not (name == "chapters" and new.startswith(old)):  # a short title
                yield line, f"{name}[{key!r}] must be {new}; got {old}"
    for number, others in needed.items():
        if any(other >= number for other in others):
            yield 1, f"a chapter needs only earlier ones; got {titles[number]}"
    if [b.argument for b in page.blocks if b.kind == "objectives"] != list(book.parts):
        yield 1, "the objectives of each part are listed"


def _needs(chapter: Page, book: Book) -> list[int]:
    label = book.settings["chapter"]["needs"]
    said = re.search(rf"^\*\*{label}\*\* (.*?)\n\n", chapter.text, re.DOTALL | re.M)
    links = set(re.findall(r"\]\(([\w-]+)\.md", said[1] if said else ""))
    return sorted(book.numbers[other.name] for other in book.in_order if other.name in links)


def _literal(page: Page, name: str) -> tuple[int, dict[Any, Any]]:
    """Return the dictionary that a cell gives a name, and its line."""
    for cell in page.cells:
        for node in ast.parse(cell.code).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
                return cell.start + node.lineno - 1, ast.literal_eval(node.value)
    return 1, {}
