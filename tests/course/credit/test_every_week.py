"""Every assignment: its source, its solution, and answers that try its checks, for several students."""

import re
from functools import cache, partial
from pathlib import Path

import pytest
from course.weeks import chapters, week_of

from selfattn_book.exercises.checking import answer_checks
from selfattn_book.exercises.checking.chapters import load
from tests.course.answers import said

IDS = ("ada", "grace-42", "Émilie du Châtelet")
CODE = "a code"
week_of = cache(week_of)
WEEKS = [week_of(name) for name in chapters()]
CHECKED = [
    pytest.param(week, exercise, id=f"{week.chapter}-{exercise.name}")
    for week in WEEKS
    for exercise in week.exercises
    if not exercise.by_person
]
BY_PERSON = [
    pytest.param(exercise, id=f"{week.chapter}-{exercise.name}")
    for week in WEEKS
    for exercise in week.exercises
    if exercise.by_person
]
BY_HAND = [param for param in CHECKED if param.values[1].kind == "by hand"]


@cache
def tried(chapter):
    """Return the answers that try the exercise in code of a chapter."""
    file = Path(__file__).with_name(f"{chapter.replace('-', '_')}.py")
    return load(file) if file.exists() else None


def tries(table):
    return [
        pytest.param(week, exercise.name, kind, id=f"{week.chapter}-{kind}")
        for week in WEEKS
        for exercise in week.exercises
        if exercise.kind == "in code"
        for kind in getattr(tried(week.chapter), table, ())
    ]


def defined(week, exercise, student):
    """Run the solution of an exercise with a student's numbers."""
    names = {"numbers": week.drawn(CODE, student)}
    exec("import math\nimport torch\n" + exercise.cells["solution"], names)
    return names[exercise.name]


@pytest.mark.parametrize(("week", "exercise"), CHECKED)
def test_the_solution_has_all_points_and_the_right_form(week, exercise):
    names = {}
    exec(exercise.cells["public"], names)
    for student in IDS:
        solution = defined(week, exercise, student)
        assert said(week.checked(CODE, student)[exercise.name](solution)) == ""
        names["test_form"](solution)


@pytest.mark.parametrize(("week", "exercise"), CHECKED)
def test_what_a_student_begins_with_has_no_points(week, exercise):
    names = {}
    exec(exercise.cells["stub"], names)
    checked = week.checked(CODE, "ada")[exercise.name]
    assert checked(names[exercise.name]).points == 0


@pytest.mark.parametrize(("week", "name", "kind"), tries("RIGHT"))
def test_what_is_right_in_unusual_ways_passes(week, name, kind):
    for student in IDS:
        answer = tried(week.chapter).RIGHT[kind](week.drawn(CODE, student))
        assert said(week.checked(CODE, student)[name](answer)) == ""


@pytest.mark.parametrize(("week", "name", "kind"), tries("WRONG"))
def test_what_is_wrong_is_named(week, name, kind):
    made, pattern = tried(week.chapter).WRONG[kind]
    for student in IDS:
        report = week.checked(CODE, student)[name](made(week.drawn(CODE, student)))
        assert report.points < report.possible
        assert re.search(pattern, said(report))


@pytest.mark.parametrize(("week", "exercise"), BY_HAND)
def test_wrong_numbers_are_named_and_never_right(week, exercise, monkeypatch):
    given = []
    gives = answer_checks.gives

    def kept(wanted, wrong, reread, **others):
        given.append((wanted, wrong))
        return gives(wanted, wrong, reread, **others)

    monkeypatch.setattr(answer_checks, "gives", kept)
    for student in (*IDS, *(f"s{number}" for number in range(12))):
        given.clear()
        checked = week.checked(CODE, student)[exercise.name]
        ((wanted, wrong),) = given
        for part, sentences in wrong.items():
            for value in sentences.values():
                report = checked(partial(dict, wanted, **{part: value}))
                assert not report, f"{part} of {student}: {value} is right, too"
                assert misconception_of(part, report) in same_as(value, sentences)


def misconception_of(part, report):
    (answer,) = [answer for asked, answer in report.results if asked.message == part]
    return answer.misconception


def same_as(value, sentences):
    """Return what may be said of a value: several errors can lead to it."""
    number = answer_checks.as_numbers(value)
    return [
        message
        for message, other in sentences.items()
        if answer_checks.near(answer_checks.as_numbers(other), number, 0.02)
    ]


@pytest.mark.parametrize("exercise", BY_PERSON)
def test_a_rubric_gives_all_points(exercise):
    points = re.findall(r"^\| (\d+) \|", exercise.rubric, re.MULTILINE)
    assert sum(map(int, points)) == exercise.points
    assert "half" in exercise.rubric


@pytest.mark.parametrize("week", WEEKS, ids=lambda week: week.chapter)
def test_a_week_has_one_exercise_in_code_and_another(week):
    code, other = week.exercises
    assert code.kind == "in code"
    assert other.kind in {"by hand", "a proof", "an experiment"}
    assert all(2 <= exercise.level <= 4 for exercise in week.exercises)
