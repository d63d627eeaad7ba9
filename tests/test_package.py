"""Rules of the package that no linter knows: its libraries."""

import sys

from bookproof.fresh.keys import imports

from tests.book.pages import ROOT

PACKAGE = ROOT / "selfattn_book"
MODULES = sorted(PACKAGE.rglob("*.py"))
IMPORTED = {file: imports(file.read_text("utf-8"), package="selfattn_book") for file in MODULES}
LIBRARIES = {"torch", "numpy", "matplotlib", "safetensors", "tokenizers", "tqdm", "IPython"}


def test_only_the_declared_libraries_are_imported():
    names = {name.split(".")[0] for found in IMPORTED.values() for name in found}
    assert names - set(sys.stdlib_module_names) <= LIBRARIES | {"selfattn_book", "bookproof"}


def test_a_package_itself_imports_nothing():
    """A chapter then depends on the modules that it names, and on no others."""
    assert {file for file in MODULES if file.name == "__init__.py" and IMPORTED[file]} == set()
