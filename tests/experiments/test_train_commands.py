"""The commands ``train`` and ``train text``: output files, resumption, refusals.

The second trains a smaller model here, and has two steps to an entry of its history.
"""

import errno
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from selfattn_book.experiments import checkpoint, fit_text, model_file, train_squares, train_text
from selfattn_book.experiments.fit_text import adamw, rate

SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context_length": 8}
SMALLER = f"""
import sys
from selfattn_book.experiments import fit_text, train_text
fit_text.LOG_EVERY = 2
train_text.SIZES = {SIZES}
train_text.LENGTH, train_text.MERGES = 8, 4
train_text.main(sys.argv[1:])
"""


@dataclass(frozen=True)
class Command:
    """A command that trains, its two output files, and two of its options."""

    main: Callable[[list[str]], None]
    program: tuple[str, ...]
    checkpoint: str
    output: str
    option: str
    length: str

    def __str__(self) -> str:
        return self.checkpoint

    def refusal(self, capsys, *options):
        """Return the exit code, and the last line of the message."""
        with pytest.raises(SystemExit) as stopped:
            self.main(list(options))
        if isinstance(stopped.value.code, str):  # Python prints it, and returns 1
            return 1, stopped.value.code.strip()
        return stopped.value.code, capsys.readouterr().err.splitlines()[-1]

    def stopped(self, name, entries):
        """Run the command, send it a signal after some entries, and return its code and errors."""
        process = subprocess.Popen(
            [sys.executable, *self.program, self.length],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # The background job of a shell ignores SIGINT.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        file = Path(self.checkpoint)
        while not file.exists() or len(history(file)["train"]) < entries:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.001)
        process.send_signal(getattr(signal, name))
        err = process.communicate()[1]
        return process.returncode, err


TRAIN = ("-m", "selfattn_book", "train")
SQUARES = Command(train_squares.main, TRAIN, "squares.pt", "squares.svg", "--plot", "--epochs=40")
TEXT = Command(
    train_text.main, ("-c", SMALLER), "text.pt", "text.safetensors", "--model", "--steps=24"
)
each_command = pytest.mark.parametrize("command", [SQUARES, TEXT], ids=str)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit_text, "LOG_EVERY", 2)
    for name, value in (("SIZES", SIZES), ("LENGTH", 8), ("MERGES", 4)):
        monkeypatch.setattr(train_text, name, value)


def history(file):
    return checkpoint.load(file)["history"]


def files():
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix != ".part"}


def test_training_shows_progress_and_resumes(capsys):
    command = [sys.executable, *TRAIN, "--epochs", "2"]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "2/2" in first.stderr
    assert "After 2 epochs: training loss" in first.stdout
    assert set(files()) == {"squares.pt", "squares.svg"}
    SQUARES.main(["--epochs", "3"])
    again = capsys.readouterr().err
    assert "3/3" in again
    assert "1/3" not in again
    assert len(history("squares.pt")["train"]) == 3


def test_training_writes_a_model_and_reports_its_loss(capsys):
    TEXT.main(["--steps", "6"])
    out, err = capsys.readouterr()
    model, tokens, record = model_file.read("text.safetensors")
    assert f"{record['held_out']:.3f} nats per character" in out
    assert "generate --weights text.safetensors" in out
    assert "3/3" in err
    assert (len(tokens), model.context_length, record["steps"]) == (260, 8, 6)
    assert abs(train_text.held_out(model, tokens).item() - record["held_out"]) < 1e-5
    assert set(files()) == {"text.pt", "text.safetensors"}
    os.unlink("text.pt")
    TEXT.main(["--steps", "120"])
    assert model_file.read("text.safetensors")[2]["held_out"] < record["held_out"] - 1


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (SQUARES, "SIGKILL"),
        (TEXT, "SIGINT"),
        pytest.param(SQUARES, "SIGINT", marks=pytest.mark.weekly),
        pytest.param(TEXT, "SIGKILL", marks=pytest.mark.weekly),
    ],
    ids=str,
)
def test_a_killed_training_resumes_to_the_same_numbers(command, name):
    whole = f"whole-{command.output}"
    command.main([command.length, "--checkpoint=whole.pt", f"{command.option}={whole}"])
    code, err = command.stopped(name, 2)
    done = len(history(command.checkpoint)["train"])
    assert done < len(history("whole.pt")["train"]) or command is TEXT  # may have just ended
    if name == "SIGINT" and code != 0:
        assert code == 130
        assert f"Interrupted. The same command resumes from {command.checkpoint}" in err
        assert "Traceback" not in err
    command.main([command.length])
    one, other = checkpoint.load(command.checkpoint), checkpoint.load("whole.pt")
    for losses in ("train", "validation", "best_epoch"):
        assert one["history"][losses] == other["history"][losses]
    for part, value in one["model"].items():
        assert value.equal(other["model"][part])
    found = files()
    assert set(found) == {"whole.pt", whole, command.checkpoint, command.output}
    if command is SQUARES:
        assert found[command.output] == found[whole]
    else:  # the library does not order a file's metadata
        (_, ours, record), (_, theirs, expected) = map(model_file.read, (command.output, whole))
        assert (ours.merges, record) == (theirs.merges, expected)


SEED = "--seed: must be an integer from 0 to 4294967295; got"
COUNT = "must be an integer of at least 1; got"
RATE = "--lr: must be a number above 0, and finite; got"
WRONG = [
    (SQUARES, "--plot=none/x.svg", "--plot: must be in an existing folder; got none"),
    (SQUARES, "--plot=.", "--plot: must be a file; got the folder ."),
    (SQUARES, "--plot=./squares.pt", "--plot and --checkpoint must be two files"),
    *((SQUARES, f"--epochs={text}", f"--epochs: {COUNT} {text}") for text in ("0", "1.5")),
    *((SQUARES, f"--lr={text}", f"{RATE} {text}") for text in ("0", "inf", "nan", "fast")),
    *((SQUARES, f"--seed={text}", f"{SEED} {text}") for text in ("-1", "1.5", "one", 2**32)),
    (TEXT, "--steps=0", f"--steps: {COUNT} 0"),
    (TEXT, "--model=none/x", "--model: must be in an existing folder; got none/x"),
    (TEXT, "--model=text.pt", "--model and --checkpoint must be two files"),
]


@pytest.mark.parametrize(("command", "option", "rule"), WRONG, ids=str)
def test_a_wrong_option_is_refused_before_training(capsys, command, option, rule):
    code, message = command.refusal(capsys, option)
    assert code == 2
    assert rule in message
    assert files() == {}


@pytest.mark.parametrize(
    ("command", "option", "message"),
    [
        (SQUARES, "--seed=2", "'seed: 2'; got one with 'seed: 23'"),
        (SQUARES, "--lr=0.5", "'lr: 0.5'; got one with 'lr: 0.01'"),
        (SQUARES, "--positions", "'(place): PositionalEncoding("),
        (TEXT, "--seed=2", "'seed: 2'; got one with 'seed: 0'"),
        (TEXT, "--steps=6", "'steps: 6'; got one with 'steps: 4'"),
        (TEXT, "--steps=5", "steps must be a multiple of 2; got 5"),
    ],
    ids=str,
)
def test_a_checkpoint_of_another_training_is_refused(capsys, command, option, message):
    length = "--epochs=1" if command is SQUARES else "--steps=4"
    command.main([length])
    before = files()
    code, found = command.refusal(capsys, length, option)
    assert code == 1
    assert found.startswith("The training failed: ")
    assert message in found
    assert files() == before


@each_command
def test_a_file_that_is_not_a_checkpoint_is_refused_and_kept(capsys, command):
    Path(command.checkpoint).write_bytes(b"a letter")
    code, message = command.refusal(capsys, command.length)
    assert code == 1
    assert message.startswith(f"The training failed: {command} must be a checkpoint; ")
    assert files() == {command.checkpoint: b"a letter"}


@pytest.mark.parametrize("which", ["squares.pt", "squares.svg"])
def test_a_full_disk_is_reported(capsys, monkeypatch, which):
    if which == "squares.svg":
        SQUARES.main(["--epochs=1"])  # the checkpoint is not written again
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "full")))
    code, message = SQUARES.refusal(capsys, "--epochs=1")
    assert code == 1
    assert message.startswith(f"The training failed: {which} must be a writable file; got ")
    assert set(files()) <= {"squares.pt", "squares.svg"}
    assert ("squares.pt" in files()) == (which == "squares.svg")


def test_an_early_interruption_writes_nothing(monkeypatch, capsys):
    monkeypatch.setattr(train_squares, "fit", Mock(side_effect=KeyboardInterrupt))
    code, message = SQUARES.refusal(capsys)
    assert (code, files()) == (130, {})
    assert message.endswith("resumes from squares.pt, or begins again if it holds no epoch yet.")


def test_a_diverging_training_is_reported(capsys):
    message = "The training failed: losses must be finite; got nan in training"
    assert SQUARES.refusal(capsys, "--lr=1e30") == (1, message)
    assert files() == {}


def test_a_finished_training_is_not_trained_again(capsys):
    SQUARES.main(["--epochs=2"])
    before = files()["squares.pt"]
    SQUARES.main(["--epochs=1"])
    assert files()["squares.pt"] == before
    assert "After 2 epochs" in capsys.readouterr().out


def test_the_plot_describes_its_numbers():
    SQUARES.main(["--epochs=1"])
    loss = history("squares.pt")["train"][0]
    picture = Path("squares.svg").read_text("utf-8")
    assert f"training: from {loss:.3g} to {loss:.3g}" in picture


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["train", "text"], "python -m selfattn_book train text"),
        (["train", "squares"], "python -m selfattn_book train "),
        (["train"], "python -m selfattn_book train "),
        (["generate"], "python -m selfattn_book generate"),
    ],
)
def test_each_command_has_help(words, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selfattn_book", *words, "--help"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("selfattn_book", run_name="__main__")
    out = capsys.readouterr().out
    assert stopped.value.code == 0
    assert f"usage: {shown}" in out
    assert ("--steps" in out) == (words[-1] == "text")


def test_the_learning_rate_follows_its_schedule():
    model = torch.nn.Linear(3, 1, bias=False)
    optimizer, rates = adamw(model, lr=0.1, steps=40), []
    optimizer.register_step_pre_hook(
        lambda optimizer, *_: rates.append(optimizer.param_groups[0]["lr"])
    )
    for _ in range(40):
        model.weight.grad = torch.full_like(model.weight, 30.0)
        optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 0.1
        assert abs(model.weight.grad.norm() - 1) < 1e-4  # clipped
    assert rates == [0.1 * rate(done, 40) for done in range(40)]
    assert max(rates) == rates[1]
    assert 0.004 < rates[-1] < 0.006
