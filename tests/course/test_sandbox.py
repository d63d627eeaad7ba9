"""An answer file may do what it likes: one gets a plain report, and nothing of it is left running."""

import json
import subprocess
import sys
import time

import pytest

from selfattn_book import __version__
from selfattn_book.course import student
from selfattn_book.course.command import main
from selfattn_book.course.sandbox import run

RIGHT = """
import torch

def window_mask(length, width):
    position = torch.arange(length)
    distance = position[:, None] - position
    return (distance >= 0) & (distance < width)
"""


@pytest.fixture
def answer(tmp_path):
    """Return a function that writes an answer file."""

    def write(text):
        file = tmp_path / "answer.py"
        file.write_text(text, "utf-8")
        return file

    return write


def test_a_right_answer_has_all_points(answer):
    (result,) = run("masks", answer(RIGHT)).results
    assert result["points"] == result["possible"] == 6
    assert {asked["kind"] for asked in result["asked"]} == {"yes"}


@pytest.mark.parametrize(
    ("text", "stopped"),
    [
        (
            "import os; os._exit(3)",
            "it ended the program before it could be asked (exit code 3)",
        ),
        ("import os; os.kill(os.getpid(), 11)", "it crashed Python (SIGSEGV)"),
        ("input()", "in line 1 with EOFError"),
        ("x = bytearray(2**40)", "in line 1 with MemoryError"),
    ],
)
def test_what_stops_is_told(answer, text, stopped):
    outcome = run("masks", answer(text))
    assert stopped in outcome.stopped
    assert outcome.results == []


@pytest.mark.parametrize(
    ("text", "stopped"),
    [
        ("\nimport nothing_of_this_name", "in line 2 with ModuleNotFoundError"),
        ("def window_mask(length, width)\n    pass", "in line 1 with SyntaxError"),
        ("x = 1 / 0", "in line 1 with ZeroDivisionError: division by zero"),
        ("raise KeyboardInterrupt", "in line 1 with KeyboardInterrupt: no message"),
    ],
)
def test_an_error_is_told_with_its_line(answer, text, stopped, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path.copy())
    file = answer(text)
    with pytest.raises((Exception, KeyboardInterrupt)) as caught:
        student.load(file)
    assert stopped in student.told(caught.value, file)


def test_a_flood_is_cut(answer):
    outcome = run("masks", answer("print('y' * 10**7); x = 1 / 0"))
    assert outcome.printed == "y" * 500


def test_no_child_of_an_answer_lives_on(answer, tmp_path):
    begun, alive = (repr(str(tmp_path / name)) for name in ("begun", "alive"))
    child = f"import pathlib as p, time; p.Path({begun}).touch(); time.sleep(1); p.Path({alive}).touch()"
    starts = (
        "import os, subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"while not os.path.exists({begun}): time.sleep(0.02)\n"
    )
    assert run("masks", answer(starts + RIGHT)).results
    time.sleep(2)
    assert not (tmp_path / "alive").exists()


def test_what_is_not_defined_has_no_points(answer):
    (result,) = run("masks", answer("def mask(): ...")).results
    assert (result["points"], result["possible"]) == (0, 6)
    assert "nothing of this name is defined" in result["told"]


def test_an_answer_may_import_what_lies_beside_it(answer, tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT, "utf-8")
    (result,) = run("masks", answer("from mine import window_mask")).results
    assert result["points"] == 6


def test_the_command_says_it_in_words(answer):
    command = [sys.executable, "-m", "selfattn_book", "check", "masks"]
    told = subprocess.run([*command, answer(RIGHT)], capture_output=True, text=True)
    assert told.returncode == 0
    assert told.stdout.startswith("window_mask: 6 of 6 points\n  yes  ")


def test_the_command_says_it_as_json(answer, capsys):
    assert main(["masks", str(answer(RIGHT)), "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["results"][0]["points"] == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# edition: 9.9\n", f"these checks are of edition {__version__}; "),
    ],
)
def test_what_cannot_be_an_answer_is_refused(answer, capsys, text, message):
    assert main(["masks", str(answer(text))]) == 2
    assert message in capsys.readouterr().err


def test_other_files_are_refused(tmp_path, capsys):
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    for chapter, name, message in (
        ("masks", "none.py", "there is no "),
        ("masks", "a.py", "as text in UTF-8"),
        ("mask", "a.py", "Did you mean 'masks'?"),
    ):
        assert main([chapter, str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err


def test_a_stub_is_begun_once(tmp_path, capsys):
    file = tmp_path / "a.py"
    assert main(["masks", str(file), "--stub"]) == 0
    text = file.read_text("utf-8")
    assert f"# edition: {__version__}\n" in text
    assert "def window_mask(length, width):" in text
    assert main(["masks", str(file), "--stub"]) == 2
    assert "there is a" in capsys.readouterr().err
    assert file.read_text("utf-8") == text
    outcome = run("masks", file)
    assert "it must return a mask; got None." in outcome.results[0]["told"]
