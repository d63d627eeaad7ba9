"""What the tests of the book's pages share: the pages, cell by cell."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FRONT = {"welcome", "notation"}
CHAPTERS = [p for p in PAGES if p.parent.name == "chapters" and p.stem not in FRONT]


@dataclass
class Cell:
    """One code cell of a page."""

    line: int
    source: list[str] = field(default_factory=list)
    tags: str = ""
    in_solution: bool = False
    follows_cell: bool = False  # with nothing but blank lines between the two

    @property
    def code(self) -> str:
        return "\n".join(self.source)


def cells(page: Path) -> list[Cell]:
    """Return the code cells of a page, in order."""
    found: list[Cell] = []
    inside = in_solution = after_cell = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1):
        if inside and line.startswith("```"):
            inside = False
            hidden = "remove-cell" in found[-1].tags
            after_cell = found[-1].follows_cell if hidden else True
        elif inside and line.startswith(":tags:"):
            found[-1].tags = line
        elif inside:
            found[-1].source.append(line)
        elif line.startswith("```{code-cell}"):
            inside = True
            found.append(
                Cell(number, in_solution=in_solution, follows_cell=after_cell)
            )
        elif "{solution-start}" in line or "{solution-end}" in line:
            in_solution = "start" in line
            after_cell = False
        elif line.strip():
            after_cell = False
    for cell in found:
        while cell.source and not cell.source[0].strip():
            del cell.source[0]
    return found


def prose(page: Path) -> str:
    """Return a page without its front matter, cells and other fenced blocks."""
    text = re.sub(
        r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL
    )
    fence = r"^(`{3,4})\{(code-cell|math|listing|solution-\w+|toctree)\}.*?^\1\s*?$"
    return re.sub(fence, "", text, flags=re.DOTALL | re.MULTILINE)
