"""Rules for the note to instructors at the end of a chapter."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .page import Block, Book, Finding, Page

QUOTED = re.compile(r'\b(?:says|Or): "(.*?)"')


def instructors(page: Page, book: Book) -> Iterator[Finding]:
    """End a chapter with a note whose minutes and points add up."""
    note = page.blocks[-1] if page.blocks else None
    if note is None or note.kind != "instructors":
        yield len(page.lines), "a chapter ends with a note for instructors"
        return
    heads = re.findall(r"^\*\*(.*?)\*\*", note.code, re.M)
    if heads != book.settings["chapter"]["note"]:
        yield note.line, f"a note has the parts {', '.join(book.settings['chapter']['note'])}"
    plan = list(map(int, re.findall(r"^\* (\d+) minutes: ", note.code, re.M)))
    whole = list(map(int, re.findall(r"\*\*In class\*\* \((\d+) minutes", note.code)))
    if [sum(plan)] != whole or not 5 <= len(plan) <= 8:
        yield note.line, f"5 to 8 steps of a lesson add up to its minutes; got {plan} of {whole}"
    yield from _marking(page, note)
    topic = page.path.stem.replace("-", "_")
    quoted = [each.format(topic=topic) for each in book.settings["chapter"]["quoted"]]
    said = strings(tuple(book.root / each for each in quoted))
    for found in QUOTED.finditer(note.code):
        if plain(found[1]) not in said:
            line = note.line + 1 + note.code.count("\n", 0, found.start())
            yield line, f"a quoted message is one of the checks; got {found[1]!r}"


def _marking(page: Page, note: Block) -> Iterator[Finding]:
    """Compare the rubrics with their points and with the exercises of the page."""
    marking = note.code.partition("**Marking**")[2]
    rubrics = re.split(r"^\* ", marking, flags=re.M)[1:]
    for rubric in rubrics:
        whole = re.findall(r"\((?:proof|experiment), (\d+) points\)", rubric)
        if whole != [str(sum(map(int, re.findall(r"\((\d)\)$", rubric, re.M))))]:
            yield note.line, f"points add up; got {rubric.splitlines()[0]!r}"
    marked = re.findall(r"^\* \*(.*?)\* \((proof|experiment),", marking, re.M)
    asked = re.findall(r"\{exercise\} (.*)\n.*\n.*\n\*An? (proof|experiment)\.", page.text)
    if sorted(marked) != sorted(asked) or len(rubrics) != 2:
        yield note.line, "the proof and the experiment of the page are marked"


@cache
def strings(sources: tuple[Path, ...]) -> str:
    """Return the literal strings of some Python files, and of those in some folders."""
    files = (
        f for source in sources for f in ([source] if source.is_file() else source.rglob("*.py"))
    )
    trees = (ast.walk(ast.parse(file.read_text("utf-8"))) for file in files)
    constants = (n.value for tree in trees for n in tree if isinstance(n, ast.Constant))
    return "\n".join(plain(value) for value in constants if isinstance(value, str))


def plain(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())
