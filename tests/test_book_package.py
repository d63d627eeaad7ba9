"""The shape of the package: what may import what, and how large a thing may be."""

import ast
import sys
from pathlib import Path

import pytest
from book import ROOT
from chapter_keys import imports

PACKAGE = ROOT / "selfattn_book"
MODULES = sorted(PACKAGE.glob("*.py"))
every_module = pytest.mark.parametrize(
    "module", MODULES, ids=lambda module: module.stem
)

# What a module may import of the package. What is not listed may import nothing of it.
ALLOWED = {
    "_attention_misconceptions": {"_answers", "_calls"},
    "_calls": {"_answers"},
    "_model_misconceptions": {"_answers", "_calls"},
    "__main__": {"verify_command"},
    "ablation": {"attention", "transformer"},
    "attention": {"checks"},
    "chance": {"checks"},
    "conversion": {"attention"},
    "curves": {"figure"},
    "encoder_decoder": {"attention", "checks", "masks", "positional"},
    "floors": {"balance"},
    "grids": {"figure", "plotting"},
    "ladders": {"figure"},
    "layers": {"attention", "conversion", "transformer"},
    "lookup": {"attention", "checks"},
    "masks": {"checks"},
    "plotting": {"figure"},
    "positional": {"checks"},
    "properties": {
        "_answers",
        "_attention_misconceptions",
        "_calls",
        "_model_misconceptions",
    },
    "recurrent": {"attention", "checks"},
    "seeds": {"checks", "training"},
    "sharpness": {"checks"},
    "symmetry": {"checks"},
    "squares": {"checks", "masks"},
    "train_squares": {
        "checkpoint",
        "curves",
        "encoder_decoder",
        "figure",
        "squares",
        "training",
    },
    "training": {"checkpoint", "checks"},
    "transformer": {"attention", "checks"},
    "pages": {"chance", "verify"},
    "shifts": {"cells"},
    "verify": {"cells", "disturbed", "watching"},
    "verify_command": {"cells", "pages", "shifts", "verify"},
    "watching": {"margins"},
    "words": {"attention", "checks"},
}
LIBRARIES = {"torch", "numpy", "matplotlib", "tqdm"}


def imported(module: Path) -> frozenset[str]:
    """Return the dotted names that a module imports, wherever in it."""
    return imports(module.read_text("utf-8"), package="selfattn_book")


def functions(module: Path) -> list[ast.FunctionDef]:
    tree = ast.walk(ast.parse(module.read_text("utf-8")))
    return [node for node in tree if isinstance(node, ast.FunctionDef)]


@every_module
def test_imports_go_one_way(module):
    assert own(imported(module)) <= ALLOWED.get(module.stem, set())


def own(names: frozenset[str]) -> set[str]:
    """Return the modules of the package among dotted names, and what is no module."""
    inside = [
        name.split(".") for name in names if name.startswith("selfattn_book.")
    ]
    return {part for _, part, *_ in inside}


@pytest.mark.parametrize(
    "line",
    [
        "import selfattn_book.masks",
        "from selfattn_book.masks import causal_mask",
        "from selfattn_book import masks",
        "from .masks import causal_mask",
        "from . import masks",
        "def late():\n    from selfattn_book import masks",
    ],
)
def test_no_way_to_import_is_missed(line):
    assert own(imports(line, package="selfattn_book")) == {"masks"}


@every_module
def test_nothing_but_the_named_libraries_is_imported(module):
    foreign = {name.split(".")[0] for name in imported(module)} - set(
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
    uses = any(name.startswith("matplotlib") for name in imported(module))
    assert not uses or module.stem in {
        "curves",
        "figure",
        "grids",
        "ladders",
        "pages",
        "plotting",
        "verify",
    }


def test_the_package_itself_imports_nothing():
    """A chapter then depends on the modules that it names, and on no others."""
    assert imported(PACKAGE / "__init__.py") == set()


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
    assert crowded == []


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
