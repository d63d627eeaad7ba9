"""What a chapter reaches is found by reading its code."""

import nbformat
import pytest
from bookproof.fresh import keys
from bookproof.fresh.parts import cell_parts, changes
from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig


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
        ("import book.d", "__init__ d e"),
        ("import book.inner.c", "__init__ d e inner/__init__ inner/c"),
        ("import book.a", "__init__ a b d e inner/__init__ inner/c"),
        ("import book.f", "__init__ a b d e f inner/__init__ inner/c"),
        ("import book.broken", "__init__ broken"),
        ("import bookshop, booking.e", ""),
        # These cells are refused, and their lines named; the key need not know them.
        ("book.e?", ""),
        ("%time import book.e", ""),
        ("from . import e", ""),
    ],
)
def test_a_cell_reaches_what_its_imports_run(package, cell, reached):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_markdown_cell("import book.a"),
        nbformat.v4.new_code_cell(cell),
    ]
    names = keys.names_in_cells(notebook)
    files = keys.modules_reached([package], names)
    found = [file.relative_to(package).with_suffix("").as_posix() for file in files]
    assert found == reached.split()


@pytest.mark.parametrize("kernel", ["", "\nkernelspec:\n  name: other\n"])
def test_the_key_stands_in_the_front_matter_and_moves_no_line(kernel):
    text = f"---\nfile_format: mystnb\n{kernel}---\n\n```{{code-cell}}\n1\n```\n"
    changed = keys.with_key(text, "0123")
    assert "key: '0123'" in changed
    lines = text.splitlines()
    assert changed.splitlines()[lines.index("---", 1) :] == lines[lines.index("---", 1) :]

    before, after = (
        read_myst_markdown_notebook(t, MdParserConfig(), add_source_map=True)
        for t in (text, changed)
    )
    assert before.metadata != after.metadata
    keys.put_key(before.metadata, "0123")
    assert before.metadata == after.metadata, "it is what myst-nb will read"


def test_a_digest_tells_contents_names_and_facts_apart(tmp_path):
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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('"""A."""\nx = 1', '"""B.\n\nC."""\nx = 1', True),
        ('"""A."""\nx = 1', "x = 1", True),
        ("x = 1", "x = (1)  # of course", True),
        ('def f():\n    """A."""\n    return 1', "def f():\n\n    'B'\n    return 1", True),
        ('class C:\n    """A."""', 'class C:\n    """B."""', True),
        ("x = 1", "x = 1.0", False),
        ("x = 'A'", "x = 'B'", False),
        ("def f():\n    return 'A'", "def f():\n    return 'B'", False),
        ('x = 1\n"""A."""', 'x = 2\n"""A."""', False),
        ("def f(x=1): ...", "def f(x=2): ...", False),
        ("from . import (", "from . import ((", False),
    ],
)
def test_only_what_a_module_does_counts(one, other, same):
    assert (keys.code_digest_of(one) == keys.code_digest_of(other)) is same


@pytest.mark.parametrize(
    "reader",
    [
        "print(f.__doc__)",
        "from inspect import getsource",
        "inspect.getsourcelines(f)",
        "import linecache",
        "place = error.__traceback__.tb_lineno",
        "f.__code__.co_firstlineno",
        "list(f.__code__.co_positions())",
        "import traceback as t\nt.print_exc()",
        "from traceback import format_tb",
        "traceback.extract_tb(error.__traceback__)",
    ],
)
def test_where_a_module_reads_docstrings_or_lines_those_of_all_count(tmp_path, reader):
    root = tmp_path / "book"
    root.mkdir()
    files = [root / name for name in ("__init__.py", "a.py", "b.py")]

    def meanings(code, docstring, *outside):
        for file, text in zip(files, ("", code, f'"""{docstring}"""'), strict=True):
            file.write_text(text, "utf-8")
        return keys.module_digests([root], files, outside)

    plain = "inspect.signature(f)  # no __doc__, no getsource"
    assert meanings(plain, "One.") == meanings(plain, "Two.")
    assert meanings(reader, "One.") != meanings(reader, "Two.")
    one, two = (meanings(reader, said, "book.a") for said in ("One.", "Two."))
    assert (one == two) is ("extract_tb" in reader or "tb_lineno" in reader)
    one, two = (meanings(reader, said, "book.b") for said in ("One.", "Two."))
    assert one != two, "another module is trusted"


@pytest.mark.parametrize(
    ("codes", "lines"),
    [
        ("abcd", []),
        ("axbcd", ["cell 2 is new"]),
        ("acd", ["cell 2 is gone"]),
        ("abxd", ["cell 3 changed"]),
        ("xyabd", ["cell 1 is new", "cell 2 is new", "cell 3 is gone"]),
    ],
)
def test_a_new_cell_changes_no_other(codes, lines):
    assert [*changes(cell_parts("abcd"), cell_parts(codes))] == lines
