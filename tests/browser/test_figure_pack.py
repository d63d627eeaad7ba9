"""Figures for slides: each stands alone, in colours that any program knows, with its caption."""

import re
from xml.etree import ElementTree

import pytest
from course.figures import pack

from tests.book.pages import SITE

SVG = "{http://www.w3.org/2000/svg}"


def test_figures_stand_alone(chromium, tmp_path):
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
    assert "* `block/13-1-two-roads`: Figure 13.1. Three blocks" in said
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
