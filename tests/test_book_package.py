"""The shape of the package: what may import what, and how large a thing may be."""

import ast
import sys
from pathlib import Path

import pytest
from book import ROOT

PACKAGE = ROOT / "selfattn_book"
MODULES = sorted(PACKAGE.glob("*.py"))
every_module = pytest.mark.parametrize(
    "module", MODULES, ids=lambda module: module.stem
)

# What a module may import of the package. What is not listed may import nothing of it.
ALLOWED = {
    "__main__": {"verify"},
    "attention": {"checks"},
    "conversion": {"attention"},
    "curves": {"figure"},
    "lookup": {"attention", "checks"},
    "masks": {"checks"},
    "plotting": {"figure"},
    "positional": {"checks"},
    "sharpness": {"checks"},
    "training": {"checks"},
    "verify": {"cells"},
    "words": {"attention", "checks"},
}
LIBRARIES = {"torch", "numpy", "matplotlib", "tqdm"}


def imports(module: Path) -> set[str]:
    """Return the dotted names that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def functions(module: Path) -> list[ast.FunctionDef]:
    tree = ast.walk(ast.parse(module.read_text("utf-8")))
    return [node for node in tree if isinstance(node, ast.FunctionDef)]


@every_module
def test_imports_go_one_way(module):
    own = {
        name.split(".")[1]
        for name in imports(module)
        if name.startswith("selfattn_book.")
    }
    assert own <= ALLOWED.get(module.stem, set())


@every_module
def test_nothing_but_the_named_libraries_is_imported(module):
    foreign = {name.split(".")[0] for name in imports(module)} - set(
        sys.stdlib_module_names
    )
    allowed = (
        LIBRARIES
        | {"selfattn_book"}
        | ({"IPython"} if module.stem == "figure" else set())
    )
    assert foreign <= allowed


@every_module
def test_matplotlib_stays_where_pictures_are(module):
    uses = any(name.startswith("matplotlib") for name in imports(module))
    assert not uses or module.stem in {"curves", "figure", "plotting", "verify"}


def test_the_package_itself_imports_nothing():
    """A chapter then depends on the modules that it names, and on no others."""
    assert imports(PACKAGE / "__init__.py") == set()


@every_module
def test_functions_fit_a_glance(module):
    long = {f.name: body_lines(f) for f in functions(module) if body_lines(f) > 25}
    assert long == {}


def body_lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@every_module
def test_at_most_five_arguments_are_positional(module):
    crowded = [f.name for f in functions(module) if len(f.args.args) > 6]
    assert crowded == []


@every_module
def test_code_that_a_page_may_show_is_not_cut(module):
    lines = module.read_text("utf-8").splitlines()
    code = [
        line for line in lines if line.strip() and not line.strip()[0].isupper()
    ]
    assert [line for line in code if len(line) > 105] == []
