"""What a course takes from the built site: figures, questions, and reading sheets of one page."""

import re
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from course import questions
from course.figures import pack

from tests.book.pages import BOOK, CHAPTERS, SITE
from tests.browser.looks import axe, text_and_pictures
from tests.schemas.qti import wrong

SVG = "{http://www.w3.org/2000/svg}"


def test_figures_stand_alone_in_colours_that_any_program_knows(chromium, tmp_path):
    pages = [SITE / "chapters" / f"{name}.html" for name in ("masks", "block")]
    count = pack(chromium, pages, tmp_path)
    drawn = sorted(tmp_path.rglob("*.svg"))
    figure = re.compile(r'<figure\b[^>]*\bid="fig-')
    shown = sum(len(figure.findall(page.read_text("utf-8"))) for page in pages)
    assert count == len(drawn) == shown > 8
    for file in drawn:
        root = ElementTree.parse(file).getroot()
        marks = [mark for mark in root.iter() if mark.get("fill")]
        assert len(marks) > 10
        assert all(re.fullmatch("none|#[0-9a-f]{6}", mark.get("fill")) for mark in marks)
        assert any(mark.text for mark in root.iter(f"{SVG}text"))
        assert "var(" not in file.read_text("utf-8")
        head = file.with_suffix(".png").read_bytes()[:24]
        width = int.from_bytes(head[16:20], "big")
        assert width == pytest.approx(3 * float(root.get("width")), abs=6)


def test_captions_come_along(chromium, tmp_path):
    pack(chromium, [SITE / "chapters" / "block.html"], tmp_path)
    said = (tmp_path / "README.md").read_text("utf-8")
    assert "CC BY 4.0" in said
    assert "* `block/13-1-two-roads`: Figure 13.1. Stacks of three blocks" in said
    assert "a circle of radius $\\sqrt 3$: it keeps" in said
    assert "(chapters/block.html#fig-two-roads)" in said


def test_a_figure_of_several_pictures_has_a_file_for_each(chromium, tmp_path):
    count = pack(chromium, [SITE / "chapters" / "decoder-deeper.html"], tmp_path)
    drawn = {file.name for file in tmp_path.rglob("*-three-kinds-of-weights-*")}
    assert {name.partition(".")[0][-1] for name in drawn} == {"a", "b", "c"}
    assert len(drawn) == 6
    said = (tmp_path / "README.md").read_text("utf-8")
    assert said.count("\n* `decoder-deeper/") == count
    assert "-three-kinds-of-weights-a`, `decoder-deeper/" in said


def test_every_file_of_the_questions_is_qti(monkeypatch, tmp_path):
    monkeypatch.setattr(questions, "MADE", tmp_path)
    questions.main()
    with ZipFile(tmp_path / "questions-qti21.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    del files["imsmanifest.xml"]
    with_quiz = [page for page in BOOK.pages if "## Quiz" in page.lines]
    assert len(files) == 4 * len(with_quiz)  # three questions, and a test of them
    assert {name: wrong(text) for name, text in files.items() if wrong(text)} == {}


def test_every_chapter_has_a_sheet():
    made = {sheet.stem for sheet in (SITE / "sheets").glob("*.html")}
    assert made == {page.stem for page in CHAPTERS}


@pytest.mark.parametrize("name", [page.stem for page in CHAPTERS])
def test_a_sheet_is_one_page(name, open_page, every_look):
    page = open_page((SITE / "sheets" / f"{name}.html").as_uri())
    for paper in ("A4", "Letter"):
        printed = page.pdf(format=paper)
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1, paper
    found = text_and_pictures(page)
    if every_look or name == CHAPTERS[0].stem:  # one template makes them all
        found += axe(page, every_rule=True)
    assert not found


def test_a_sheet_asks_and_does_not_answer(open_page):
    page = open_page((SITE / "sheets" / "masks.html").as_uri())
    asked = page.locator("section ol > li")
    chapter = open_page((SITE / "chapters" / "masks.html").as_uri())
    assert asked.count() == chapter.locator(".predict").count()
    assert page.locator("details").count() == 0
