"""What every exercise in code keeps: a stub, sections to read again, answers that try it."""

import ast
import importlib
import re

import pytest

from selfattn_book.course.chapters import chapters, exercises_of
from tests.book.pages import DOCS

EXERCISES = [
    pytest.param(name, exercise, id=f"{name}-{exercise.name}")
    for name in chapters()
    for exercise in exercises_of(name)
]


def anchors(page):
    """Return the addresses of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.strip().replace(" ", "-") for heading in kept}


@pytest.mark.parametrize(("name", "exercise"), EXERCISES)
def test_a_stub_defines_what_is_asked_for(name, exercise):
    (defined,) = ast.parse(exercise.stub).body
    assert defined.name == exercise.name


@pytest.mark.parametrize(("name", "exercise"), EXERCISES)
def test_what_to_read_again_is_there(name, exercise):
    for asked in exercise.questions:
        page, anchor = asked.reread.split("#")
        assert anchor in anchors(DOCS / "chapters" / page.replace(".html", ".md"))


@pytest.mark.parametrize(("name", "exercise"), EXERCISES)
def test_a_page_checks_its_own_solution(name, exercise):
    text = (DOCS / "chapters" / f"{name}.md").read_text("utf-8")
    module = f"selfattn_book.course.exercises.{name.replace('-', '_')}"
    assert f"from {module} import check\n" in text
    assert f"assert check({exercise.name}={exercise.name}" in text


@pytest.mark.parametrize(("name", "exercise"), EXERCISES)
def test_wrong_answers_of_many_kinds_were_tried(name, exercise):
    tried = importlib.import_module(f"tests.course.test_{name.replace('-', '_')}")
    right, wrong = tried.RIGHT[exercise.name], tried.WRONG[exercise.name]
    assert len(right) >= 3
    assert len(wrong) >= 6
