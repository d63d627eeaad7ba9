"""The code cells of a page, read from its Markdown without any of the tools that build the book."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,}|:{3,})\s*(?P<kind>\S*)")
_OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
_Lines = Iterator[tuple[int, str]]


@dataclass
class Cell:
    """One code cell: the line that its code begins on, its code, and its options."""

    line: int
    code: str
    options: dict[str, str] = field(default_factory=dict)


def book_folder() -> Path:
    """Return where the pages lie: inside the installed package, or in the checkout.

    Example:
        >>> (book_folder() / "chapters" / "masks.md").exists()
        True
    """
    package = Path(__file__).parent.parent
    installed = package / "_book"
    return installed if installed.exists() else package.parent / "docs"


def book_pages(folder: Path) -> list[Path]:
    """Return the pages of a book that lies in a folder; the assignments of its course are none.

    Example:
        >>> "masks" in {page.stem for page in book_pages(book_folder())}
        True
        >>> {page.parent.name for page in book_pages(book_folder())} == {"chapters", "appendix"}
        True
    """
    return [
        page
        for page in sorted(folder.glob("*/*.md"))
        if page.parent.name != "course"
    ]


def read_cells(text: str) -> list[Cell]:
    r"""Return the code cells of a page, in order.

    What stands inside of another block, such as an example of a cell, is no cell.

    Args:
        text: the page, in MyST Markdown.

    Raises:
        ValueError: a block is not closed.

    Example:
        >>> page = "A page.\n\n```{code-cell}\n:check: sum\nassert 1 + 1 == 2\n```\n"
        >>> read_cells(page)
        [Cell(line=5, code='assert 1 + 1 == 2', options={'check': 'sum'})]
        >>> read_cells(f"````\n{page}````\n")
        []
        >>> read_cells("```{code-cell}\n1 + 1\n")
        Traceback (most recent call last):
        ValueError: a block must end with ```; the one opened in line 1 does not
    """
    cells = []
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        if fence := _FENCE.match(line):
            body = list(_body(number, fence["marks"], lines))
            if fence["kind"].startswith("{code-cell}") and fence["marks"][0] != ":":
                cells.append(_cell(number, body))
    return cells


def _body(opened: int, marks: str, lines: _Lines) -> _Lines:
    """Give the lines of a block, up to the fence that closes it."""
    closing = re.compile(rf"^ {{0,3}}{marks[0]}{{{len(marks)},}}\s*$")
    for number, line in lines:
        if closing.match(line):
            return
        yield number, line
    raise ValueError(
        f"a block must end with {marks}; the one opened in line {opened} does not"
    )


def _cell(opened: int, body: list[tuple[int, str]]) -> Cell:
    """Tell the options, which come first, from the code."""
    options: dict[str, str] = {}
    while body and (option := _OPTION.match(body[0][1])):
        options[option[1]] = option[2]
        del body[0]
    while body and not body[0][1].strip():
        del body[0]
    first = body[0][0] if body else opened + 1
    return Cell(first, "\n".join(line for _, line in body), options)
