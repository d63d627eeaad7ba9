"""Rules of the package that no linter knows: its libraries."""

import sys

from bookproof.fresh.keys import imports

from tests.book.pages import ROOT

LIBRARIES = {"torch", "numpy", "matplotlib", "safetensors", "tokenizers", "tqdm", "IPython"}


def test_only_the_declared_libraries_are_imported_and_nothing_by_a_package_itself():
    """A chapter then depends on the modules that it names, and on no others."""
    files = (ROOT / "selfattn_book").rglob("*.py")
    found = {file: imports(file.read_text("utf-8"), package="selfattn_book") for file in files}
    names = {name.split(".")[0] for imported in found.values() for name in imported}
    assert names - set(sys.stdlib_module_names) <= LIBRARIES | {"selfattn_book", "bookproof"}
    assert not any(found[file] for file in found if file.name == "__init__.py")
