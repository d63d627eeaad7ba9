"""The code cells of a chapter, read from its Markdown without any of the tools that build the book."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_OPEN = re.compile(r"^```\{code-cell\}")
_OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")


@dataclass
class Cell:
    """One code cell: the line that its code begins on, its code, and its options."""

    line: int
    code: str
    options: dict[str, str] = field(default_factory=dict)


def chapters_folder() -> Path:
    """Return where the chapters lie: inside the installed package, or in the checkout.

    Example:
        >>> (chapters_folder() / "masks.md").exists()
        True
    """
    package = Path(__file__).parent
    installed = package / "_chapters"
    return installed if installed.exists() else package.parent / "docs" / "chapters"


def read_cells(text: str) -> list[Cell]:
    r"""Return the code cells of a page, in order.

    Args:
        text: the page, in MyST Markdown.

    Raises:
        ValueError: a cell is not closed.

    Example:
        >>> page = "A page.\n\n```{code-cell}\n:check: sum\nassert 1 + 1 == 2\n```\n"
        >>> read_cells(page)
        [Cell(line=5, code='assert 1 + 1 == 2', options={'check': 'sum'})]
    """
    lines = enumerate(text.splitlines(), start=1)
    return [
        _read_cell(number, lines) for number, line in lines if _OPEN.match(line)
    ]


def _read_cell(opened: int, lines: Iterator[tuple[int, str]]) -> Cell:
    cell = Cell(opened + 1, "")
    code: list[str] = []
    for number, line in lines:
        option = None if code else _OPTION.match(line)
        if line.startswith("```"):
            cell.code = "\n".join(code)
            return cell
        if option:
            cell.options[option[1]] = option[2]
        elif code or line.strip():
            cell.line = cell.line if code else number
            code.append(line)
    raise ValueError(
        f"a cell must end with ```; the one opened in line {opened} does not"
    )
