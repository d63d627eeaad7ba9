"""Find the bug: what counts as an input on which it shows, and what is refused."""

import pytest
import torch

from selfattn_book.exercises.checking.find_the_bug import find_the_bug

RIGHT = "def f(x, n):\n    y = x / x.sum()\n    return y[:n] ** 0.5\n"
BUG = RIGHT.replace("x.sum()", "x.max()")
EXAMPLE = {"x": [1, 2], "n": 2}
EXERCISE = find_the_bug(BUG, RIGHT, "a.html#b", EXAMPLE)


@pytest.mark.parametrize("x", [[1, 2], [1.0, 2.0], torch.tensor([1, 2])])
def test_a_line_and_an_input_have_all_points(x):
    assert EXERCISE(lambda: {"line": 2, "x": x, "n": 2}).points == 3


@pytest.mark.parametrize(
    ("given", "points", "message"),
    [
        ({"line": 3}, 2, "3 is not right"),
        ({"line": 1}, 2, "Lines are counted from 1."),
        ({"x": [3]}, 1, "the program gives the right result for this input"),
        ({"n": 0}, 1, "the program gives the right result for this input"),
        ({"x": [0, 0]}, 1, "no result for this input, even without its bug"),
        ({"x": [-1, 2]}, 1, "no result for this input, even without its bug"),
        ({"n": 0.5}, 1, "no result for this input, even without its bug"),
        ({"x": [[1, 2], [3]]}, 1, "all rows of x must have one shape"),
        ({"x": [1.0] * 101}, 1, "x must have at most 100 numbers, none above 1000."),
        ({"x": [1001, 1]}, 1, "x must have at most 100 numbers, none above 1000."),
        ({"x": [float("nan"), 1]}, 1, "x must have at most 100 numbers, none above 1000."),
        ({"n": ...}, 1, "there is no number for n yet"),
        ({"x": "1, 2"}, 1, "it must return x"),
    ],
)
def test_another_answer_has_a_reason(given, points, message):
    report = EXERCISE(lambda: {"line": 2, **EXAMPLE, **given})
    assert report.points == points
    assert message in " ".join(str(report).split())


def test_a_program_that_fails_shows_its_bug():
    exercise = find_the_bug(RIGHT.replace("y[:n]", "y[:m]"), RIGHT, "a.html#b", EXAMPLE)
    assert exercise(lambda: {"line": 3, "x": [3], "n": 1}).points == 3


def test_an_input_is_not_changed_for_the_other_program():
    in_place = RIGHT.replace("y = x / x.sum()", "y = x.div_(x.sum())")
    with pytest.raises(ValueError, match="must show on the example"):
        find_the_bug(in_place, RIGHT, "a.html#b", EXAMPLE)


@pytest.mark.parametrize("program", [RIGHT, BUG.replace("0.5", "2")])
def test_a_program_with_no_bug_or_two_is_refused(program):
    with pytest.raises(ValueError, match=r"bug in one line; got lines \["):
        find_the_bug(program, RIGHT, "a.html#b", EXAMPLE)
