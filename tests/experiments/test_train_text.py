"""The command ``train text``, on a smaller model."""

import os
import runpy
import sys
from pathlib import Path

import pytest
import torch
from experiments.commands import files, history, refusal, restored_threads, stop

from selfattn_book.experiments import checkpoint, fit_text, model_file, train_text
from selfattn_book.experiments.fit_text import adamw, rate
from selfattn_book.experiments.train_text import main

# The command with a smaller model, and two steps to an entry of the history.
SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context_length": 8}
SMALLER = f"""
import sys
from selfattn_book.experiments import fit_text, train_text
fit_text.LOG_EVERY = train_text.LOG_EVERY = 2
train_text.SIZES = {SIZES}
train_text.LENGTH, train_text.MERGES = 8, 4
train_text.main(sys.argv[1:])
"""
COMMAND = [sys.executable, "-c", SMALLER]
STEPS = 24


@pytest.fixture(autouse=True)
def smaller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit_text, "LOG_EVERY", 2)
    for name, value in (("SIZES", SIZES), ("LENGTH", 8), ("MERGES", 4), ("LOG_EVERY", 2)):
        monkeypatch.setattr(train_text, name, value)
    with restored_threads():
        yield


def test_training_writes_a_model_and_reports_its_loss(capsys):
    main(["--steps", "6"])
    out, err = capsys.readouterr()
    model, tokens, record = model_file.read("text.safetensors")
    assert f"{record['held_out']:.3f} nats per character" in out
    assert "generate --weights text.safetensors" in out
    assert "3/3" in err
    assert (len(tokens), model.context_length, record["steps"]) == (260, 8, 6)
    assert abs(train_text.held_out(model, tokens).item() - record["held_out"]) < 1e-5
    assert files() == {"text.pt", "text.safetensors"}
    os.unlink("text.pt")
    main(["--steps", "120"])
    assert model_file.read("text.safetensors")[2]["held_out"] < record["held_out"] - 1


@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGKILL", marks=pytest.mark.weekly)])
def test_a_killed_training_resumes_to_the_same_numbers(name):
    main([f"--steps={STEPS}", "--checkpoint=whole.pt", "--model=whole.safetensors"])
    code, err = stop([*COMMAND, f"--steps={STEPS}"], "text.pt", name, 2)
    if name == "SIGINT" and code != 0:  # else it had just ended
        steps = 2 * len(history("text.pt")["train"])
        assert code == 130
        assert f"text.pt holds {steps} steps; the same command resumes" in err
        assert "Traceback" not in err
    main([f"--steps={STEPS}"])
    one, other = (checkpoint.load(file) for file in ("text.pt", "whole.pt"))
    assert one["history"]["train"] == other["history"]["train"]
    for part, value in one["model"].items():
        assert value.equal(other["model"][part])
    ours, theirs = (model_file.read(f"{name}.safetensors") for name in ("text", "whole"))
    assert (ours[1].merges, ours[2]) == (theirs[1].merges, theirs[2])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--seed=2", "'seed: 2'; got one with 'seed: 0'"),
        ("--steps=6", "'steps: 6'; got one with 'steps: 4'"),
        ("--steps=5", "steps must be a multiple of 2; got 5"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(capsys, option, message):
    main(["--steps=4"])
    before = {name: Path(name).read_bytes() for name in files()}
    code, found = refusal(main, capsys, "--steps=4", option)
    assert code == 1
    assert found.startswith("The training failed: ")
    assert message in found
    assert before == {name: Path(name).read_bytes() for name in files()}


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("--steps=0", "--steps: must be an integer of at least 1; got 0"),
        ("--model=none/x", "--model: must be in an existing folder; got none/x"),
        ("--model=text.pt", "--model and --checkpoint must be two files"),
    ],
)
def test_a_wrong_option_is_refused_before_training(capsys, option, rule):
    code, message = refusal(main, capsys, option)
    assert code == 2
    assert rule in message
    assert files() == set()


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
