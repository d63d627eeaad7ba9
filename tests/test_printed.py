"""Exercises by hand on paper: each student's own numbers, and the key to them."""

import re

import pytest
from course import printed
from course.submissions import Student
from course.weeks import chapters, week_of

ADA, ZOE = Student("ada", name="Ada <L>"), Student("zoë")
BY_HAND = [
    pytest.param(week, exercise, id=week.chapter)
    for week in map(week_of, chapters())
    for exercise in week.exercises
    if exercise.kind == "by hand"
]


def text(html):
    return re.sub(r"<[^>]+>", "", html)


@pytest.mark.parametrize(("week", "exercise"), BY_HAND)
def test_a_page_has_the_numbers_of_its_student_and_a_line_for_each_answer(week, exercise):
    pages = [printed.page(week, exercise, "code", student) for student in (ADA, ZOE)]
    for page, student in zip(pages, (ADA, ZOE), strict=True):
        right = week.checked("code", student.id)[exercise.name].right()
        for name in re.findall(r'`numbers\["(\w+)"\]', exercise.text):
            assert printed.shown(week.drawn("code", student.id)[name]) in text(page)
        assert "numbers[" not in page
        assert page.count('class="answer"') == len(right)
        blanks = page.split('class="answer"', 1)[1].count("<span>")
        assert blanks == sum(len(printed.listed(answer)) for answer in right.values())
    assert "Ada &lt;L&gt;" in pages[0]
    assert pages[0].split("id:")[1] != pages[1].split("id:")[1]


def test_the_key_has_the_right_numbers_of_each_student():
    week = week_of("masks")
    exercise = week.exercises[1]
    key = printed.key(week, exercise, "code", [ADA, ZOE])
    _, *rows = re.findall(r"<tr>(.*?)</tr>", key)
    for row, student in zip(rows, (ADA, ZOE), strict=True):
        numbers = week.drawn("code", student.id)
        cells = re.findall(r"<td>(.*?)</td>", row)
        a, b, c, _ = numbers["exponentials"]
        assert cells[0] == student.id
        assert cells[2] == f"{a / (a + b + c):.4g}, {b / (a + b + c):.4g}, {c / (a + b + c):.4g}, 0"
        assert cells[-1] == str(numbers["layers"] * (numbers["width"] - 1) + 1)
