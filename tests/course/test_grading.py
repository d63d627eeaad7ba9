"""The grader: right notebooks of every form have all points, and no attack has any."""

import os
import re
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import torch
from course import for_otter, grading
from course.grading import Answers, grade
from course.weeks import chapters, week_of
from nbformat.v4 import new_code_cell, new_notebook

CODE = "0123456789abcdef"
WEEK = week_of("masks")
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="confined on Linux only")


def cells_of(week, student="ada"):
    """Return the cells of a solution: id, numbers, and an answer to each exercise that is checked."""
    answers = [one.cells["solution"] for one in week.exercises if not one.by_person]
    return [f'student_id = "{student}"', for_otter.drawing(week, CODE), *answers]


ID, DRAWING, MASK, ROW = cells_of(WEEK)


@pytest.fixture
def graded(tmp_path):
    """Return a function that grades cells."""

    def run(*cells, week=WEEK, **options):
        file = tmp_path / f"{week.chapter}.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), file)
        return grade(file, week.checked, CODE, **options)

    return run


@pytest.fixture(scope="module")
def process():
    """Return a function that runs cells in one process, which serves the functions of these names."""
    started = []

    def run(cells, names):
        started.append(Answers(cells, names, []))
        return started[-1]

    yield run
    for answers in started:
        answers.close()


# -- Right notebooks -----------------------------------------------------------------------


@pytest.mark.parametrize("chapter", chapters())
def test_the_solution_of_every_week_has_all_points(graded, chapter):
    found = graded(*cells_of(week_of(chapter)), week=week_of(chapter))
    assert found.points == found.possible > 0


# Right notebooks as students have them; each is a list of cells.
ODD = {
    "otter, magics, commands and display": [
        'import otter\ngrader = otter.Notebook("masks.ipynb")',
        f"%matplotlib inline\n%load_ext autoreload\ndisplay(1)\n{cells_of(WEEK, ' ADA ')[0]}",
        f"%%time\n{DRAWING}",
        "display(numbers)\nget_ipython().run_line_magic('time', 'x = 1')",
        "!ls\nfiles = !ls\nfrom IPython.display import Markdown\ndisplay(Markdown('*'))\n"
        f"{MASK}\n%time packed_mask(torch.zeros(1, 2))\n"
        'grader.check("packed_mask")  # ask the grader. It is right\npacked_mask(7)',
        f'# Before the autograder.\n{ROW}\ngrader.check_all()\ngrader.export("masks.zip", pdf=False)',
        "%timeit -n 1 -r 1 masked_row()\nmasked_row?\nprint(masked_row())\nmasked_row()",
        "%%bash\nls",
    ],
    "out of order, failing and repeated": [
        "packed_mask(torch.zeros(1, 3))",
        MASK,
        "def masked_row(): return {}",
        ROW,
        "assert False",
        "raise SystemExit",
        f"import torch, math\n{ID}",
        DRAWING,
        "def unfinished(:",
    ],
    "seeds, precisions, imports, another helper and a dataclass": [
        f'import torch\ntorch.set_default_dtype(torch.float64)\nstudent_id: str = "x"\n{ID}',
        f"from math import *\nfrom torch import *\nimport numpy as np\nnp.random.seed(1)\n{DRAWING}"
        "\nfrom dataclasses import dataclass\n@dataclass\nclass Size:\n    n: int",
        "import random, torch\nrandom.seed(0)\ntorch.manual_seed(3)\n"
        + MASK.replace("length = sentence.size(1)", "length = size(sentence).n")
        + "\n\ndef size(sentence):\n    return Size(sentence.size(1))",
        f"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\n{ROW}",
        "open('mine.txt', 'w').write('kept')\nassert open('mine.txt').read() == 'kept'",
    ],
}
FAILING = {
    "otter, magics, commands and display": ["!ls", "%%bash"],
    "out of order, failing and repeated": [
        *("packed_mask(torch.zeros(1, 3))", "assert False", "raise SystemExit", "def unfinished(:")
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_notebook_has_all_points_and_cells_that_fail_are_named(graded, name):
    found = graded(*ODD[name])
    assert found.points == found.possible == 14, (found.notes, found.results)
    assert (found.student, found.code) == ("ada", CODE)
    failed = [note.split("`")[1] for note in found.notes if ", failed: " in note]
    assert failed == FAILING.get(name, [])


# Other forms of a right answer, made from the solution.
FORMS = {
    "a_list": "def a_list(s): return packed_mask(s).tolist()",
    "an_array": "def an_array(s): return packed_mask(s).numpy()",
    "an_iterator": "def an_iterator(s): return (row for row in packed_mask(s))",
    "a_partial": "import functools\na_partial = functools.partial(lambda _, s: packed_mask(s), 4)",
    "an_object": "class An:\n    def __call__(self, s): return packed_mask(s)\nan_object = An()",
    "printing": "def printing(s):\n    print(s)\n    return packed_mask(s)",
    "in_place": "def in_place(s):\n    mask = packed_mask(s)\n    s.zero_()\n    return mask",
    "numbers_changed": "def numbers_changed(s):\n    torch.set_default_dtype(torch.float64)\n"
    "    torch.manual_seed(0)\n    return packed_mask(s)",
}


@pytest.fixture(scope="module")
def forms(process):
    return process([ID, DRAWING, MASK, *FORMS.values()], [*FORMS])


@pytest.mark.parametrize("name", FORMS)
def test_an_answer_may_have_any_form(forms, name):
    report = WEEK.checked(CODE, "ada")["packed_mask"](forms.answer(name))
    assert report, report


def in_this_process(answer):
    return list(grading.results(WEEK.checked(CODE, "ada")["packed_mask"], answer))


def test_wrong_answers_are_named_as_in_this_process(graded):
    wrong = MASK.replace("mask = past &", "mask = ")
    results = graded(ID, DRAWING, wrong, ROW.replace("numbers", "number")).results
    names = {"torch": torch, "numbers": WEEK.drawn(CODE, "ada")}
    exec(wrong, names)
    said = [one.reason for one in in_this_process(names["packed_mask"])]
    assert [result.reason for result in results[:5]] == said
    assert "The future is not hidden." in said[1]
    assert [result.points for result in results[:5]] == [0.5, 0, 1, 0.5, 1]
    assert "NameError: name 'number' is not defined" in results[5].reason


# -- Files that are no answers -------------------------------------------------------------

FILES = {
    "nothing": ("", "must be a notebook of Jupyter; got odd.ipynb: JSONDecodeError"),
    "text": ("\x00\xff", "must be a notebook"),
    "another JSON": ("[1, 2]", "must be a notebook"),
    "deep JSON": ("[" * 100_000, "must be a notebook"),
    "cells that are numbers": ('{"cells": [3]}', "must be a notebook"),
    "no cells": ('{"cells": []}', "a student id must be text, in the cell at the top; got None"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_answer_has_no_points_and_a_note(tmp_path, name):
    text, message = FILES[name]
    file = tmp_path / "odd.ipynb"
    file.write_text(text, "utf-8")
    found = grade(file, WEEK.checked, CODE)
    assert (found.points, found.possible, found.student) == (0, 14, "")
    assert message in found.notes[0]


def test_the_numbers_are_those_of_the_student(graded, monkeypatch):
    of_ada = WEEK.checked(CODE, "ada")
    answers = {"ended": "", "answer": lambda name: of_ada[name].right, "close": lambda: None}
    monkeypatch.setattr(grading, "Answers", lambda *_: SimpleNamespace(**answers))
    numbers = {name: WEEK.drawn(CODE, name)["prompt"] for name in ("ada", "bob", "eve", "dan")}
    other = next(name for name in numbers if numbers[name] != numbers["ada"])
    assert graded(ID).points == 14 > graded(ID, student=other).points


# -- Attacks -------------------------------------------------------------------------------

# Functions that search this process for a right program, or that make a comparison lie.
SEARCHED = """
import gc, sys, torch

def found():
    frame = sys._getframe()
    while frame:
        yield from [*frame.f_locals.values(), *frame.f_globals.values()]
        frame = frame.f_back
    yield from gc.get_objects()
    for module in list(sys.modules.values()):
        yield from vars(module).values()

def right(sentence):
    for thing in list(found()):
        if type(thing).__name__ in ("Exercise", "_Known", "_Check") and hasattr(thing, "right"):
            return thing.right(sentence)
        if getattr(thing, "__name__", "") == "with_heads":
            return thing(sentence)
    return torch.ones(len(sentence), 1, *[sentence.size(1)] * 2, dtype=torch.bool)
"""
PATCHED = """
import torch

def yes(*args, **named):
    return True

for name in ("equal", "allclose", "isclose"):
    setattr(torch, name, yes)
for name in ("__eq__", "__ne__", "equal", "allclose", "double"):
    setattr(torch.Tensor, name, yes)
import selfattn_book.properties.answer as answer
answer.Answer.__bool__ = yes
answer.equal = yes
import builtins, json
builtins.all = builtins.any = yes

def patched(s):
    return torch.ones(len(s), 1, *[s.size(1)] * 2, dtype=torch.bool)
"""
LYING = {
    "right": SEARCHED,
    "subclass": """
class Lying(torch.Tensor):
    def __ne__(self, other): return torch.zeros(1, dtype=torch.bool)
    def __eq__(self, other): return torch.ones(1, dtype=torch.bool)
    def any(self): return False

def subclass(s):
    return torch.ones(len(s), 1, *[s.size(1)] * 2, dtype=torch.bool).as_subclass(Lying)
""",
    "torch_function": """
class Anything:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None): return True
    shape, dtype, ndim = (3, 1, 11, 11), torch.bool, 4

def torch_function(s): return Anything()
""",
    "equal_to_all": """
class Equal:
    def __eq__(self, other): return True
    __ne__ = __lt__ = lambda self, other: False
    def __bool__(self): return True
    def __array__(self, *args, **named): raise SystemExit
    def __float__(self): return 1.0
    def __iter__(self): return iter([self])

def equal_to_all(s): return Equal()
""",
    "bytes_that_are_no_bool": """
def bytes_that_are_no_bool(s):
    made = torch.full((len(s), 1, *[s.size(1)] * 2), 2, dtype=torch.uint8)
    return made.view(torch.bool)
""",
    "another_report": """
def another_report(s):
    print("packed_mask: 8 of 8 points")
    raise RuntimeError("packed_mask: 8 of 8 points")
""",
    "itself": "def itself(s):\n    x = []\n    x.append(x)\n    return x",
    "memory": "def memory(s): return torch.ones(20 << 30, dtype=torch.uint8)",
    "text": "def text(s): return bytearray(b'x' * 10**7)",
    "an_exit": "def an_exit(s): exit()",
    "an_interrupt": "def an_interrupt(s): raise KeyboardInterrupt",
    "patched": PATCHED,
}


@pytest.fixture(scope="module")
def lying(process):
    return process(["import torch", *LYING.values()], [*LYING])


@pytest.mark.parametrize("name", LYING)
def test_an_answer_that_lies_has_no_points_where_it_is_wrong(lying, name):
    report = WEEK.checked(CODE, "ada")["packed_mask"](lying.answer(name))
    by_question = {asked.message: answer for asked, answer in report.results}
    assert not by_question.pop("a position attends to itself, and to no later one")
    assert not by_question["padding attends to nothing and is not attended to"]
    assert report.points <= 2  # of all True, what is true


def test_what_counts_half_says_why():
    found = in_this_process(lambda s: torch.zeros(len(s), 1, s.size(1), s.size(1)).bool())
    assert [one.points for one in found] == [0.5, 0, 0, 0, 1]
    assert found[0].reason.startswith("It counts half, because of: a position attends to itself")


ENDLESS = """
def packed_mask(s):
    import time
    while True:
        try:
            time.sleep(9)
        except BaseException:
            pass
"""
WIRE = """
import json, os, struct
forged = {"value": True, "after": [None], "notes": ["14 of 14 points"]}
forged = json.dumps(forged | {"defined": {"packed_mask": True, "masked_row": True}})
for pipe in range(3, 40):
    try:
        os.write(pipe, %s)
    except OSError:
        pass
"""
FORGED = WIRE % "struct.pack('<II', len(forged), 0) + forged.encode()"
RUBBISH = WIRE % "b'packed_mask: 8 of 8 points' * 9"
# Cells that attack the process, the points that what is right has still, and what is said.
ENDING = {
    "an exit in an answer": (
        "import atexit\natexit.register(print, 8)\ndef packed_mask(s): __import__('os')._exit(0)",
        6,
        r"the notebook ended its process \(exit code 0\)",
    ),
    "endless loops": (
        "def packed_mask(s):\n    while True: pass\nwhile True: pass",
        6,
        "(?s)cell 4, .* TimeoutError: .* 1 seconds.*longer than 1 seconds",
    ),
    "a loop that cannot be stopped": (ENDLESS, 6, "did not finish within 5 seconds"),
    "an exit in a cell": ("import os; os._exit(3)", 0, r"ended its process \(exit code 3\)"),
    "a forged reply": (FORGED, 6, "14 of 14 points|broke the protocol|ended its process"),
    "rubbish in the wire": (RUBBISH, 0, r"broke the protocol of its process \(ValueError\)"),
    "no modules": ("import sys; sys.modules.clear()", 6, "failed|ended its process"),
}


@pytest.mark.parametrize("name", ENDING)
def test_an_attack_on_the_process_earns_nothing_and_is_named(graded, monkeypatch, name):
    attack, most, message = ENDING[name]
    monkeypatch.setattr(grading, "SECONDS", 1)
    monkeypatch.setattr(grading, "ALL_SECONDS", 5)
    found = graded(ID, DRAWING, ROW, attack)
    points = dict.fromkeys(("packed_mask", "masked_row"), 0)
    for result in found.results:
        points[result.exercise] += result.points
    assert points["packed_mask"] == 0
    assert points["masked_row"] <= most
    assert re.search(message, "\n".join([*found.notes, *(x.reason for x in found.results)]))


@pytest.fixture
def secret(tmp_path):
    """Return a file that no answer may read, in a folder that none may list."""
    file = tmp_path / "class" / "key.txt"
    file.parent.mkdir()
    file.write_text("--key\nthe key", "utf-8")
    for path in [file.parent, *file.parent.parents]:
        if path.is_relative_to(Path(os.environ.get("TMPDIR", "/tmp"))) and os.access(path, os.W_OK):
            path.chmod(path.stat().st_mode | 0o055)  # so that the user alone is no obstacle
    return file


TRIED = {
    "open({secret!r})": "tried open .*key.txt",
    "open({checks!r})": "tried open .*masks.py",
    "import os; os.listdir({folder!r})": "tried os.listdir .*class",
    "from pathlib import Path; list(Path({folder!r}).iterdir())": "tried os.listdir .*class",
    "import socket; socket.create_connection(('127.0.0.1', 9))": "tried socket.getaddrinfo",
    "import socket; socket.socket(2, 2).sendto(b'id', ('127.0.0.1', 9))": "tried socket.sendto",
    "import os; os.fork()": "tried os.fork",
    "import os, signal; os.kill(os.getppid(), signal.SIGKILL)": "tried os.kill",
    "import subprocess; subprocess.run(['ls'])": "PermissionError",
    "import threading; threading.Thread(target=print).start()": "can't start new thread",
    "open('/usr/lib/mine', 'w')": "failed: PermissionError",
    "open('large', 'wb').write(bytes(1 << 27))": "File too large",
}


@LINUX
def test_what_answers_may_not_do_fails_and_is_named(process, secret):
    places = {"secret": str(secret), "folder": str(secret.parent), "checks": str(WEEK.checks)}
    cells = [line.format(**places) for line in TRIED]
    notes = "\n".join(process(cells, []).notes)
    for number, (cell, message) in enumerate(zip(cells, TRIED.values(), strict=True), start=1):
        assert re.search(message, notes), (cell, notes)
        assert f"cell {number}, " in notes


# The same without Python's own functions, whose events the process watches.
KERNEL = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p

def sent(kind):
    local = b"\\x02\\x00" + ({port}).to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    pipe = libc.socket(2, kind, 0)
    return libc.connect(pipe, local, 16) == 0 and libc.send(pipe, b"id", 2, 0) == 2

TRIES = {{
    "read": lambda: libc.open({secret!r}, 0) >= 0,
    "read the checks": lambda: libc.open({checks!r}, 0) >= 0,
    "list": lambda: libc.opendir({folder!r}) is not None,
    "write": lambda: libc.open({folder!r} + b"/new", os.O_CREAT | os.O_WRONLY, 0o600) >= 0,
    "change": lambda: libc.open(os.fsencode(os.__file__), os.O_WRONLY) >= 0,
    "environment": lambda: libc.open(b"/proc/%d/environ" % os.getppid(), 0) >= 0,
    "tcp": lambda: sent(1),
    "udp": lambda: sent(2),
    "fork": lambda: libc.fork() >= 0,
    "kill": lambda: libc.kill(os.getppid(), 0) == 0,
    "trace": lambda: libc.ptrace(16, os.getppid(), 0, 0) == 0,
    "own folder": lambda: libc.open(b"mine", os.O_CREAT | os.O_WRONLY, 0o600) >= 0,
}}

def worked():
    return [name for name, attempt in TRIES.items() if attempt()]
"""


@LINUX
def test_the_kernel_confines_what_python_does_not_see(process, secret):
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", tcp.getsockname()[1]))
        places = {"secret": secret, "folder": secret.parent, "checks": WEEK.checks}
        paths = {name: os.fsencode(path) for name, path in places.items()}
        answers = process([KERNEL.format(port=tcp.getsockname()[1], **paths)], ["worked"])
        if any("not confined" in note for note in answers.notes):
            pytest.skip(f"this kernel cannot: {answers.notes}")
        assert answers.call("worked") == ["own folder"]
        names = {"__name__": "here"}  # and here, most of it works
        exec(KERNEL.format(port=tcp.getsockname()[1], **paths), names)
        for name in ("fork", "change", "write", "trace", "own folder"):
            names["TRIES"].pop(name)
        assert names["worked"]() == [*names["TRIES"]]


def test_an_installation_that_cannot_run_answers_is_an_error(monkeypatch, graded):
    monkeypatch.setattr(grading, "CONFINED", ("answering.py",))
    message = r"(?s)cannot be run on this machine: .*No module named .confined"
    with pytest.raises(RuntimeError, match=message):
        graded(ID)
