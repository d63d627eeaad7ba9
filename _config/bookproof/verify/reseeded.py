"""The record of checks that held with every seed shifted; the ledger of the book reads it."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .cells import code_digest, read_cells


def digest(page: str) -> str:
    """Return a digest of the code of a page; a record is valid for this code only."""
    return code_digest(cell.code for cell in read_cells(page))


def record(file: Path, page: Path, first_seed: int, held: Iterable[str]) -> None:
    """Record which checks of a page held with its seeds shifted; entries for older code are dropped.

    A check that was not reached did not hold.
    """
    text, held = page.read_text("utf-8"), set(held)
    pages = read(file)
    if pages.get(page.stem, {}).get("digest") != digest(text):
        pages[page.stem] = {"digest": digest(text), "shifts": {}}
    checks = [c.options["check"] for c in read_cells(text) if "check" in c.options]
    if checks:
        came = {check: check in held for check in checks}
        pages[page.stem]["shifts"][str(first_seed)] = came
    else:
        del pages[page.stem]
    write_json(file, pages)


def read(file: Path) -> dict[str, Any]:
    """Return a record; an empty one, if there is no file.

    Raises:
        ValueError: the file is not a record.
    """
    if not file.exists():
        return {}
    try:
        pages = json.loads(file.read_text("utf-8"))
        sound = all({"digest", "shifts"} <= set(page) for page in pages.values())
    except (ValueError, AttributeError, TypeError):
        sound = False
    if not sound:
        raise ValueError(f"a record holds a digest and shifts a page; {file} does not")
    return pages


def holds(pages: dict[str, Any], page: Path, first_seed: int) -> bool:
    """Return whether all checks of a page, with its present code, are on record as holding."""
    text = page.read_text("utf-8")
    known = pages.get(page.stem, {"digest": "", "shifts": {}})
    came = known["shifts"].get(str(first_seed), {})
    return known["digest"] == digest(text) and bool(came) and all(came.values())


def table(pages: dict[str, Any]) -> str:
    """Return a table of the number of shifts in which each check held; failures first.

    Example:
        >>> shifts = {"1000": {"a": True, "b": True}, "2000": {"a": True, "b": False}}
        >>> print(table({"masks": {"digest": "", "shifts": shifts}}))
        1 of 2  masks  b  (not 2000)
        2 of 2  masks  a
    """
    rows = []
    for page, known in sorted(pages.items()):
        shifts = known["shifts"]
        for check in sorted({check for came in shifts.values() for check in came}):
            failed = [s for s in sorted(shifts, key=int) if not shifts[s].get(check)]
            note = f"  (not {', '.join(failed)})" if failed else ""
            count = f"{len(shifts) - len(failed)} of {len(shifts)}"
            rows.append((not failed, f"{count}  {page}  {check}{note}"))
    return "\n".join(row for _, row in sorted(rows, key=lambda row: row[0]))


def write_json(file: Path, data: Any) -> None:
    """Write a JSON file atomically."""
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_text(text, "utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def main() -> int:
    """Print the table of the record that the command line names; return 1 if a check failed."""
    lines = table(read(Path(sys.argv[1])))
    print(lines)
    return int("(not " in lines)
