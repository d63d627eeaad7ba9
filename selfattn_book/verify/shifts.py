"""A record of which checks held when every seed was moved, and how far it was moved.

The ledger of the book reads it: a claim about chance was worded on some seeds,
and the record says on which others it was asked again.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from selfattn_book.verify.cells import read_cells


def digest(page: str) -> str:
    r"""Return what names the code of a page: with another code, a record says nothing.

    Args:
        page: its text.

    Example:
        >>> page = "Words.\n```{code-cell}\n:check: sum\nassert 1 + 1 == 2\n```\n"
        >>> digest(page), digest("Other words. " + page)
        ('d841fe91eb2839fc', 'd841fe91eb2839fc')
    """
    code = "\n".join(cell.code.strip() for cell in read_cells(page))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def record(file: Path, page: Path, first_seed: int, held: Iterable[str]) -> None:
    """Write down which checks of a page held with its seeds moved so far.

    A check that was not reached did not hold.
    What the file says of other code of this page is dropped.

    Args:
        file: the record; made, if there is none.
        page: the chapter's Markdown file.
        first_seed: by how much the seeds were moved.
        held: the checks that held.
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
        ValueError: the file is no record.
    """
    if not file.exists():
        return {}
    try:
        pages = json.loads(file.read_text("utf-8"))
        sound = all({"digest", "shifts"} <= set(page) for page in pages.values())
    except (ValueError, AttributeError, TypeError):
        sound = False
    if not sound:
        raise ValueError(
            f"a record holds a digest and shifts a page; {file} does not"
        )
    return pages


def holds(pages: dict[str, Any], page: Path, first_seed: int) -> bool:
    """Return whether a record knows that all checks of a page held, with the code that it has now.

    Args:
        pages: a record.
        page: the chapter's Markdown file.
        first_seed: by how much the seeds were moved.
    """
    text = page.read_text("utf-8")
    known = pages.get(page.stem, {"digest": "", "shifts": {}})
    came = known["shifts"].get(str(first_seed), {})
    return known["digest"] == digest(text) and bool(came) and all(came.values())


def table(pages: dict[str, Any]) -> str:
    """Return in how many of the shifts each check held: those that failed first.

    Args:
        pages: a record.

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
            failed = [
                s for s in sorted(shifts, key=int) if not shifts[s].get(check)
            ]
            note = f"  (not {', '.join(failed)})" if failed else ""
            count = f"{len(shifts) - len(failed)} of {len(shifts)}"
            rows.append((not failed, f"{count}  {page}  {check}{note}"))
    return "\n".join(row for _, row in sorted(rows, key=lambda row: row[0]))


def write_json(file: Path, data: Any) -> None:
    """Write a file whole or not at all: a reader finds the old one or the new one.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_json(Path(folder, "a.json"), {"b": 1})
        ...     [json.loads(file.read_text()) for file in Path(folder).iterdir()]
        [{'b': 1}]
    """
    text = json.dumps(data, indent=1, sort_keys=True) + "\n"
    handle, name = tempfile.mkstemp(dir=file.absolute().parent, suffix=".json")
    try:
        with open(handle, "w", encoding="utf-8") as being_written:
            being_written.write(text)
        Path(name).chmod(0o666 & ~_umask())
        os.replace(name, file)
    except BaseException:
        Path(name).unlink()
        raise


def _umask() -> int:
    """Return which permissions this process withholds from a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def main(file: Path) -> int:
    """Print the table of a record, and return 1 if a check failed in any shift."""
    lines = table(read(file))
    print(lines)
    return int("(not " in lines)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
