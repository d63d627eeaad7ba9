"""Committed files that are made elsewhere are of the version that the book is built with."""

import re

from sphinxcontrib import katex

from tests.book.pages import ROOT

STATIC = ROOT / "_config" / "static"


def test_the_style_sheet_of_the_mathematics_has_the_version_that_renders_it():
    """Another version sets subscripts wrongly, without an error."""
    style = (STATIC / "katex" / "katex.min.css").read_text("utf-8")
    assert f'content:"{katex.katex_version}"' in style


def test_no_served_file_loads_another_origin():
    served = [*STATIC.rglob("*"), *(ROOT / "_config" / "bookproof" / "assets").iterdir()]
    files = [file for file in served if file.suffix in {".css", ".js", ".svg"}]
    foreign = re.compile(r"(?:url\(|src=|href=|import )[\"']?(?:https?:)?//")
    assert [file.name for file in files if foreign.search(file.read_text("utf-8"))] == []
