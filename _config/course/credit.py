"""Add what is for credit to the tables of weeks: minutes, points, and hours of marking."""

from docutils import nodes
from sphinx.application import Sphinx

from _config.bookproof.course import syllabus

STUDENTS, MINUTES = 60, 5  # of an answer that a person marks; the page for instructors says so


class Syllabus(syllabus.Syllabus):
    """The engine's table of weeks, with a column that is computed from `docs/course`."""

    def run(self) -> list[nodes.Node]:
        """Return the place of the table, which knows the lines of each chapter."""
        from _config.course.weeks import SOURCES, chapters  # with PyTorch, so only where it is read

        for file in [*SOURCES.glob("*.md"), *SOURCES.glob("checks/*.py")]:
            self.env.note_dependency(str(file))
        [place] = super().run()
        place["credit"] = {f"chapters/{name}": credit(name) for name in chapters()}
        return [place]


def credit(chapter: str) -> list[str]:
    """Return what the exercises for credit of a chapter take and give, a fact a line."""
    from _config.course.weeks import week_of

    exercises = week_of(chapter).exercises
    lines = [
        f"{sum(exercise.minutes for exercise in exercises)} minutes",
        f"{sum(exercise.points for exercise in exercises)} points",
    ]
    if by_person := [exercise for exercise in exercises if exercise.by_person]:
        hours = STUDENTS * MINUTES * len(by_person) / 60
        points = sum(exercise.points for exercise in by_person)
        lines.append(f"{points} by a person: {hours:.0f} hours")
    return lines


def setup(app: Sphinx) -> None:
    """Let this table take the place of the engine's."""
    app.add_directive("syllabus", Syllabus, override=True)
