"""Write an instructor's notes for a week: solutions, rubrics, misconceptions."""

from typing import Any

from _config.course.for_otter import worth
from _config.course.weeks import Exercise, Week

HANDLING = """## Handing out and grading

* Students get the notebook in `student/`, and need `selfattn-book` and `otter-grader`.
* Students draw their numbers from their ids and the code {code}, which is printed in the notebook.
* `python3 noxfile.py -s grade -- {chapter} EXPORT.zip @key.txt --roster roster.csv` grades what Moodle
  or Canvas exports; Gradescope takes `autograder.zip`.
"""


def notes(week: Week, code: str) -> str:
    """Return the notes of a week, as Markdown."""
    total = sum(exercise.points for exercise in week.exercises)
    minutes = sum(exercise.minutes for exercise in week.exercises)
    drawn = "".join(f"* `{name}`: {choices(given)}\n" for name, given in week.numbers.items())
    head = f"# Week {week.number}: {week.title}\n\n{total} points, about {minutes} minutes.\n"
    handling = HANDLING.format(code=f"`{code}`", chapter=week.chapter)
    parts = [one(week, exercise) for exercise in week.exercises]
    numbers = f"## The numbers of each student\n\n{drawn}"
    return "\n".join([head, handling, numbers, *parts])


def choices(given: Any) -> str:
    """Return what is drawn from, as Markdown; programs as code."""
    if not isinstance(given, list) or not str(given[0]).startswith("def "):
        return str(given)
    return "one of\n\n" + "\n".join(f"```python\n{program}```\n" for program in given)


def one(week: Week, exercise: Exercise) -> str:
    """Return the notes of one exercise."""
    code = exercise.cells.get("solution")
    cell = f"\n```python\n{code}\n```\n" if code else ""
    parts = [
        f"## {exercise.title}\n\n{worth(exercise)}\n\n{exercise.text}\n",
        f"### Solution\n\n{exercise.solution}\n{cell}",
        f"### How it is marked\n\n{marked(week, exercise)}\n",
        f"### Misconceptions\n\n{exercise.misconceptions}\n",
    ]
    return "\n".join(parts)


def marked(week: Week, exercise: Exercise) -> str:
    """Return how the points are given."""
    if exercise.by_person:
        return f"By a person.\n\n{exercise.rubric}"
    questions = week.checked()[exercise.name].questions
    lines = [f"| {one.message} | {one.points} | {one.section} |" for one in questions]
    return "\n".join(["| question | points | read again |", "|---|---|---|", *lines])
