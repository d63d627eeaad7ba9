"""A reading sheet is one page of paper, wherever it is printed."""

import re

import pytest

from tests.book.pages import CHAPTERS, SITE
from tests.browser.looks import axe, text_and_pictures


def test_every_chapter_has_a_sheet():
    made = {sheet.stem for sheet in (SITE / "sheets").glob("*.html")}
    assert made == {page.stem for page in CHAPTERS}


@pytest.mark.parametrize("name", [page.stem for page in CHAPTERS])
def test_a_sheet_is_one_page(name, open_page):
    page = open_page((SITE / "sheets" / f"{name}.html").as_uri())
    for paper in ("A4", "Letter"):
        printed = page.pdf(format=paper)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, paper
    assert not [*text_and_pictures(page), *axe(page, every_rule=True)]


def test_a_sheet_asks_and_does_not_answer(open_page):
    page = open_page((SITE / "sheets" / "masks.html").as_uri())
    asked = page.locator("section ol > li")
    chapter = open_page((SITE / "chapters" / "masks.html").as_uri())
    assert asked.count() == chapter.locator(".predict").count()
    assert page.locator("details").count() == 0
