"""The book is built with the settings under which the engine is tested."""

import runpy
import sys

from small_books import SMALL_BOOK, STRICT

from tests.book.pages import ROOT

SHARED = (
    "nb_execution_mode",
    "nb_execution_raise_on_error",
    "html_math_renderer",
    "katex_prerender",
)


def test_the_book_is_built_as_strictly_as_the_small_one_that_tests_the_engine(monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    folders = ROOT / "_config", SMALL_BOOK / "config"
    book, small = (runpy.run_path(str(folder / "conf.py")) for folder in folders)
    assert "bookproof" in book["extensions"]
    assert {name: book[name] for name in SHARED} == {name: small[name] for name in SHARED}
    sessions = (ROOT / "noxfile.py").read_text("utf-8")
    assert [option for option in STRICT if f'"{option}"' not in sessions] == []
