"""Grade one notebook: the answers run in a confined process, the checks in this one."""

from dataclasses import dataclass, field
from pathlib import Path

from _config.course.weeks import Week


@dataclass(frozen=True)
class QuestionResult:
    """What one question of an exercise has earned, and why not all."""

    exercise: str
    message: str
    points: float
    possible: float
    reason: str = ""


@dataclass(frozen=True)
class Graded:
    """The results of one notebook.

    Args:
        student: the id in the notebook, normalized; empty if there is none.
        code: the week code in the notebook; empty if there is none.
        results: one for each question that is checked.
        notes: cells that failed or were left out, attempts to cheat, what was not confined.
    """

    student: str
    code: str
    results: list[QuestionResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Return the points that were earned."""
        return sum(result.points for result in self.results)

    @property
    def possible(self) -> float:
        """Return the highest possible number of points."""
        return sum(result.possible for result in self.results)


def grade(notebook: Path, week: Week, code: str, student: str | None = None) -> Graded:
    """Grade a notebook, with the numbers of the student whose id it has, or of another."""
    raise NotImplementedError
