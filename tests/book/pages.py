"""What the tests of the book's pages share: the pages, cell by cell."""

import re
from dataclasses import dataclass
from pathlib import Path

from selfattn_book.verify.cells import Cell, read_cells

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
DOCS = ROOT / "docs"
# Without the pages of the reference, which are made of docstrings, and the assignments.
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if not {"reference", "course"} & set(page.parts)
)
FRONT = {"welcome", "abilities", "checking", "notation"}
# What grew out of chapters, and has neither quiz nor exercises.
DEEPER = {"floors", "many-seeds", "repeated-averaging", "stuck-softmax"}
CHAPTERS = [
    p for p in PAGES if p.parent.name == "chapters" and p.stem not in FRONT | DEEPER
]


@dataclass
class PageCell(Cell):
    """A code cell, and where on its page it stands."""

    in_exercises: bool = False
    in_solution: bool = False
    follows_cell: bool = False  # with nothing but blank lines between the two

    @property
    def source(self) -> list[str]:
        return self.code.splitlines()

    @property
    def tags(self) -> str:
        return self.options.get("tags", "")


def cells(page: Path) -> list[PageCell]:
    """Return the code cells of a page, in order."""
    text = page.read_text("utf-8")
    lines = text.splitlines()
    exercises = section(lines, "## Exercises")
    solutions = [
        range(start, end)
        for start, end in zip(
            (n for n, line in enumerate(lines) if "{solution-start}" in line),
            (n for n, line in enumerate(lines) if "{solution-end}" in line),
            strict=True,
        )
    ]
    found: list[PageCell] = []
    for cell in read_cells(text):
        placed = PageCell(cell.line, cell.code, cell.options)
        placed.in_exercises = cell.line in exercises
        placed.in_solution = any(cell.line in part for part in solutions)
        placed.follows_cell = bool(found) and touches(lines, found[-1], placed)
        found.append(placed)
    return found


def section(lines: list[str], heading: str) -> range:
    """Return the lines of a section of the second level; none where there is no such section."""
    if heading not in lines:
        return range(0)
    start = lines.index(heading)
    rest = range(start + 1, len(lines))
    return range(
        start, next((n for n in rest if lines[n][:3] == "## "), len(lines))
    )


def touches(lines: list[str], first: PageCell, second: PageCell) -> bool:
    """Tell whether no line of text stands between two cells; hidden cells are no text.

    The set-up of a page is a folded line, and may stand above any cell.
    """
    after = first.line - 1 + len(first.source) + 1
    before = second.line - 2 - len(second.options)
    between = any(line.strip() for line in lines[after:before])
    hidden = "remove-cell" in first.tags or "check" in first.options
    if "set-up" in first.tags:
        return False
    return not between and (first.follows_cell if hidden else True)


def prose(page: Path) -> str:
    """Return a page without its front matter, cells and other fenced blocks."""
    text = re.sub(
        r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL
    )
    fence = r"^(`{3,4})\{(code-cell|math|listing|solution-\w+|toctree)\}.*?^\1\s*?$"
    return re.sub(fence, "", text, flags=re.DOTALL | re.MULTILINE)
