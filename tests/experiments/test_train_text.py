"""The command ``train text``, on a smaller model."""

import os
import runpy
import signal
import subprocess
import sys
import time

import pytest
import torch

from selfattn_book.experiments import checkpoint, fit_text, model_file, train_text
from selfattn_book.experiments.fit_text import adamw, rate

# The command with a smaller model, and two steps to an entry of the history.
SMALLER = """
import sys
from selfattn_book.experiments import fit_text, train_text
fit_text.LOG_EVERY = train_text.LOG_EVERY = 2
train_text.SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context_length": 8}
train_text.LENGTH, train_text.MERGES = 8, 4
train_text.main(sys.argv[1:])
"""
COMMAND = [sys.executable, "-c", SMALLER]
STEPS = 24


@pytest.fixture(autouse=True)
def smaller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit_text, "LOG_EVERY", 2)
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context_length": 8}
    for name, value in (("SIZES", sizes), ("LENGTH", 8), ("MERGES", 4), ("LOG_EVERY", 2)):
        monkeypatch.setattr(train_text, name, value)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def refusal(capsys, *options):
    """Return the exit code and what was said at last."""
    with pytest.raises(SystemExit) as stopped:
        train_text.main(list(options))
    if isinstance(stopped.value.code, str):
        return 1, stopped.value.code.strip()
    return stopped.value.code, capsys.readouterr().err.splitlines()[-1]


def files(folder):
    return {path.name for path in folder.iterdir() if path.suffix != ".part"}


def test_training_writes_a_model_and_reports_its_loss(tmp_path, capsys):
    train_text.main(["--steps", "6"])
    said = capsys.readouterr()
    model, tokens, record = model_file.read("text.safetensors")
    assert f"{record['held_out']:.3f} nats per character" in said.out
    assert "generate --weights text.safetensors" in said.out
    assert "3/3" in said.err
    assert (len(tokens), model.context_length, record["steps"]) == (260, 8, 6)
    assert abs(train_text.held_out(model, tokens).item() - record["held_out"]) < 1e-5
    assert files(tmp_path) == {"text.pt", "text.safetensors"}


def test_it_learns(capsys):
    losses = []
    for steps in ("2", "120"):
        os.unlink("text.pt") if losses else None
        train_text.main(["--steps", steps])
        losses.append(model_file.read("text.safetensors")[2]["held_out"])
    assert losses[1] < losses[0] - 1


@pytest.mark.parametrize("name", ["SIGINT", pytest.param("SIGKILL", marks=pytest.mark.weekly)])
def test_a_killed_training_resumes_to_the_same_numbers(name):
    train_text.main([f"--steps={STEPS}", "--checkpoint=whole.pt", "--model=whole.safetensors"])
    process = subprocess.Popen(
        [*COMMAND, f"--steps={STEPS}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not os.path.exists("text.pt") or steps_of("text.pt") < 4:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    process.send_signal(getattr(signal, name))
    said = process.communicate()[1]
    if name == "SIGINT" and process.returncode != 0:  # else it had just ended
        assert process.returncode == 130
        done = steps_of("text.pt")
        assert f"text.pt holds {done} steps; the same command resumes" in said
        assert "Traceback" not in said
    train_text.main([f"--steps={STEPS}"])
    one, other = (checkpoint.load(file) for file in ("text.pt", "whole.pt"))
    assert one["history"]["train"] == other["history"]["train"]
    for part, value in one["model"].items():
        assert value.equal(other["model"][part])
    ours, theirs = (model_file.read(f"{name}.safetensors") for name in ("text", "whole"))
    assert (ours[1].merges, ours[2]) == (theirs[1].merges, theirs[2])


def steps_of(file):
    return 2 * len(checkpoint.load(file)["history"]["train"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed=2"], "'seed: 2'; got one with 'seed: 0'"),
        (["--steps=6"], "'steps: 6'; got one with 'steps: 4'"),
        (["--steps=5"], "steps must be a multiple of 2; got 5"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, capsys, options, message):
    train_text.main(["--steps=4"])
    before = [(tmp_path / name).read_bytes() for name in sorted(files(tmp_path))]
    code, said = refusal(capsys, "--steps=4", *options)
    assert code == 1
    assert said.startswith("The training failed: ")
    assert message in said
    after = [(tmp_path / name).read_bytes() for name in sorted(files(tmp_path))]
    assert before == after


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--steps=0"], "--steps: must be an integer of at least 1; got 0"),
        (["--model=none/x"], "--model: must be in an existing folder; got none/x"),
        (["--model=text.pt"], "--model and --checkpoint must be two files"),
    ],
)
def test_a_wrong_option_is_refused_before_training(tmp_path, capsys, options, rule):
    code, said = refusal(capsys, *options)
    assert code == 2
    assert rule in said
    assert files(tmp_path) == set()


def test_a_model_that_cannot_be_written_is_reported(capsys, monkeypatch):
    def full(*arguments):
        raise OSError("text.safetensors must be a writable file")

    monkeypatch.setattr(model_file, "write_whole", full)
    code, said = refusal(capsys, "--steps=2")
    assert (code, said) == (
        1,
        "The training failed: text.safetensors must be a writable file",
    )


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["train", "text", "--help"], "python -m selfattn_book train text"),
        (["train", "squares", "--help"], "python -m selfattn_book train "),
        (["train", "--help"], "python -m selfattn_book train "),
        (["generate", "--help"], "python -m selfattn_book generate"),
    ],
)
def test_each_command_has_help(words, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selfattn_book", *words])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("selfattn_book", run_name="__main__")
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"usage: {shown}" in said
    assert ("--steps" in said) == (words[1] == "text")


def test_the_learning_rate_follows_its_schedule():
    model = torch.nn.Linear(3, 1, bias=False)
    optimizer, taken = adamw(model, lr=0.1, steps=40), []
    optimizer.register_step_pre_hook(
        lambda optimizer, *_: taken.append(optimizer.param_groups[0]["lr"])
    )
    for _ in range(40):
        model.weight.grad = torch.full_like(model.weight, 30.0)
        optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 0.1
        assert abs(model.weight.grad.norm() - 1) < 1e-4  # cut
    assert taken == [0.1 * rate(done, 40) for done in range(40)]
    assert max(taken) == taken[1]
    assert 0.004 < taken[-1] < 0.006
