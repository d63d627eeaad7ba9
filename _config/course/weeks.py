"""Read the sources of the assignments: `docs/course/CHAPTER.md`, a sheet each, in the book's order.

The front matter has `assignment`, with `numbers` (a range `1..3` or a list to draw from, by name) and
`exercises` (kind, level and minutes, and `points` where a person marks, by name). Each exercise is a
section with cells tagged stub, public and solution, and the parts *Solution*, *Misconceptions* and,
where a person marks, *Rubric*.
"""

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from selfattn_book.exercises.checking.chapters import exercises_in, hint
from selfattn_book.exercises.checking.exercise import Exercise as Checked
from selfattn_book.exercises.checking.variants import draw

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "docs" / "course"
TEACHING = ROOT / "docs" / "appendix" / "teaching.md"  # its first table numbers the weeks
CELL = re.compile(r"```\{code-cell\}\n:tags: \[(\w+)\]\n(.*?)\n```\n?", re.DOTALL)
# Marked by a person, with a rubric.
BY_PERSON = {"a proof", "an experiment"}


@dataclass(frozen=True)
class Exercise:
    """One exercise for credit, as its source has it."""

    name: str
    title: str
    text: str
    kind: str
    level: int
    minutes: int
    cells: dict[str, str]  # stub, public, solution: code
    solution: str  # in words
    rubric: str
    misconceptions: str
    points: int

    @property
    def by_person(self) -> bool:
        """Tell whether a person marks it."""
        return self.kind in BY_PERSON


@dataclass(frozen=True)
class Week:
    """The assignment of one chapter."""

    number: int
    chapter: str
    title: str
    opening: str
    numbers: dict[str, Any]
    exercises: list[Exercise] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name of its folder, as in `week-05-masks`."""
        return f"week-{self.number:02d}-{self.chapter}"

    @property
    def checks(self) -> Path:
        """Return the file that checks its exercises."""
        return SOURCES / "checks" / f"{self.chapter.replace('-', '_')}.py"

    def drawn(self, code: str, student: object) -> dict[str, Any]:
        """Return a student's numbers."""
        return draw(code, student, self.numbers)

    def checked(self, code: str = "", student: str = "anyone") -> dict[str, Checked]:
        """Return the exercises of a student, by name."""
        return self.checks_with(self.drawn(code, student))

    def checks_with(self, numbers: dict[str, Any]) -> dict[str, Checked]:
        """Return the exercises with these numbers, by name."""
        return exercises_in(self.checks, numbers)


def chapters() -> list[str]:
    """Return the chapters that have an assignment, in the book's order."""
    text = (ROOT / "docs" / "index.md").read_text("utf-8")
    names = re.findall(r"^chapters/([\w-]+)$", text, re.MULTILINE)
    return [name for name in names if (SOURCES / f"{name}.md").exists()]


def calendar(file: Path | None = None) -> dict[str, int]:
    """Return the week of each chapter, from the page for instructors or from a file of your own.

    In the table of the page, a line is a week; a chapter that it lacks follows all weeks.
    """
    if file is None:
        table = TEACHING.read_text("utf-8").split("```{syllabus}\n")[1].split("```")[0]
        lines = enumerate(table.splitlines(), 1)
        weeks = {name: week for week, line in lines for name in re.findall(r"chapters/(\S+)", line)}
        return weeks | {name: max(weeks.values()) + 1 for name in chapters() if name not in weeks}
    weeks = {}
    for row in csv.DictReader(file.read_text("utf-8-sig").splitlines()):
        week, chapter = (str(row.get(name) or "").strip() for name in ("week", "chapter"))
        if not week.isdecimal() or chapter not in chapters() or chapter in weeks:
            rule = "a line must have a week, a number, and a chapter with an assignment, each once"
            raise ValueError(f"{file.name}: {rule}; got {row}")
        weeks[chapter] = int(week)
    if not weeks:
        raise ValueError(f"{file.name}: the columns must be week and chapter, with a line each")
    return weeks


def week_of(chapter: str, weeks: dict[str, int] | None = None) -> Week:
    """Return the assignment of a chapter, numbered by the calendar, or raise."""
    if chapter not in chapters():
        rule = "there must be an assignment of this name"
        raise ValueError(f"{rule}; got {chapter!r}.{hint(chapter, chapters())}")
    weeks = weeks or calendar()
    if chapter not in weeks:
        raise ValueError(f"a week must be given for each chapter; {chapter} has none")
    text = (SOURCES / f"{chapter}.md").read_text("utf-8")
    _, front, body = text.split("---\n", 2)
    settings = yaml.safe_load(front)["assignment"]
    opening, *sections = split(body, 2)
    title, opening = opening.strip().removeprefix("# ").split("\n", 1)
    week = Week(weeks[chapter], chapter, title, opening.strip(), settings["numbers"])
    checked = week.checked()
    for section, (name, what) in zip(sections, settings["exercises"].items(), strict=True):
        week.exercises.append(exercise(section, name, what, checked.get(name)))
    return week


def exercise(section: str, name: str, what: dict[str, Any], checks: Checked | None) -> Exercise:
    """Return the exercise of a section."""
    text, *parts = split(section, 3)
    title, text = text.split("\n", 1)
    sections = dict(part.split("\n", 1) for part in parts)
    if missing := {"Solution", "Misconceptions"} - sections.keys():
        parts_missing = " and ".join(sorted(missing))
        raise ValueError(f"an exercise must have a part ### {parts_missing}; {title!r} has none")
    cells = dict(CELL.findall(section))
    checked = sum(question.points for question in checks.questions) if checks else 0
    return Exercise(
        name=name,
        title=title.strip(),
        text=CELL.sub("", text).strip(),
        cells=cells,
        solution=CELL.sub("", sections["Solution"]).strip(),
        rubric=sections.get("Rubric", "").strip(),
        misconceptions=sections["Misconceptions"].strip(),
        points=checked or what["points"],
        **{key: what[key] for key in ("kind", "level", "minutes")},
    )


def split(text: str, level: int) -> list[str]:
    """Split a text at its headings of a level; what follows each has lost the mark."""
    return re.split(rf"^{'#' * level} ", text, flags=re.MULTILINE)
