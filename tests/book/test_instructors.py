"""Each chapter ends in a note for who teaches it, and the note says what is so."""

import ast
import re

import pytest

from tests.book.pages import CHAPTERS, ROOT

CHECKS = ("course", "reasons")  # rooms of the package in which checks are written
HEADS = ["In class", "What students get wrong", "Time", "Marking"]
QUOTED = re.compile(r'\b(?:says|Or): "(.*?)"')
every_chapter = pytest.mark.parametrize(
    "page", CHAPTERS, ids=lambda page: page.stem
)


def note(page):
    """Return what instructors read at the end of a chapter."""
    found = re.search(
        r"\n:::\{instructors\}\n(.*)\n:::\n\Z", page.read_text("utf-8"), re.S
    )
    assert found, f"{page.name} must end in a note for instructors"
    return found[1]


@every_chapter
def test_a_note_has_its_parts(page):
    assert re.findall(r"^\*\*(.*?)\*\*", note(page), re.M) == HEADS


@every_chapter
def test_a_lesson_fills_its_minutes(page):
    plan = re.findall(r"^\* (\d+) minutes: ", note(page), re.M)
    [whole] = re.findall(r"\*\*In class\*\* \((\d+) minutes", note(page))
    assert sum(map(int, plan)) == int(whole)
    assert 5 <= len(plan) <= 8


@every_chapter
def test_points_add_up(page):
    marking = note(page).partition("**Marking**")[2]
    rubrics = re.split(r"^\* ", marking, flags=re.M)[1:]
    assert len(rubrics) == 2  # the proof and the experiment of the page
    for rubric in rubrics:
        [whole] = re.findall(r"\((?:proof|experiment), (\d+) points\)", rubric)
        assert sum(map(int, re.findall(r"\((\d)\)$", rubric, re.M))) == int(whole)


@every_chapter
def test_what_is_marked_are_exercises_of_the_page(page):
    marked = re.findall(r"^\* \*(.*?)\* \((proof|experiment),", note(page), re.M)
    asked = re.findall(
        r"\{exercise\} (.*)\n.*\n.*\n\*An? (proof|experiment)\.",
        page.read_text("utf-8"),
    )
    assert sorted(marked) == sorted(asked)


@every_chapter
def test_what_a_check_is_quoted_with_it_can_say(page):
    quoted = QUOTED.findall(note(page))
    rooms = (ROOT / "selfattn_book" / room for room in CHECKS)
    files = [file for room in rooms for file in room.rglob("*.py")]
    said = "\n".join(text for file in files for text in texts(file))
    assert [quote for quote in quoted if plain(quote) not in said] == []


def texts(file):
    """Yield the strings in a file of code; what is put into them as it runs is left out."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield plain(node.value)


def plain(text):
    return " ".join(text.split())
