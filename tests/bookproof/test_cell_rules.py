"""What a page's key cannot see is refused in its cells, by their source alone."""

import pytest
from bookproof.fresh.cell_rules import Rules

LIBRARIES = ["torch", "numpy", "myst-nb", "tiny"]
FINE = [
    "import math, os.path\nfrom pathlib import Path",
    "import torch.nn.functional as F\nfrom myst_nb import glue",
    "from tiny.numbers import answer",
    "model.eval()\ntorch.compile(model)\nre.compile('x')",
    "text = 'os.environ and open(file)'",
    "open('data.txt').read()",
    "Path('data.txt').read_text('utf-8')",
    "np.load('data.txt')\nnp.loadtxt(fname='data.txt')",
    "pathlib.Path('data.txt').open()",
    "with TemporaryDirectory() as folder:\n"
    "    page = Path(folder, 'page.md')\n    page.write_text('x')\n    page.read_text()",
    "folder = Path(tempfile.mkdtemp())\ntorch.save(model, folder / 'x.pt')",
    "torch.save(model, BytesIO())",
    "buffer = io.BytesIO()\ntorch.save(model, buffer)\ntorch.load(buffer)",
    "import os\nos.getpid()",
    "import inspect\ninspect.signature(f)",
    "self.help(doc)",
]
REFUSED = [
    ("import importlib", 1, "importlib is refused: import with an import statement"),
    ("from importlib import import_module", 1, "importlib.import_module is refused"),
    ("import importlib.util as u", 1, "importlib.util is refused"),
    ("x = 1\n__import__('torch')", 2, "__import__ is refused"),
    ("exec('import torch')", 1, "exec is refused"),
    ("eval('1')", 1, "eval is refused"),
    ("import runpy", 1, "runpy is refused"),
    ("from builtins import open as o", 1, "builtins.open is refused"),
    ("import sys\nsys.path.append('x')", 2, "sys.path is refused"),
    ("from sys import modules", 1, "sys.modules is refused"),
    ("get_ipython().run_line_magic('run', 'x')", 1, "get_ipython is refused"),
    ("import subprocess", 1, "subprocess is refused: what another program"),
    ("from urllib import request", 1, "urllib.request is refused"),
    ("import os\nos.system('ls')", 2, "os.system is refused"),
    ("import os\nos.environ['HOME']", 2, "os.environ is refused: an environment"),
    ("import os as o\no.getenv('HOME')", 2, "o.getenv is refused"),
    ("from os import environ as e", 1, "os.environ is refused"),
    ("print(f.__doc__)", 1, "f.__doc__ is refused: what docstrings and lines"),
    ("help(f)", 1, "help is refused: what docstrings and lines"),
    ("import inspect as i\ni.getsource(f)", 2, "i.getsource is refused"),
    ("from inspect import getdoc", 1, "inspect.getdoc is refused"),
    ("import traceback", 1, "traceback is refused"),
    ("import pandas", 1, "pandas is neither Python's own nor in bookproof_libraries"),
    ("import helper.thing", 1, "helper is neither"),
    ("from . import helper", 1, "..helper is neither"),
    ("%%capture\nassert False", 1, "a cell must be plain Python; got invalid syntax"),
    ("x = 1\n!ls", 2, "a cell must be plain Python"),
    ("%run x.py", 1, "a cell must be plain Python"),
    ("open('other.txt')", 1, "open(...) must name a file of data_files"),
    ("name = 'data.txt'\nopen(name)", 2, "open(...) must name"),
    ("Path('data.txt').with_name('x').read_text()", 1, "read_text(...) must name"),
    ("Path('data', 'x.txt').read_text()", 1, "read_text(...) must name"),
    ("list(Path().glob('*'))", 1, "glob(...) must name"),
    ("np.load('x.npy')", 1, "load(...) must name"),
    ("torch.load(path)", 1, "load(...) must name"),
    ("torch.save(model, 'x.pt')", 1, "save(...) must name"),
    ("with TemporaryDirectory() as folder:\n    open('x')", 2, "open(...) must name"),
    ("verify('there.md')", 1, "'there.md' is a file that data_files must name"),
    ("if x:\n    y(z, ['there.md'])", 2, "'there.md' is a file"),
]


@pytest.fixture
def rules(tmp_path):
    """The rules of a page beside which two files lie, one of them declared."""
    for name in ("data.txt", "there.md"):
        (tmp_path / name).touch()
    return Rules(tmp_path, LIBRARIES, ["data.txt"])


@pytest.mark.parametrize("code", FINE)
def test_what_the_key_sees_is_allowed(rules, code):
    assert list(rules.faults(code)) == []


@pytest.mark.parametrize(("code", "line", "why"), REFUSED)
def test_what_the_key_does_not_see_is_refused_with_its_line(rules, code, line, why):
    found = list(rules.faults(code))
    assert found
    assert found[0][0] == line
    assert found[0][1].startswith(why)


def test_a_cell_that_is_loaded_from_a_file_is_refused(rules):
    [(line, why)] = rules.faults("x = 1", {"load": "x.py"})
    assert line == 1
    assert "must stand on the page" in why


def test_a_file_of_ones_own_may_be_used_in_a_later_cell(rules):
    assert not list(rules.faults("with TemporaryDirectory() as own:\n    x = own"))
    assert not list(rules.faults("open(x)"))


def test_a_name_that_no_file_can_have_is_no_file(rules):
    assert not list(rules.faults(f"print({'x' * 9999!r}, 'a\\0b')"))
