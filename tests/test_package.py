"""The shape of the package: what may import what, and how large a thing may be."""

import ast
import importlib
import sys
from pathlib import Path

import pytest
from bookproof.fresh.keys import imports
from bookproof.layers import as_text

from tests.book.pages import DOCS, ROOT

PACKAGE = ROOT / "selfattn_book"
MODULES = sorted(PACKAGE.rglob("*.py"))
every_module = pytest.mark.parametrize(
    "module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE))
)

LIBRARIES = {"torch", "numpy", "matplotlib", "tqdm"}


def imported(module: Path) -> frozenset[str]:
    """Return the dotted names that a module imports, wherever in it."""
    return imports(module.read_text("utf-8"), package="selfattn_book")


def functions(module: Path) -> list[ast.FunctionDef]:
    tree = ast.walk(ast.parse(module.read_text("utf-8")))
    return [node for node in tree if isinstance(node, ast.FunctionDef)]


@every_module
def test_nothing_but_the_named_libraries_is_imported(module):
    foreign = {name.split(".")[0] for name in imported(module)} - set(
        sys.stdlib_module_names
    )
    allowed = (
        LIBRARIES
        | {"selfattn_book"}
        | ({"IPython"} if module.stem == "style" else set())
    )
    assert foreign <= allowed


@pytest.mark.parametrize("package", sorted(PACKAGE.rglob("__init__.py")), ids=str)
def test_a_package_itself_imports_nothing(package):
    """A chapter then depends on the modules that it names, and on no others."""
    assert imported(package) == set()


@every_module
def test_every_module_has_a_page_in_the_reference(module):
    name = module.relative_to(PACKAGE).with_suffix("")
    page = DOCS / "appendix" / "reference" / f"{name}.md"
    assert page.exists() or name.name in ("__init__", "__main__")


def test_every_page_of_the_reference_is_of_a_module():
    folder = DOCS / "appendix" / "reference"
    pages = [
        page.relative_to(folder).with_suffix(".py") for page in folder.rglob("*.md")
    ]
    assert [page for page in pages if not (PACKAGE / page).exists()] == []


def test_the_readme_shows_the_floors_of_the_contract():
    picture = f"```text\n{as_text(ROOT / 'pyproject.toml')}```\n"
    assert picture in (ROOT / "README.md").read_text("utf-8")


@every_module
def test_functions_fit_a_glance(module):
    long = {f.name: body_lines(f) for f in functions(module) if body_lines(f) > 25}
    assert long == {}


def body_lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@every_module
def test_at_most_five_arguments_are_positional(module):
    crowded = [f.name for f in functions(module) if len(positional(f)) > 5]
    assert set(crowded) - taken_over(module) == set()


def taken_over(module: Path) -> set[str]:
    """The methods whose arguments a class of a library has laid down."""
    name = ".".join(module.relative_to(PACKAGE.parent).with_suffix("").parts)
    classes = vars(importlib.import_module(name)).values()
    own = [c for c in classes if isinstance(c, type) and c.__module__ == name]
    return {
        m
        for c in own
        for m in vars(c)
        for base in c.__mro__[1:]
        if hasattr(base, m)
    }


def positional(function: ast.FunctionDef) -> list[str]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return [a.arg for a in arguments if a.arg not in ("self", "cls")]


@every_module
def test_code_that_a_page_may_show_is_not_cut(module):
    lines = module.read_text("utf-8").splitlines()
    code = [
        line for line in lines if line.strip() and not line.strip()[0].isupper()
    ]
    assert [line for line in code if len(line) > 105] == []
