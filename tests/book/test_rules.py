"""The book's own pages keep the rules that the engine holds them to, by their source alone."""

import ast
import hashlib

from bookproof.claims.can_fail import fault_of
from bookproof.fresh.cell_rules import Rules
from bookproof.fresh.keys import cells_digest
from myst_nb.core.read import read_myst_markdown_notebook
from small_books import SMALL_BOOK, STRICT

from selfattn_book.verify.cells import read_cells
from tests.book.pages import PAGES, ROOT, cells


def setting(name, folder=ROOT / "_config"):
    """Return a literal setting of a book, of this one unless told otherwise."""
    settings = ast.parse((folder / "conf.py").read_text("utf-8")).body
    [value] = [
        node.value
        for node in settings
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    return ast.literal_eval(value)


def test_cells_use_nothing_that_a_key_cannot_see():
    modules = [setting("bookproof_package"), *setting("bookproof_libraries")]
    for page in PAGES:
        matter = read_myst_markdown_notebook(page.read_text("utf-8")).metadata
        rules = Rules(page.parent, modules, matter.get("data_files", []))
        for cell in cells(page):
            for line, why in rules.faults(cell.code, cell.options):
                raise AssertionError(f"{page}:{cell.line + line - 1}: {why}")


def test_every_check_can_fail():
    checks = 0
    for page in PAGES:
        earlier = []
        for cell in cells(page):
            if "check" in cell.options:
                checks += 1
                why = fault_of(cell.code, cell.options, earlier)
                assert not why, f"{page}:{cell.line}: {why}"
            earlier.append(cell.code)
    assert checks > 250


def test_a_digest_is_that_of_the_code_which_the_package_reads():
    for page in PAGES:
        text = page.read_text("utf-8")
        code = "\n".join(cell.code.strip() for cell in read_cells(text))
        digest = hashlib.sha256(code.encode()).hexdigest()[:16]
        assert cells_digest(read_myst_markdown_notebook(text)) == digest


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
