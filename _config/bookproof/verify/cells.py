"""Code cells of a page, read as the build reads them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbformat import NotebookNode

# Extensions that decide where a cell ends; the others change no cell.
SYNTAX = MdParserConfig(enable_extensions={"amsmath", "colon_fence", "deflist", "dollarmath"})


@dataclass
class Cell:
    """One code cell: the line on which its code begins, its code, and its options."""

    line: int
    code: str
    options: dict[str, Any] = field(default_factory=dict)


def book_pages(folder: Path) -> list[Path]:
    """Return the pages of a book and of its folders, except those of its course."""
    pages = sorted([*folder.glob("*.md"), *folder.glob("*/*.md")])
    return [page for page in pages if page.parent.name != "course"]


def read_notebook(text: str) -> NotebookNode:
    """Read a page of MyST Markdown as a notebook, with the line of each cell."""
    return read_myst_markdown_notebook(text, SYNTAX, add_source_map=True)


def read_cells(text: str) -> list[Cell]:
    """Return the code cells of a page, in order."""
    notebook, lines = read_notebook(text), text.splitlines()
    found = zip(notebook.cells, notebook.metadata["source_map"], strict=True)
    return [
        Cell(first_line(lines, fence, cell.source.splitlines()), cell.source, dict(cell.metadata))
        for cell, fence in found
        if cell.cell_type == "code"
    ]


def first_line(lines: Sequence[str], fence: int, code: Sequence[str]) -> int:
    """Return the line of a page on which the code of a cell begins, after its options."""
    places = range(fence, len(lines))
    return next((i for i in places if lines[i : i + len(code)] == code), fence) + 1


def code_digest(codes: Iterable[str]) -> str:
    """Return a short digest of the code of cells."""
    return hashlib.sha256("\n".join(code.strip() for code in codes).encode()).hexdigest()[:16]
