"""Grade what a learning platform exports: a folder or a zip, with nothing renamed.

`python -m _config.course.grade CHAPTER EXPORT --key KEY` writes `_build/grades/week-05-masks/`.
"""

import argparse
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields
from datetime import datetime, timedelta
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from _config.course import gradebook, orals, similar
from _config.course.gradebook import OPEN, Row
from _config.course.grading import Graded, cells_of, grade, identity
from _config.course.submissions import (
    NOBODY,
    Roster,
    Student,
    Submission,
    plain,
    read_roster,
    student_of,
    submissions,
)
from _config.course.weeks import ROOT, Week, calendar, week_of
from selfattn_book.exercises.checking.variants import checked_id, week_code

GRADES = ROOT / "_build" / "grades"
CODE = "the notebook has another week's code"
ID = "the notebook has the id"


def main(words: list[str]) -> int:
    """Grade an export, and return the exit code."""
    options = arguments(words)
    try:
        week = week_of(options.chapter, calendar(options.weeks))
        code = week_code(options.key, week.chapter)
        roster = read_roster(options.roster) if options.roster else {}
        marks = gradebook.marks(GRADES / week.name / "gradebook.csv", week)
        with tempfile.TemporaryDirectory() as scratch:
            found = submissions(options.export, Path(scratch))
            rows = graded(week, code, roster, found, options.jobs)
            note_lateness(rows, options.deadline)
            for row in rows:
                row.marks = marks.get(row.student.id, {})
            more = {}
            if options.similar:
                more["similar.csv"] = gradebook.text(similar.table(week, rows))
            if options.orals > 0:
                again = partial(grade, checked=week.checked, code=code)
                more["orals.md"] = orals.sheet(week, options.key, rows, options.orals, again)
            former = gradebook.write(GRADES / week.name, week, rows, more)
    except (ValueError, OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(["", *summary(week, rows, roster), *hints(rows, roster)]))
    print(f"All is in {GRADES / week.name}." + f" The former is kept in {former}." * bool(former))
    return 0


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="grade", description="Grade an export of Moodle or Canvas.", fromfile_prefix_chars="@"
    )
    parser.add_argument("chapter", help="as in masks")
    parser.add_argument("export", type=Path, help="a folder or a zip, as the platform exports it")
    parser.add_argument("--key", required=True, help="the one with which assignments were made")
    parser.add_argument("--roster", type=Path, help="CSV: id, login, name, email, moodle, canvas")
    parser.add_argument("--weeks", type=Path, help="CSV: week, chapter, as for the assignments")
    parser.add_argument("--deadline", type=moment, help="as in 2026-11-26T23:59")
    parser.add_argument("--similar", action="store_true", help="list answers that are alike")
    parser.add_argument("--orals", type=int, default=0, help="ask so many students in person")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="notebooks at a time")
    return parser.parse_args(words)


def moment(words: str) -> datetime:
    """Return a time, as the clock of this machine shows it; a day is meant to its end."""
    try:
        time = datetime.fromisoformat(words + "T23:59:59" * (len(words) == len("2026-11-26")))
    except ValueError:
        rule = "a deadline must be written as in 2026-11-26T23:59"
        raise argparse.ArgumentTypeError(f"{rule}; got {words!r}") from None
    return time.astimezone().replace(tzinfo=None)


def graded(week: Week, code: str, roster: Roster, found: list[Submission], jobs: int) -> list[Row]:
    """Return a row for each student that has handed in a file, or is on the roster."""
    files: dict[tuple[str, str], list[Submission]] = defaultdict(list)
    for submission in found:
        files[submission.owner].append(submission)
    rows = [newest(week, each) for each in files.values()]
    for row in rows:
        if not row.refused:
            row.refused = disagreement(row, code, roster)
    count = Counter(row.student.id for row in rows if not row.refused)
    for row in rows:
        if not row.refused and (several := count[row.student.id]) > 1:
            row.refused = f"{several} students have the id {row.student.id!r}"
    ready = [row for row in rows if not row.refused]
    for row, result in zip(ready, results(week, code, ready, jobs), strict=True):
        row.graded = result
        print(f"{row.submission.path}: {result.points:g} of {result.possible:g} points", flush=True)
    seen = {row.student.id for row in rows}
    rows += [Row(x, notes=["nothing handed in"]) for x in roster.values() if x.id not in seen]
    return sorted(rows, key=lambda row: (row.student.id.casefold(), row.student.name.casefold()))


def newest(week: Week, files: list[Submission]) -> Row:
    """Return a row with the one file of a student that counts: the newest notebook."""

    def rank(file: Submission) -> tuple[bool, bool, int, datetime, int, str]:
        name = Path(file.path).name.casefold()
        ours = week.chapter in name
        return file.is_notebook, ours, file.upload, file.time, len(file.path), file.path

    *others, file = sorted(files, key=rank)
    row = Row(Student("", name=file.name if file.platform else ""), file)
    if file.path.endswith("/"):
        row.refused = "the folder is empty"
    elif not file.is_notebook:
        row.refused = f"there is no notebook (.ipynb), only {Path(file.path).name}"
    elif file.file is None:
        row.refused = "the file cannot be read: it is damaged, locked or too large"
    if others:
        row.notes = [f"{len(files)} files: the newest notebook counts, {Path(file.path).name}"]
    return row


def disagreement(row: Row, code: str, roster: Roster) -> str:
    """Find the student of a notebook, or return in what it, the roster and the week disagree."""
    try:
        row.student = (roster and student_of(row.submission, roster)) or row.student
        row.id, found = identity(cells_of(row.submission.file))
    except ValueError as error:
        return str(error)
    student = row.student if row.student.id else roster.get(row.id)
    if found != code:
        return f"{CODE}, {found!r}" if found else "the notebook has no week's code"
    if not row.id:
        return "the notebook has no student_id"
    if roster and not student:
        return f"{ID} {row.id!r}, which is not in the roster"
    if student and checked_id(student.id) != row.id:
        return f"{ID} {row.id!r}, the roster {student.id!r}"
    if student and not row.student.id:
        row.notes.append("paired by the id in the notebook alone")
    row.student = student or Student(row.id, name=row.student.name)
    return ""


def results(week: Week, code: str, rows: list[Row], jobs: int) -> Iterator[Graded]:
    """Yield what comes of each notebook, in order; several are graded at a time."""
    files = [row.submission.file for row in rows]
    if jobs < 2:
        yield from (grade(file, week.checked, code) for file in files)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(grade, file, week.checked, code) for file in files]
        yield from (task.result() for task in tasks)


def note_lateness(rows: list[Row], deadline: datetime | None) -> None:
    """Record what is late, and how that is known; points stay as they are."""
    given = [row for row in rows if row.submission]
    for row in given:
        if row.submission.late:
            row.late = "late"
            row.notes.append("marked LATE by Canvas")
    by_time = [row for row in given if row.submission.platform != "canvas"]
    times = [row.submission.time for row in by_time]
    if not deadline or not times:
        return
    if len(times) > 1 and max(times) - min(times) < timedelta(minutes=10):
        for row in by_time:
            row.late = "unknown"
            row.notes.append("all files have one time, probably that of the download")
        return
    for row in by_time:
        if (late := row.submission.time - deadline) > timedelta(0):
            minutes = int(late.total_seconds() / 60)
            row.late = f"{minutes // 60} h {minutes % 60:02d} min"
            row.notes.append("late by the time of the file in the export")


def summary(week: Week, rows: list[Row], roster: Roster) -> Iterator[str]:
    """Yield lines on how it went."""
    counted = sum(bool(row.graded) for row in rows)
    given = sum(bool(row.submission) for row in rows)
    line = f"{counted} graded, {given - counted} not graded"
    if roster:
        line += f", {len(rows) - given} without a file"
    yield line + (": see the column notes." if counted < len(rows) else ".")
    yield from sorted(
        {note for row in rows if row.graded for note in row.graded.notes if OPEN in note}
    )
    if waiting := sum(bool(row.graded) and row.total(week) is None for row in rows):
        yield f"{waiting} wait for marks by a person, and are not yet in the tables for platforms:"
        yield "write them into gradebook.csv, and grade again."


def hints(rows: list[Row], roster: Roster) -> Iterator[str]:
    """Yield what is likely wrong where many notebooks disagree."""
    files = [row for row in rows if row.submission]
    if 2 * sum(row.refused.startswith(NOBODY) for row in files) > len(files):
        yield "Most files match no student on the roster: give it the names or numbers of the platform."
    if 2 * sum(row.refused.startswith(CODE) for row in files) > len(files):
        yield "Most have another week's code: are this the chapter and the key they were made with?"
    wrong = [row for row in files if row.refused.startswith(ID)]
    if 2 * len(wrong) <= len(files):
        return
    yield "Most ids disagree: the column id of the roster must be what students write into notebooks."
    for name in [each.name for each in fields(Student)][1:]:
        column = {plain(getattr(student, name)) for student in roster.values()}
        if all(plain(row.id) in column for row in wrong):
            yield f"They are in its column {name}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
