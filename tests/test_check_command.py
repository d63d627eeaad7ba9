"""The command that checks a learner's answer file."""

import subprocess
import sys

import pytest

from selfattn_book import __version__
from selfattn_book.exercises.checking.command import check_file, main

RIGHT = """
import torch

def window_mask(length, width):
    position = torch.arange(length)
    distance = position[:, None] - position
    return (distance >= 0) & (distance < width)
"""


@pytest.fixture
def answer(tmp_path, monkeypatch):
    """Return a function that writes an answer file; the path is put back after the test."""
    monkeypatch.setattr(sys, "path", sys.path[:])

    def write(text):
        file = tmp_path / "answer.py"
        file.write_text(text, "utf-8")
        return str(file)

    return write


def test_a_right_answer_earns_all_points(answer, tmp_path):
    (tmp_path / "mine.py").write_text(RIGHT, "utf-8")  # may import files beside it
    file = answer("from mine import window_mask")
    command = [sys.executable, "-m", "selfattn_book", "check", "masks", file, "--seconds", "300"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0
    assert run.stdout.startswith("window_mask: 6 of 6 points\n  yes  ")
    assert "not an examination" in run.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RIGHT.replace("distance < width", "distance <= width"), "The width counts the query"),
        ("\nx = 1 / 0", "No points: line 2 raised ZeroDivisionError: division by zero"),
        ("def window_mask(length, width)\n    pass", "No points: line 1 raised SyntaxError"),
        ("raise KeyboardInterrupt", "No points: line 1 raised KeyboardInterrupt"),
        ("def mask(): ...", "window_mask: 0 points; nothing with this name is defined"),
    ],
)
def test_other_answers_are_explained(answer, capsys, text, message):
    assert check_file("masks", answer(text)) == 1
    assert message in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "import os\ntry:\n    input()\nexcept EOFError:\n    os._exit(3)",
            ["--seconds", "300"],
            "No points: the answer ended the program (exit code 3)",
        ),
        ("while True: pass", ["--seconds", "1"], "did not finish within 1 seconds"),
    ],
)
def test_an_answer_can_neither_ask_nor_end_the_command_nor_outlast_it(
    answer, capsys, text, options, message
):
    assert main(["masks", answer(text), *options]) == 1
    assert message in capsys.readouterr().out


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
