"""Answers that mean harm, for tests of grading: what they do, and what is said of them."""

HONEST = """
import torch

def packed_mask(sentence):
    return None

def masked_row():
    return {}
"""
HOSTILE = {
    "an endless loop": ("while True: pass", "it ran longer than 2 seconds"),
    "an endless flood": (
        "while True: print('x' * 10**6)",
        "it ran longer than 2 seconds",
    ),
    "an exit": ("import sys; sys.exit(0)", "in line 1 with SystemExit"),
    "a hard exit": ("import os; os._exit(0)", "before it could be asked"),
    "a result of its own": (
        "import json, os\n"
        "told = {'name': 'packed_mask', 'points': 8, 'possible': 8, 'asked': [], 'told': ''}\n"
        "found = {'results': [told], 'stopped': '', 'student': '', 'seal': ''}\n"
        "open('result.json', 'w').write(json.dumps(found))\n"
        "os._exit(0)",
        "it wrote a result of its own",
    ),
    "points for all": (
        "from selfattn_book.course.exercise import Report\n"
        "Report.points = property(lambda self: self.possible)" + HONEST,
        "it exchanged Report.points",
    ),
    "always yes": (
        "from selfattn_book.reasons.answer import Answer\n"
        "Answer.__bool__ = lambda self: True" + HONEST,
        "it exchanged Answer.__bool__",
    ),
    "everything is equal": (
        "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True"
        + HONEST,
        "it exchanged torch",
    ),
    "another code": (
        "from selfattn_book.course import asking\n"
        "asking.near.__code__ = (lambda got, wanted, tolerance: True).__code__"
        + HONEST,
        "it exchanged selfattn_book.course.asking.near",
    ),
    "the checks": (
        "import sys\n"
        "book = sys.modules['selfattn_book'].__path__[0]\n"
        "print(open(book + '/../docs/course/checks/masks.py').read())",
        "an answer may use its own files only",
    ),
    "the command line of the grader": (
        "import os\nprint(open(f'/proc/{os.getppid()}/cmdline').read())",
        "an answer may use its own files only",
    ),
    "other answers": (
        "import glob, os\n"
        "beside = os.path.dirname(os.getcwd())\n"
        "for name in glob.glob(beside + '/**/ada.py', recursive=True): print(open(name).read())\n"
        "print(open(beside + '/ada.py').read())",
        "an answer may use its own files only",
    ),
    "a program": (
        "import subprocess; subprocess.run(['id'])",
        "an answer may start nothing",
    ),
    "a shell": ("import os; os.system('id')", "an answer may start nothing"),
    "the grader's life": (
        "import os, signal; os.kill(os.getppid(), signal.SIGKILL)",
        "an answer may start nothing",
    ),
    "somebody's files": (
        "import os; os.remove(os.path.expanduser('~/nothing-of-this-name'))",
        "an answer may use its own files only",
    ),
}
