"""The book is built with the settings under which the engine is tested."""

import runpy
import sys

from bookproof.html.reference import pages
from small_books import SMALL_BOOK, STRICT
from sphinx.util.matching import patmatch

from tests.book.pages import BOOK, ROOT

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


def test_each_module_has_one_place_in_the_reference_and_so_has_a_new_one():
    [page] = (page for page in BOOK.pages if page.path.parts[-2:] == ("appendix", "reference.md"))
    lists = [block.source for block in page.blocks if block.kind == "toctree"]
    names = [path.with_suffix("").as_posix() for path in pages(ROOT / "selfattn_book", {})]
    for name in [*names, "alibi", "values", "_shapes", "draw/trees", "experiments/sums"]:
        found = [p for listed in lists for p in listed if patmatch(f"reference/{name}", p)]
        assert len(found) == 1, name
