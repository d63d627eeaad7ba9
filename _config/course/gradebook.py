"""Write a gradebook: one row for each student, and a report for each to read."""

import csv
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from _config.course.weeks import Week
from selfattn_book.course.sandbox import Outcome

# With one of these a spreadsheet begins a formula, and formulas can do harm.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Graded:
    """What came of a student's answer."""

    student: str
    numbers: dict[str, Any]
    outcome: Outcome
    other_id: str = ""  # under which the answer says it was made

    @property
    def points(self) -> float:
        """Return the points that were given without a person."""
        return sum(result["points"] for result in self.outcome.results)

    @property
    def possible(self) -> float:
        """Return the points that can be given without a person."""
        return sum(result["possible"] for result in self.outcome.results)


class Gradebook:
    """A new file of rows, and beside it a folder of reports; both appear when all is done.

    Raises:
        ValueError: one of the two is there already.
        OSError: nothing can be written there.
    """

    def __init__(self, week: Week, file: Path) -> None:
        self.week, self.file = week, file
        self.reports = file.with_name(f"{file.stem}-reports")
        self._part = file.with_name(f".{file.name}.part")
        self._reports_part = file.with_name(f".{file.stem}-reports.part")
        self._graded: list[Graded] = []
        for path in (file, self.reports):
            if path.exists():
                raise ValueError(f"a gradebook must be new; there is a {path} already")
        if not file.parent.is_dir():
            raise ValueError(f"a gradebook must be in a folder; there is no {file.parent}")
        self._part.touch()  # or say now that it cannot be written

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        """Write all, or if something went wrong, nothing."""
        if kind:
            self._part.unlink(missing_ok=True)
            return
        self._graded.sort(key=lambda graded: graded.student.casefold())
        shutil.rmtree(self._reports_part, ignore_errors=True)
        self._reports_part.mkdir()
        for graded in self._graded:
            report = self._reports_part / f"{graded.student}.md"
            report.write_text(self.report(graded), "utf-8")
        with self._part.open("w", encoding="utf-8-sig", newline="") as part:
            writer = csv.writer(part)
            writer.writerow(self.head())
            writer.writerows([tame(cell) for cell in self.row(graded)] for graded in self._graded)
        self._reports_part.replace(self.reports)
        self._part.replace(self.file)

    def add(self, graded: Graded) -> None:
        """Keep what came of one answer."""
        self._graded.append(graded)

    def head(self) -> list[str]:
        """Return the names of the columns."""
        names = ["id", "points", "possible"]
        for exercise in self.week.exercises:
            by = ", by a person" if exercise.by_person else ""
            names.append(f"{exercise.name} (of {exercise.points}{by})")
        said = [f"{e.name}: said" for e in self.week.exercises if not e.by_person]
        return [*names, "stopped", "id in the answer", *said]

    def row(self, graded: Graded) -> list[Any]:
        """Return the cells of one student; what a person marks is left empty."""
        results = {result["name"]: result for result in graded.outcome.results}
        possible = sum(e.points for e in self.week.exercises if not e.by_person)
        points = [
            "" if e.by_person else results.get(e.name, {}).get("points", 0)
            for e in self.week.exercises
        ]
        said = [
            wrong(results[e.name]) if e.name in results else ""
            for e in self.week.exercises
            if not e.by_person
        ]
        notes = [graded.outcome.stopped, graded.other_id]
        return [graded.student, graded.points, possible, *points, *notes, *said]

    def report(self, graded: Graded) -> str:
        """Return what a student reads."""
        drawn = "\n".join(f"* `{name}`: {given}" for name, given in graded.numbers.items())
        lines = [f"# {self.week.title}, for {graded.student}", f"Your numbers:\n\n{drawn}"]
        if graded.outcome.stopped:
            lines.append(f"**No points: {graded.outcome.stopped}.**")
        if graded.other_id:
            lines.append(f"Your answer says that it was made with the id {graded.other_id!r}.")
        lines += [f"```text\n{result['told']}\n```" for result in graded.outcome.results]
        by_person = [e for e in self.week.exercises if e.by_person]
        lines += [f"*{e.title}*, of {e.points} points, is marked by a person." for e in by_person]
        return "\n\n".join(lines) + "\n"

    def summary(self) -> str:
        """Say in a few sentences how it went."""
        count, stopped = len(self._graded), sum(bool(g.outcome.stopped) for g in self._graded)
        mean = sum(g.points for g in self._graded) / count
        possible = sum(e.points for e in self.week.exercises if not e.by_person)
        return (
            f"{count} answers are in {self.file}, on average {mean:.1f} of {possible} points;"
            f" {stopped} were stopped. What to hand back is in {self.reports}."
        )


def wrong(result: dict[str, Any]) -> str:
    """Return all that is wrong with one exercise, in a line, each reason once."""
    if not result["asked"]:
        return "nothing of this name is defined"
    about: dict[str, list[str]] = {}
    for asked in result["asked"]:
        if not asked["points"]:
            reason = f"{asked['reason']} {asked['misconception']}".strip()
            about.setdefault(reason, []).append(asked["told"])
    return " | ".join(f"{', '.join(told)}: {reason}" for reason, told in about.items())


def tame(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula.

    Example:
        >>> tame("=1+1"), tame(-1), tame("ada")
        ("'=1+1", -1, 'ada')
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell
