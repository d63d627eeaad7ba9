"""The book is built with the settings under which the engine is tested."""

import ast

from small_books import SMALL_BOOK, STRICT

from tests.book.pages import ROOT


def setting(name, folder=ROOT / "_config"):
    """Return a literal setting of a book, of this one unless told otherwise."""
    settings = ast.parse((folder / "conf.py").read_text("utf-8")).body
    [value] = [
        node.value
        for node in settings
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return ast.literal_eval(value)


def test_the_book_is_built_as_strictly_as_the_small_one_that_tests_the_engine():
    assert "bookproof" in setting("extensions")
    for name in (
        "nb_execution_mode",
        "nb_execution_raise_on_error",
        "html_math_renderer",
        "katex_prerender",
    ):
        assert setting(name) == setting(name, SMALL_BOOK / "config")
    sessions = (ROOT / "noxfile.py").read_text("utf-8")
    assert [option for option in STRICT if f'"{option}"' not in sessions] == []
