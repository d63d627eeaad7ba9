"""What a chapter reaches is found by reading its code."""

import importlib.util

import nbformat
import pytest
from book import ROOT

FILE = ROOT / "_config" / "extensions" / "chapter_keys.py"


@pytest.fixture(scope="module")
def keys():
    """The module under test, which is in no package."""
    spec = importlib.util.spec_from_file_location("chapter_keys", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    """A package whose modules import each other in every way there is."""
    root = tmp_path / "book"
    (root / "inner").mkdir(parents=True)
    for name, text in {
        "__init__": "import os",
        "a": "from . import b",
        "b": "from .inner.c import thing",
        "inner/__init__": "from ..d import other",
        "inner/c": "import json",
        "d": "def late():\n    import book.e",
        "e": "",
        "f": "from book.a import thing",
        "broken": "from . import (",
    }.items():
        (root / f"{name}.py").write_text(text)
    return root


@pytest.mark.parametrize(
    ("cell", "reached"),
    [
        ("import json", ""),
        ("import book", "__init__"),
        ("import book.e as letter", "__init__ e"),
        ("from book import e", "__init__ e"),
        ("from book.e import *", "__init__ e"),
        ("if True:\n    from book import e", "__init__ e"),
        ("%matplotlib inline\nimport book.e", "__init__ e"),
        ("%%time\nimport book.e", "__init__ e"),
        (
            "if True:\n    ls = !ls\nimport book.e;",
            "__init__ a b broken d e f inner/__init__ inner/c",
        ),
        ("!ls\nimport book.e;", "__init__ e"),
        ("%time from book import e", "__init__ e"),
        ("if True:\n    %time import book.e", "__init__ e"),
        (
            "from importlib import import_module\nimport_module('book.e')",
            "__init__ e",
        ),
        ("import book.d", "__init__ d e"),
        ("import book.inner.c", "__init__ d e inner/__init__ inner/c"),
        ("import book.a", "__init__ a b d e inner/__init__ inner/c"),
        ("import book.f", "__init__ a b d e f inner/__init__ inner/c"),
        ("import book.broken", "__init__ broken"),
        ("import bookshop, booking.e", ""),
        ("book.e?", "__init__ a b broken d e f inner/__init__ inner/c"),
    ],
)
def test_a_cell_reaches_what_its_imports_run(keys, package, cell, reached):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_markdown_cell("import book.a"),
        nbformat.v4.new_code_cell(cell),
    ]
    names = keys.names_in_cells(package, notebook)
    files = keys.modules_reached(package, names)
    found = [file.relative_to(package).with_suffix("").as_posix() for file in files]
    assert found == reached.split()


def test_the_key_stands_in_the_front_matter_and_moves_no_line(keys):
    matter = "file_format: mystnb\n\nkernelspec:\n  name: python3\n"
    text = f"---\n{matter}---\n\n# Title\n"
    changed = keys.with_key(text, "0123")
    assert "key: '0123'" in changed
    assert changed.splitlines()[5:] == text.splitlines()[5:]


def test_a_digest_tells_contents_names_and_facts_apart(keys, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for file in (one, two):
        file.write_text("same")
    digests = {
        keys.digest([], [one]),
        keys.digest([], [two]),
        keys.digest(["3.11"], [one]),
        keys.digest(["3.12"], [one]),
    }
    one.write_text("other")
    assert len({keys.digest([], [one]), *digests}) == 5
