"""The command ``train text``: output files, resumption, refusals.

It trains a smaller model here, and has two steps to an entry of its history.
"""

import errno
import math
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from selfattn_book.experiments import checkpoint, model_file, train_text
from selfattn_book.experiments.fit_text import adamw, rate
from selfattn_book.experiments.train_text import main
from tests.experiments import small_training


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module, name, value in small_training.SMALLER:
        monkeypatch.setattr(module, name, value)


def files():
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.suffix != ".part"}


def test_training_writes_a_model_and_reports_its_loss(capsys):
    main(["--steps", "6"])
    out, err = capsys.readouterr()
    model, tokens, record = model_file.read("text.safetensors")
    assert f"{record['held_out'] / math.log(2):.2f} bits per character" in out
    assert "generate --weights text.safetensors" in out
    assert "3/3" in err
    assert (len(tokens), model.context_length, record["steps"]) == (260, 8, 6)
    assert abs(train_text.held_out(model, tokens).item() - record["held_out"]) < 1e-5
    assert set(files()) == {"text.pt", "text.safetensors"}
    os.unlink("text.pt")
    main(["--steps", "120"])
    assert model_file.read("text.safetensors")[2]["held_out"] < record["held_out"] - 1


def stopped(kind, *options):
    """Run the command, send it a signal after two entries, and return its code and errors."""
    process = subprocess.Popen(
        [sys.executable, small_training.__file__, "text", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # The background job of a shell ignores SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not Path("text.pt").exists() or len(checkpoint.load("text.pt")["history"]["train"]) < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    process.send_signal(kind)
    err = process.communicate()[1]
    return process.returncode, err


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_training_resumes_to_the_same_numbers(kind):
    main(["--steps=24", "--checkpoint=whole.pt", "--model=whole.safetensors"])
    code, err = stopped(kind, "--steps=24")
    if kind == signal.SIGINT and code != 0:  # it may have just ended
        assert code == 130
        assert "Interrupted. The same command resumes from text.pt" in err
        assert "Traceback" not in err
    main(["--steps=24"])
    one, other = checkpoint.load("text.pt"), checkpoint.load("whole.pt")
    assert one["history"] == other["history"]
    for part, value in one["model"].items():
        assert value.equal(other["model"][part])
    assert set(files()) == {"text.pt", "text.safetensors", "whole.pt", "whole.safetensors"}
    found = map(model_file.read, ("text.safetensors", "whole.safetensors"))
    (_, ours, record), (_, theirs, expected) = found
    assert (ours.merges, record) == (theirs.merges, expected)


SEED = "--seed: must be an integer from 0 to 4294967295; got"
STEPS = "--steps: must be an integer of at least 1; got"
WRONG = [
    *((f"--steps={text}", f"{STEPS} {text}") for text in ("0", "1.5")),
    *((f"--seed={text}", f"{SEED} {text}") for text in ("-1", "1.5", "one", 2**32)),
    ("--model=none/x", "--model: must be in an existing folder; got none/x"),
    ("--model=.", "--model: must be a file; got the folder ."),
    ("--model=./text.pt", "--model and --checkpoint must be two files"),
]


@pytest.mark.parametrize(("option", "rule"), WRONG)
def test_a_wrong_option_is_refused_before_training(refusal, option, rule):
    code, message = refusal(main, option)
    assert code == 2
    assert rule in message.splitlines()[-1]
    assert files() == {}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--seed=2", "'seed: 2'; got one with 'seed: 0'"),
        ("--steps=6", "'steps: 6'; got one with 'steps: 4'"),
        ("--steps=5", "steps must be a multiple of 2; got 5"),
        ("--checkpoint=text.safetensors", "text.safetensors must be a checkpoint; "),
    ],
)
def test_another_checkpoint_is_refused_and_kept(refusal, option, message):
    main(["--steps=4"])
    before = files()
    code, found = refusal(main, "--steps=4", "--model=new", option)
    assert (code, files()) == (1, before)
    assert found.startswith("\nThe training failed: ")
    assert message in found


@pytest.mark.parametrize("which", ["text.pt", "text.safetensors"])
def test_a_full_disk_is_reported(refusal, monkeypatch, which):
    if which == "text.safetensors":
        main(["--steps=2"])  # the checkpoint is not written again
    before = files()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "full")))
    code, message = refusal(main, "--steps=2")
    assert (code, files()) == (1, before)
    assert message.startswith(f"\nThe training failed: {which} must be a writable file; got ")


def test_an_early_interruption_writes_nothing(monkeypatch, refusal):
    monkeypatch.setattr(train_text, "fit_text", Mock(side_effect=KeyboardInterrupt))
    code, message = refusal(main)
    assert (code, files()) == (130, {})
    assert message.endswith("resumes from text.pt, or begins again if it holds no epoch yet.\n")


@pytest.mark.parametrize("words", [["train", "text"], ["generate"]], ids=" ".join)
def test_each_command_has_help(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selfattn_book", *words, "--help"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_module("selfattn_book", run_name="__main__")
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert f"usage: python -m selfattn_book {' '.join(words)} " in out
    assert ("--steps" in out) == ("text" in words)


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
