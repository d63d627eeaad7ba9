"""Answers that try the checks of assignments: right in unusual ways, and wrong, by kind."""

import re
from pathlib import Path

import pytest

from selfattn_book.exercises.checking.chapters import load
from tests.course.answers import said
from tests.test_weeks import CODE, STUDENTS, WEEKS

TRIED = [
    (week, load(file))
    for week in WEEKS
    if (file := Path(__file__).with_name(week.checks.name)).exists()
]


def tries(table):
    return [
        pytest.param(week, made, id=f"{week.chapter}-{kind}")
        for week, answers in TRIED
        for kind, made in getattr(answers, table).items()
    ]


@pytest.mark.parametrize(("week", "made"), tries("RIGHT"))
def test_what_is_right_in_unusual_ways_passes(week, made):
    for student in STUDENTS:
        exercise = week.checked(CODE, student)[week.exercises[0].name]
        assert said(exercise(made(week.drawn(CODE, student)))) == ""


@pytest.mark.parametrize(("week", "wrong"), tries("WRONG"))
def test_what_is_wrong_is_named(week, wrong):
    made, pattern = wrong
    for student in STUDENTS:
        report = week.checked(CODE, student)[week.exercises[0].name](
            made(week.drawn(CODE, student))
        )
        assert report.points < report.possible
        assert re.search(pattern, said(report))
