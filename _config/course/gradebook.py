"""Write what comes of a week: a gradebook, tables for Moodle and Canvas, feedback to upload."""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from markdown_it import MarkdownIt

from _config.course.grading import Graded, QuestionResult
from _config.course.submissions import Student, Submission
from _config.course.weeks import Exercise, Week

# With one of these a spreadsheet begins a formula, and formulas can do harm.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
OPEN = "not confined"  # in a note on the machine, which concerns no student
Table = list[list[Any]]


@dataclass
class Row:
    """One student's week; what was not graded has the reason."""

    student: Student
    submission: Submission | None = None
    id: str = ""  # in the notebook
    graded: Graded | None = None
    marks: dict[str, float] = field(default_factory=dict)  # by a person, by the exercise
    late: str = ""
    refused: str = ""
    notes: list[str] = field(default_factory=list)

    def points(self, exercise: Exercise) -> float | None:
        """Return the points for an exercise, or nothing where they are not known."""
        if not self.graded:
            return None
        if exercise.by_person:
            return self.marks.get(exercise.name)
        return sum(one.points for one in self.results(exercise))

    def results(self, exercise: Exercise) -> list[QuestionResult]:
        """Return the results of the questions of an exercise."""
        return [one for one in self.graded.results if one.exercise == exercise.name]

    def total(self, week: Week) -> float | None:
        """Return all points, or nothing while a person's marks are missing."""
        points = [self.points(exercise) for exercise in week.exercises]
        return None if None in points else sum(filter(None, points))

    @property
    def said(self) -> str:
        """Return what an instructor should know."""
        refused = [f"not graded: {self.refused}"] if self.refused else []
        return shorten("; ".join([*refused, *self.notes, *self.events]), 1000)

    @property
    def events(self) -> list[str]:
        """Return what happened when the notebook was run."""
        return [note for note in self.graded.notes if OPEN not in note] if self.graded else []


def possible(week: Week) -> float:
    """Return the highest number of points."""
    return sum(exercise.points for exercise in week.exercises)


def column(exercise: Exercise) -> str:
    """Return the head of an exercise's column."""
    return f"{exercise.name} (of {exercise.points:g}{', by a person' * exercise.by_person})"


def gradebook(week: Week, rows: Iterable[Row]) -> Table:
    """Return a row for each student, for a person to read, and to write marks into."""
    exercises = map(column, week.exercises)
    table: Table = [["id", "name", *exercises, "points", "possible", "late", "notes", "file"]]
    for row in rows:
        points = [*(row.points(exercise) for exercise in week.exercises), row.total(week)]
        file = row.submission.path if row.submission else ""
        texts = [possible(week), row.late, row.said, file]
        table.append([row.student.id, row.student.name, *points, *texts])
    return table


def marks(file: Path, week: Week) -> dict[str, dict[str, float]]:
    """Return the marks that a person has written into a former gradebook, by id and exercise."""
    if not file.exists():
        return {}
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(io.StringIO(file.read_text("utf-8-sig"))):
        for exercise in week.exercises:
            if exercise.by_person and (given := row.get(column(exercise))):
                try:
                    found.setdefault(row["id"], {})[exercise.name] = float(given.replace(",", "."))
                except ValueError:
                    rule = f"a mark in {file.name} must be a number"
                    raise ValueError(f"{rule}; got {given!r} for {row['id']}") from None
    return found


def for_moodle(week: Week, rows: Iterable[Row]) -> Table:
    """Return Moodle's grading worksheet.

    Source: `mod/assign/feedback/offline/importgradeslib.php` reads the columns Identifier, Grade and
    Last modified (grade), and those of feedback; it skips grades that have been changed since.
    """
    now = f"{datetime.now():%Y-%m-%d %H:%M}"
    head = "Identifier,Full name,Grade,Maximum Grade,Last modified (grade),Feedback comments"
    table: Table = [head.split(",")]
    for row in rows:
        number, total = number_on("moodle", row), row.total(week)
        if number and total is not None:
            comment = f"{points_of(week, row)}. The details are in feedback.html."
            name = row.student.name or row.submission.name
            table.append([f"Participant {number}", name, total, possible(week), now, comment])
    return table


def for_canvas(week: Week, rows: Iterable[Row]) -> Table:
    """Return a table for the import into Canvas' gradebook, which asks for the assignment if new.

    Source: `lib/gradebook_importer.rb`
    """
    head = ["Student", "ID", "SIS Login ID", "Section", f"Week {week.number}: {week.title}"]
    table: Table = [head, ["    Points Possible", "", "", "", possible(week)]]
    for row in rows:
        number, total = number_on("canvas", row), row.total(week)
        if number.isdigit() and total is not None:
            name = row.student.name or row.submission.name
            table.append([name, number, row.student.login, "", total])
    return table


def number_on(platform: str, row: Row) -> str:
    """Return a student's number on a platform, from the file or from the roster."""
    submission = row.submission
    if submission and submission.platform == platform:
        return submission.number
    return getattr(row.student, platform)


def points_of(week: Week, row: Row) -> str:
    """Return the points of all exercises, in a line."""
    known = ((e, row.points(e)) for e in week.exercises)
    return ", ".join(
        f"{e.name}: {'to be marked' if points is None else f'{points:g} of {e.points:g}'}"
        for e, points in known
    )


def text(table: Table) -> str:
    """Return a table as CSV, without formulas."""
    written = io.StringIO()
    csv.writer(written).writerows([harmless(cell) for cell in row] for row in table)
    return written.getvalue()


def harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers are as they were."""
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(FORMULAS) else cell
    return "" if cell is None else f"{cell:g}"


# -- Feedback -------------------------------------------------------------------------------


def feedback(week: Week, row: Row) -> str:
    """Return what a student reads, as Markdown."""
    title = f"# Week {week.number}: {week.title}"
    if not row.graded:
        return f"{title}\n\nThis file was not graded. Please ask your instructor.\n"
    parts = [title, f"{escaped(row.student.id)}: {points_of(week, row)}."]
    for exercise in week.exercises:
        questions = map(line, row.results(exercise))
        parts += [f"## {escaped(exercise.title)}", "\n".join(questions)]
    return "\n\n".join([*parts, *map(escaped, row.events)]) + "\n"


def line(one: QuestionResult) -> str:
    """Return what a student reads on one question."""
    reason = f". *{escaped(one.reason)}*" if one.reason else ""
    return f"* {one.points:g} of {one.possible:g}: {escaped(one.message)}{reason}"


def escaped(words: str) -> str:
    """Return words that mean nothing in Markdown, in one line."""
    return re.sub(r"([\\`*_\[\]<>#|$])", r"\\\1", " ".join(words.split()))


def file_to_return(week: Week, row: Row) -> str:
    """Return a page, or for Canvas, which keeps the name of the file, the notebook with a cell more."""
    words, submission = feedback(week, row), row.submission
    if submission.platform != "canvas":
        return f"<!doctype html>\n<meta charset='utf-8'>\n{MarkdownIt().render(words)}"
    cell = {"cell_type": "markdown", "metadata": {}, "source": words}
    try:
        notebook = json.loads(submission.file.read_text("utf-8"))
        if notebook["nbformat_minor"] >= 5:
            cell["id"] = "feedback"
        notebook["cells"].insert(0, cell)
        return json.dumps(notebook, ensure_ascii=False)
    except (AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        return json.dumps(notebook)  # theirs is none, or an odd one


# -- All of it, or nothing ------------------------------------------------------------------


def write(folder: Path, week: Week, rows: list[Row], more: dict[str, str]) -> Path | None:
    """Write everything into a new folder, and return where a former one is kept."""
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    (part / "feedback").mkdir(parents=True)
    save(part / "gradebook.csv", text(gradebook(week, rows)), "utf-8-sig")  # as spreadsheets want
    for name, table, heads in (("moodle", for_moodle, 1), ("canvas", for_canvas, 2)):
        if len(made := table(week, rows)) > heads:
            save(part / f"{name}.csv", text(made))
    for row in filter(lambda row: row.submission, rows):
        platform = row.submission.platform or "files"
        if platform == "canvas" and not row.submission.is_notebook:
            continue  # Canvas would show a page under the name of another kind of file
        with ZipFile(part / "feedback" / f"{platform}.zip", "a", ZIP_DEFLATED) as archive:
            content = file_to_return(week, row).encode("utf-8", "replace")
            archive.writestr(row.submission.feedback, content)
    for name, words in more.items():
        save(part / name, words)
    former = keep(folder)
    part.rename(folder)
    return former


def save(file: Path, words: str, encoding: str = "utf-8") -> None:
    """Write a file, whatever characters an answer has put into it."""
    file.write_bytes(words.encode(encoding, "replace"))


def keep(folder: Path) -> Path | None:
    """Give a former folder the next free number, and return its new place."""
    if not folder.exists():
        return None
    numbers = (folder.with_name(f"{folder.name}.{number}") for number in range(1, 10**6))
    former = next(place for place in numbers if not place.exists())
    folder.rename(former)
    return former
