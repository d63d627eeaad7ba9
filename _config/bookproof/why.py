"""The command ``python -m bookproof why PAGE``: the parts of a page's key that have changed."""

import argparse
import json
from pathlib import Path
from typing import Any

from .fresh.keys import code_of, names_in_cells
from .fresh.parts import KEPT, Needs, Parts, Sources, cell_parts, changes
from .fresh.session import tool_parts
from .verify.cells import read_notebook

DOCTREES = "_build/*-doctrees", "_build/*/.doctrees"  # of every way to build


def main(arguments: list[str] | None = None) -> int:
    """Print for each page the changed parts of its key; return 1 if a page has to run."""
    parser = argparse.ArgumentParser(prog="python -m bookproof why", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="a page; all when left out")
    parser.add_argument("--doctrees", type=Path, help="the folder of the doctrees of the build")
    options = parser.parse_args(arguments)
    every = [folder for pattern in DOCTREES for folder in Path().glob(pattern)]
    folders = [options.doctrees] if options.doctrees else every
    files = [folder / KEPT for folder in folders if (folder / KEPT).is_file()]
    if not files:
        parser.error("no build has left its keys; build the book first, or name --doctrees")
    file = max(files, key=lambda file: file.stat().st_mtime)
    print(f"Compared with the build in {file.parent}:")
    record = json.loads(file.read_text("utf-8"))
    pages = {Path(page): parts for page, parts in record["pages"].items()}
    if missing := {*options.pages} - {page.stem for page in pages}:
        parser.error(f"the last build knows no page {', '.join(sorted(missing))}")
    if tools := list(changes(record["tools"], tool_parts(Path(record["config"])))):
        print("\n  ".join(["Every page is made again, from results that are kept:", *tools]))
    changed = 0
    for page, parts in pages.items():
        if not options.pages or page.stem in options.pages:
            lines = reasons(record["sources"], page, parts)
            changed += bool(lines)
            if lines or options.pages:
                print("\n  ".join([str(page), *(lines or ["no part of its key has changed"])]))
    if not changed and not options.pages:
        print("No page has to run.")
    return int(changed > 0)


def reasons(sources: dict[str, Any], page: Path, parts: Parts) -> list[str]:
    """Return a line for each part of a page's key that differs from the last build's."""
    if not page.is_file():
        return ["the page is gone"]
    notebook = read_notebook(page.read_text("utf-8"))
    needs = Needs(names_in_cells(notebook), tuple(notebook.metadata.get("data_files", [])))
    known = Sources(**{**sources, "roots": [Path(root).resolve() for root in sources["roots"]]})
    return [*changes(parts, cell_parts(code_of(notebook)) | known.parts(page, needs))]
