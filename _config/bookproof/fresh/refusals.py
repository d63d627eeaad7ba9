"""What the build refuses before it runs anything: unseen dependencies, checks that cannot fail."""

from collections.abc import Iterator, Sequence

from nbformat import NotebookNode

from ..claims.can_fail import fault_of
from ..verify.cells import first_line
from .cell_rules import Rules
from .execution import Chapter


def refusals(chapter: Chapter, modules: Sequence[str]) -> Iterator[str]:
    """Say, with the place, what the cells of a chapter must not do.

    Args:
        chapter: as it would run.
        modules: what its cells may import, besides Python's own modules.
    """
    lines = chapter.file.read_text("utf-8").splitlines()
    matter = chapter.notebook.metadata
    rules = Rules(chapter.file.parent, modules, matter.get("data_files", []))
    for cell, fence in zip(chapter.notebook.cells, matter["source_map"], strict=True):
        if cell.cell_type == "code":
            first = first_line(lines, fence, cell.source.splitlines())
            for line, why in faults(rules, cell):
                yield f"{chapter}:{first + line - 1}: {why}"


def faults(rules: Rules, cell: NotebookNode) -> list[tuple[int, str]]:
    """Return the faults of a cell, each with its line in the cell."""
    if found := list(rules.faults(cell.source, cell.metadata)):
        return found
    why = fault_of(cell.metadata) if "check" in cell.metadata else ""
    return [(1, f"a check that cannot fail: {why}")] if why else []
