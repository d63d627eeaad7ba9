"""The command that trains the model that writes: shown on a smaller one, which takes seconds."""

import os
import runpy
import signal
import subprocess
import sys
import time

import pytest
import torch

from selfattn_book.experiments import checkpoint, fit_text, kept, train_text
from selfattn_book.experiments.fit_text import adamw, rate

# The command with a smaller model, and rounds of two steps.
SMALLER = """
import sys
from selfattn_book.experiments import fit_text, train_text
fit_text.ROUND = 2
train_text.SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context": 8}
train_text.LENGTH, train_text.MERGES = 8, 4
train_text.main(sys.argv[1:])
"""
COMMAND = [sys.executable, "-c", SMALLER]
ROUNDS = 12


@pytest.fixture(autouse=True)
def smaller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fit_text, "ROUND", 2)
    sizes = {"d_model": 8, "num_layers": 1, "num_heads": 2, "context": 8}
    for name, value in (("SIZES", sizes), ("LENGTH", 8), ("MERGES", 4)):
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


def test_it_trains_keeps_a_model_and_names_its_loss(tmp_path, capsys):
    train_text.main(["--rounds", "3"])
    said = capsys.readouterr()
    model, tokens, record = kept.read("text.safetensors")
    assert f"{record['held_out']:.3f} nats per character" in said.out
    assert "generate --weights text.safetensors" in said.out
    assert "3/3" in said.err
    assert (len(tokens), model.context, record["rounds"]) == (260, 8, 3)
    assert (
        abs(train_text.held_out(model, tokens).item() - record["held_out"]) < 1e-5
    )
    assert files(tmp_path) == {"text.pt", "text.safetensors"}


def test_it_learns(capsys):
    losses = []
    for rounds in ("1", "60"):
        os.unlink("text.pt") if losses else None
        train_text.main(["--rounds", rounds])
        losses.append(kept.read("text.safetensors")[2]["held_out"])
    assert losses[1] < losses[0] - 1


@pytest.mark.parametrize(
    "name", ["SIGINT", pytest.param("SIGKILL", marks=pytest.mark.weekly)]
)
def test_whatever_ends_it_the_same_command_ends_up_at_the_same_numbers(
    tmp_path, name
):
    train_text.main(
        [f"--rounds={ROUNDS}", "--checkpoint=whole.pt", "--model=whole.safetensors"]
    )
    process = subprocess.Popen(
        [*COMMAND, f"--rounds={ROUNDS}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not os.path.exists("text.pt") or rounds_of("text.pt") < 2:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    process.send_signal(getattr(signal, name))
    said = process.communicate()[1]
    if name == "SIGINT" and process.returncode != 0:  # else it had just ended
        assert process.returncode == 130
        done = rounds_of("text.pt")
        assert f"text.pt keeps {done} rounds; the same command goes on" in said
        assert "Traceback" not in said
    train_text.main([f"--rounds={ROUNDS}"])
    one, other = (checkpoint.load(file) for file in ("text.pt", "whole.pt"))
    assert one["history"]["train"] == other["history"]["train"]
    for part, value in one["model"].items():
        assert value.equal(other["model"][part])
    models = [
        (tmp_path / f"{n}.safetensors").read_bytes() for n in ("text", "whole")
    ]
    assert models[0] == models[1]


def rounds_of(file):
    return len(checkpoint.load(file)["history"]["train"])


def test_interrupted_too_early_it_says_so(monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_text, "fit_text", interrupted)
    expected = "Interrupted. No round was over yet, and nothing is kept."
    assert refusal(capsys) == (130, expected)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--seed=2"], "'seed: 2'; got one with 'seed: 0'"),
        (["--rounds=3"], "'steps: 6'; got one with 'steps: 4'"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(
    tmp_path, capsys, options, told
):
    train_text.main(["--rounds=2"])
    before = [(tmp_path / name).read_bytes() for name in sorted(files(tmp_path))]
    code, said = refusal(capsys, "--rounds=2", *options)
    assert code == 1
    assert said.startswith("The training failed: text.pt must be of a training")
    assert told in said
    after = [(tmp_path / name).read_bytes() for name in sorted(files(tmp_path))]
    assert before == after


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--rounds=0"], "--rounds: must be an integer of at least 1; got 0"),
        (["--seed=-1"], "--seed: must be an integer from 0 to 4294967295; got -1"),
        (
            ["--model=none/x"],
            "--model: must be in a folder that is there; got none/x",
        ),
        (["--checkpoint=."], "--checkpoint: must be a file; got the folder ."),
        (["--model=text.pt"], "--model and --checkpoint must be two files"),
    ],
)
def test_a_wrong_option_is_refused_before_training(tmp_path, capsys, options, rule):
    code, said = refusal(capsys, *options)
    assert code == 2
    assert rule in said
    assert files(tmp_path) == set()


def test_a_model_that_cannot_be_written_is_named(capsys, monkeypatch):
    def full(*arguments):
        raise OSError("text.safetensors must be a file that can be written")

    monkeypatch.setattr(kept, "write_whole", full)
    code, said = refusal(capsys, "--rounds=1")
    assert (code, said) == (
        1,
        "The training failed: text.safetensors must be a file that can be written",
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
def test_the_door_leads_to_each_command(words, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["selfattn_book", *words])
    with pytest.raises(SystemExit) as left:
        runpy.run_module("selfattn_book", run_name="__main__")
    said = capsys.readouterr().out
    assert left.value.code == 0
    assert f"usage: {shown}" in said
    assert ("rounds" in said) == (words[1] == "text")


def test_the_rate_rises_falls_and_is_put_back():
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
