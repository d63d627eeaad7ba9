"""Find the answers in a folder: `ID.py`, `ID.ipynb`, or one of these in a folder with the name `ID`."""

from dataclasses import dataclass
from pathlib import Path

from selfattn_book.course.variants import checked_id

KINDS = {".py", ".ipynb"}


@dataclass(frozen=True)
class Submission:
    """A file, and whose it is."""

    student: str
    file: Path


def submissions(folder: Path) -> list[Submission]:
    """Return the answers in a folder, in the order of their ids.

    Raises:
        ValueError: there is none, or a name says not clearly whose answer it is.
    """
    if not folder.is_dir():
        raise ValueError(f"answers must be in a folder; there is no {folder}")
    found = [
        Submission(entry.stem if entry.is_file() else entry.name, answer_in(entry))
        for entry in sorted(folder.iterdir())
        if not entry.name.startswith((".", "__")) and (entry.is_dir() or entry.suffix in KINDS)
    ]
    if not found:
        raise ValueError(f"answers must be files ID.py or ID.ipynb; {folder} has none")
    check_names(found)
    return found


def answer_in(entry: Path) -> Path:
    """Return a file, or the only answer in a folder."""
    if entry.is_file():
        return entry
    files = [file for file in entry.iterdir() if file.suffix in KINDS]
    if len(files) != 1:
        raise ValueError(f"a student's folder must have one answer; {entry} has {len(files)}")
    return files[0]


def check_names(found: list[Submission]) -> None:
    """Raise unless each name is an id, and of one student only."""
    by_id: dict[str, Path] = {}
    for one in found:
        try:
            who = checked_id(one.student)
        except ValueError as error:
            raise ValueError(f"{error}, the name of a file") from error
        if who in by_id:
            rule = "each student must have one answer"
            raise ValueError(f"{rule}; got {by_id[who].name} and {one.file.name}")
        by_id[who] = one.file
