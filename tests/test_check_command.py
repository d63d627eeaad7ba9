"""The command that checks a learner's answer file."""

import subprocess
import sys

import pytest

from selfattn_book import __version__
from selfattn_book.exercises.checking.command import main

RIGHT = """
import torch

def window_mask(length, width):
    position = torch.arange(length)
    distance = position[:, None] - position
    return (distance >= 0) & (distance < width)
"""


def check(tmp_path, text, *options):
    """Run the command on an answer, and return its exit code and output."""
    file = tmp_path / "answer.py"
    file.write_text(text, "utf-8")
    command = [sys.executable, "-m", "selfattn_book", "check", "masks", str(file), *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout


def test_a_right_answer_earns_all_points(tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT, "utf-8")  # may import files beside it
    code, printed = check(tmp_path, "from mine import window_mask")
    assert code == 0
    assert printed.startswith("window_mask: 6 of 6 points\n  yes  ")
    assert "not an examination" in printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RIGHT.replace("distance < width", "distance <= width"), "The width counts the query"),
        ("\nx = 1 / 0", "No points: line 2 raised ZeroDivisionError: division by zero"),
        ("def window_mask(length, width)\n    pass", "No points: line 1 raised SyntaxError"),
        ("raise KeyboardInterrupt", "No points: line 1 raised KeyboardInterrupt"),
        ("import os; os._exit(3)", "No points: the answer ended the program (exit code 3)"),
        ("input()", "No points: line 1 raised EOFError"),
        ("def mask(): ...", "window_mask: 0 points; nothing with this name is defined"),
    ],
)
def test_other_answers_are_explained(tmp_path, text, message):
    code, printed = check(tmp_path, text)
    assert code == 1
    assert message in " ".join(printed.split()) or message in printed


def test_an_endless_loop_is_stopped(tmp_path):
    code, printed = check(tmp_path, "while True: pass", "--seconds", "4")
    assert code == 1
    assert "did not finish within 4 seconds" in printed


@pytest.mark.parametrize(
    ("chapter", "content", "message"),
    [
        ("masks", None, "does not exist"),
        ("masks", b"", "is empty"),
        ("masks", b"\xff\xfe\x00", "Python code in UTF-8"),
        ("masks", b"# edition: 9.9\n", f"these checks are for edition {__version__}; "),
        ("mask", b"x = 1", "Did you mean 'masks'?"),
    ],
)
def test_files_that_are_no_answer_are_refused(tmp_path, capsys, chapter, content, message):
    file = tmp_path / "a.py"
    if content is not None:
        file.write_bytes(content)
    assert main([chapter, str(file)]) == 2
    assert message in capsys.readouterr().err


def test_a_stub_is_written_once(tmp_path, capsys):
    file = tmp_path / "a.py"
    assert main(["masks", str(file), "--stub"]) == 0
    text = file.read_text("utf-8")
    assert f"# edition: {__version__}\n" in text
    assert "def window_mask(length, width):" in text
    assert main(["masks", str(file), "--stub"]) == 2
    assert "exists" in capsys.readouterr().err
    assert file.read_text("utf-8") == text
