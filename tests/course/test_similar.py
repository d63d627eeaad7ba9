"""Copies are found, independent answers are not, and questions in person are about one's own answer."""

import json
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
import torch

from _config.course import orals, similar
from _config.course.gradebook import Row
from _config.course.grading import Graded, QuestionResult
from _config.course.submissions import Student, named
from _config.course.weeks import week_of

sys.path.insert(0, str(Path(__file__).parent))
import independent

CODE = "a code"
MASKS = week_of("masks")
ANSWERS = {
    "masks": independent.PACKED_MASK,
    "block": independent.GATED,
    "scaling-out": independent.OWN_SHARE,
}


def defined(week, source, student="ada"):
    """Return what an answer defines, with a student's numbers."""
    names = {"torch": torch, "numbers": week.drawn(CODE, student)}
    exec(source, names)
    return names


@pytest.mark.parametrize("chapter", ANSWERS)
def test_independent_answers_are_right_and_not_flagged(chapter):
    week = week_of(chapter)
    exercise = week.exercises[0]
    sources = ANSWERS[chapter] | {"published": exercise.cells["solution"]}
    del sources["solution"]
    for source in sources.values():
        assert week.checked(CODE, "ada")[exercise.name](defined(week, source)[exercise.name])
    shapes = {name: similar.shape(source) for name, source in sources.items()}
    assert min(shape.total() for shape in shapes.values()) >= similar.SMALLEST
    highest = max(similar.likeness(shapes[a], shapes[b]) for a, b in combinations(shapes, 2))
    assert highest < similar.THRESHOLD - 0.2


@pytest.mark.parametrize("copy", independent.COPIES)
def test_a_disguised_copy_is_flagged(copy):
    exercise = MASKS.exercises[0]
    codes = [exercise.cells["solution"], independent.COPIES[copy]]
    assert similar.likeness(*map(similar.shape, codes)) > similar.THRESHOLD + 0.05


@pytest.fixture
def row(tmp_path):
    """Return a function that makes the row of a notebook that has been graded."""

    def make(student, *sources):
        cells = [{"cell_type": "code", "source": source} for source in sources]
        cells.append({"cell_type": "markdown", "source": "Thank you (for everything"})
        file = tmp_path / f"{student}.ipynb"
        file.write_text(json.dumps({"cells": cells}), "utf-8")
        graded = Graded(student, CODE, grade(file, student), [])
        return Row(Student(student), named(file.name, file=file), graded)

    return make


def grade(file, student="ada"):
    """Grade a notebook in this process: these tests trust it."""
    names = {"torch": torch, "numbers": MASKS.drawn(CODE, student)}
    for cell in json.loads(file.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and not cell["source"].startswith("%"):
            exec(cell["source"], names)
    report = MASKS.checked(CODE, student)["packed_mask"](names["packed_mask"])
    return [
        QuestionResult("packed_mask", x.message, x.points * bool(no), x.points, no.reason)
        for x, no in report.results
    ]


def test_copies_are_listed_once_with_the_published_solution(row):
    source = list(independent.PACKED_MASK.values())
    copies = list(independent.COPIES.values())
    rows = [
        row("ada", "%timeit 1 + 1", copies[0]),
        row("bob", source[1]),
        row("eve", copies[1]),
        row("joe", source[2]),
        row("zoë", source[2].replace("pad", "empty").replace(" t ", " length ")),
    ]
    head, *groups = similar.table(MASKS, rows)
    assert head == ["exercise", "at least alike", "students"]
    assert [names for *_, names in groups] == ["(the published solution), ada, eve", "joe, zoë"]
    assert all(float(least) >= similar.THRESHOLD for _, least, _ in groups)


def test_what_the_stub_gives_does_not_count(row):
    source = independent.PACKED_MASK["loops"]
    given = replace(MASKS.exercises[0], cells=MASKS.exercises[0].cells | {"stub": source})
    rows = [row(student, source) for student in "ab"]
    assert len(similar.table(MASKS, rows)) == 2
    assert len(similar.table(replace(MASKS, exercises=[given]), rows)) == 1


def test_helpers_belong_to_an_answer_and_others_do_not(row):
    source = independent.PACKED_MASK["helpers"] + "\ndef unused(x):\n    return x"
    made = row("ada", source, "def packed_mask(s): return not_padding(s)", "%time 2")
    assert similar.answer(made.submission.file, "packed_mask").splitlines() == [
        "def packed_mask(s):",
        "    return not_padding(s)",
        "def not_padding(s):",
        "    return (s >= 0)[:, :, None] & (s >= 0)[:, None, :]",
    ]


# -- In person ------------------------------------------------------------------------------


def test_questions_are_about_ones_own_answer(row):
    rows = [row(x, independent.PACKED_MASK[y]) for x, y in [("ada", "positions"), ("bob", "loops")]]
    sheet = orals.sheet(MASKS, "a key", rows, 2, grade)
    ada, bob = sorted(sheet.split("\n## ")[1:])
    assert "torch.arange(T).view(1, T, 1)" in ada
    assert "for i in range(T)" in bob
    for student, text in (("ada", ada), ("bob", bob)):
        assert text.count("**Ask.**") == text.count("**Key.**") == 2
        numbers = MASKS.drawn(CODE, student)
        assert any(f"`{x}` be {numbers[x] + 1} instead of {numbers[x]}" in text for x in numbers
                   if isinstance(numbers[x], int))  # fmt: skip
        assert "* `reach`: " in text


def test_the_key_draws_the_students(row):
    rows = [row(x, MASKS.exercises[0].cells["stub"]) for x in "abcdefgh"]
    drawn = [orals.sheet(MASKS, key, rows, 3, grade).count("\n## ") for key in ("k", "l")]
    assert drawn == [3, 3]
    first, again, other = (orals.sheet(MASKS, key, rows, 3, grade) for key in "kkl")
    assert first == again != other


@pytest.mark.parametrize("name", ["positions", "in place", "loops", "helpers"])
def test_the_key_says_what_the_answer_misses_without_the_part(name, row):
    source = independent.PACKED_MASK[name]
    made = row("ada", source)
    sheet = orals.sheet(MASKS, "a key", [made], 1, grade)
    part = sheet.split("```python\n")[1].split("\n```")[0]
    rest = dict(orals.deletions(similar.answer(made.submission.file, "packed_mask")))[part]
    asked = MASKS.checked(CODE, "ada")["packed_mask"](defined(MASKS, rest)["packed_mask"])
    missed = [question.message for question, yes in asked.results if not yes]
    assert 1 <= len(missed) < 5
    assert all(f"* {message}: " in sheet for message in missed)


def test_operands_and_changes_can_be_deleted():
    code = "def f(a):\n    b = a * 2\n    b[0] = 1\n    b = b + a\n    return (a - b) @ a"
    parts = {part for part, _ in orals.deletions(code)}
    operands = {"* 2", "a *", "+ a", "b +", "@ a", "a - b @", "- b", "a -"}
    assert parts == operands | {"b[0] = 1", "b = b + a"}
    assert dict(orals.deletions(code))["* 2"].splitlines()[1] == "    b = a"
