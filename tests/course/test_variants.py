"""Students' numbers: always the same, and nobody's guess."""

from collections import Counter

import pytest

from selfattn_book.exercises.checking.variants import draw, week_code

IDS = [f"student-{number}" for number in range(400)]


def test_all_choices_are_drawn_about_equally_often():
    drawn = Counter(draw("code", one, {"n": "1..4"})["n"] for one in IDS)
    assert set(drawn) == {1, 2, 3, 4}
    assert min(drawn.values()) > 60


def test_a_number_more_moves_no_other():
    few, more = {"b": "1..99"}, {"a": "1..99", "b": "1..99", "c": "1..99"}
    for one in IDS[:20]:
        assert draw("code", one, more)["b"] == draw("code", one, few)["b"]


def test_names_of_numbers_and_weeks_are_drawn_apart():
    both = {"a": "1..99", "b": "1..99"}
    same = sum(len(set(draw("code", one, both).values())) == 1 for one in IDS)
    assert same < 20
    codes = [week_code("key", chapter) for chapter in ("masks", "order")]
    first, second = ([draw(code, one, both)["a"] for one in IDS] for code in codes)
    assert sum(a == b for a, b in zip(first, second, strict=True)) < 20


def test_an_id_is_the_same_however_it_is_typed():
    choices = {"n": "1..9999"}
    for one in ("ZOË@uni.example", " zoë@uni.example ", "zoe\u0308@uni.example"):
        assert draw("code", one, choices) == draw("code", "zoë@uni.example", choices)


@pytest.mark.parametrize("given", ["", "3..", "5..2", "4 of 1..3", "abc", [], None, 7])
def test_what_cannot_be_drawn_from_is_refused(given):
    with pytest.raises(ValueError, match="width must be drawn from"):
        draw("code", "ada", {"width": given})


@pytest.mark.parametrize("student", [None, 7, "", "  ", "a\x00b", "x" * 101, "a\u202eb"])
def test_an_odd_id_is_refused(student):
    with pytest.raises(ValueError, match="a student id must"):
        draw("code", student, {})
