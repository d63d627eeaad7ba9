"""The command ``train``: output files, resumption, refusals."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
import torch

from selfattn_book.experiments import checkpoint, train_squares

EPOCHS = 40  # enough to be stopped in between
COMMAND = [sys.executable, "-m", "selfattn_book", "train"]


@contextmanager
def keeping_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with keeping_threads():
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a training keeps that nothing has stopped."""
    folder = tmp_path_factory.mktemp("whole")
    kept, picture = folder / "whole.pt", folder / "whole.svg"
    with keeping_threads():
        train_squares.main([f"--epochs={EPOCHS}", f"--checkpoint={kept}", f"--plot={picture}"])
    return checkpoint.load(kept)


def listen():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def history(file="squares.pt"):
    return checkpoint.load(file)["history"]


def files(folder):
    return {path.name for path in folder.iterdir()}


def refusal(capsys, *options):
    """Return the exit code and what was said at last."""
    with pytest.raises(SystemExit) as stopped:
        train_squares.main(list(options))
    if isinstance(stopped.value.code, str):  # Python prints it, and returns 1
        return 1, stopped.value.code.strip()
    return stopped.value.code, capsys.readouterr().err.splitlines()[-1]


def test_training_shows_progress_and_resumes(tmp_path, capsys):
    first = subprocess.run([*COMMAND, "--epochs", "2"], capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "2/2" in first.stderr
    assert "After 2 epochs: training loss" in first.stdout
    assert files(tmp_path) == {"squares.pt", "squares.svg"}
    train_squares.main(["--epochs", "3"])
    again = capsys.readouterr().err
    assert "3/3" in again
    assert "1/3" not in again
    assert len(history()["train"]) == 3


@pytest.mark.parametrize("name", [pytest.param("SIGINT", marks=pytest.mark.weekly), "SIGKILL"])
def test_a_killed_training_resumes_to_the_same_numbers(tmp_path, whole, name):
    process = subprocess.Popen(
        [*COMMAND, f"--epochs={EPOCHS}"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen,  # a shell's background job is born deaf to it
    )
    while not os.path.exists("squares.pt") or len(history()["train"]) < 3:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)
    process.send_signal(getattr(signal, name))
    said = process.communicate()[1]
    epochs = len(history()["train"])
    assert 3 <= epochs < EPOCHS
    if name == "SIGINT":
        assert process.returncode == 130
        assert f"squares.pt holds {epochs} epochs; the same command resumes" in said
        assert "Traceback" not in said
        assert files(tmp_path) == {"squares.pt"}
    train_squares.main([f"--epochs={EPOCHS}"])
    resumed = checkpoint.load("squares.pt")
    for losses in ("train", "validation", "best_epoch"):
        assert resumed["history"][losses] == whole["history"][losses]
    for part, value in whole["model"].items():
        assert resumed["model"][part].equal(value)
    left = {file for file in files(tmp_path) if not file.endswith(".part")}
    assert left == {"squares.pt", "squares.svg"}


SEED = "--seed: must be an integer from 0 to 4294967295; got"
COUNT = "--epochs: must be an integer of at least 1; got"
RATE = "--lr: must be a number above 0, and finite; got"


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--plot=none/x.svg"], "--plot: must be in an existing folder; got none"),
        (["--checkpoint=none/x"], "--checkpoint: must be in an existing folder"),
        (["--plot=."], "--plot: must be a file; got the folder ."),
        (["--plot=./squares.pt"], "--plot and --checkpoint must be two files"),
        *[([f"--epochs={text}"], f"{COUNT} {text}") for text in ("0", "1.5")],
        *[([f"--lr={text}"], f"{RATE} {text}") for text in ("0", "inf", "nan", "fast")],
        *[([f"--seed={text}"], f"{SEED} {text}") for text in ("-1", "1.5", "one", str(2**32))],
    ],
)
def test_a_wrong_option_is_refused_before_training(tmp_path, capsys, options, rule):
    code, said = refusal(capsys, *options)
    assert code == 2
    assert rule in said
    assert files(tmp_path) == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed=2"], "'seed: 2'; got one with 'seed: 23'"),
        (["--lr=0.5"], "'lr: 0.5'; got one with 'lr: 0.01'"),
        (["--positions"], "'(place): PositionalEncoding("),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, capsys, options, message):
    train_squares.main(["--epochs=1"])
    before = (tmp_path / "squares.pt").read_bytes()
    code, said = refusal(capsys, "--epochs=2", *options)
    assert code == 1
    assert said.startswith("The training failed: squares.pt must be of a training")
    assert message in said
    assert (tmp_path / "squares.pt").read_bytes() == before


@pytest.mark.parametrize("what", ["foreign", "cut", "emptied"])
def test_a_file_that_is_not_a_checkpoint_is_refused(tmp_path, capsys, what):
    train_squares.main(["--epochs=1"])
    file = tmp_path / "squares.pt"
    if what == "foreign":
        file.write_bytes(b"a letter")
    elif what == "cut":
        file.write_bytes(file.read_bytes()[:-500])
    else:
        content = checkpoint.load(file)
        content["optimizer"]["state"] = {}
        checkpoint.save(file, content)
    before = file.read_bytes()
    code, said = refusal(capsys, "--epochs=2")
    assert code == 1
    assert said.startswith("The training failed: squares.pt must be ")
    assert said.endswith(". Move it away, or name another file.")
    assert file.read_bytes() == before


@contextmanager
def a_full_disk():
    """Let no file grow beyond some bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("which", ["squares.pt", "squares.svg"])
def test_a_full_disk_is_reported(tmp_path, capsys, which):
    if which == "squares.svg":
        train_squares.main(["--epochs=1"])  # the checkpoint is not written again
    with a_full_disk():
        code, said = refusal(capsys, "--epochs=1")
    assert code == 1
    message = f"The training failed: {which} must be a writable file; got "
    assert said.startswith(message)
    assert files(tmp_path) <= {"squares.pt", "squares.svg"}
    assert (tmp_path / "squares.pt").exists() == (which == "squares.svg")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No epoch was completed, and no checkpoint was written."),
        (b"a letter", "squares.pt is not a checkpoint, and was not changed."),
        ("no history", "squares.pt is not a checkpoint, and was not changed."),
    ],
)
def test_an_early_interruption_is_reported(tmp_path, monkeypatch, capsys, content, message):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_squares, "fit", interrupted)
    if content == "no history":
        checkpoint.save(tmp_path / "squares.pt", {"history": None})
    elif content:
        (tmp_path / "squares.pt").write_bytes(content)
    assert refusal(capsys) == (130, f"Interrupted. {message}")


def test_a_diverging_training_is_reported(tmp_path, capsys):
    code, said = refusal(capsys, "--lr=1e30")
    assert code == 1
    assert said == "The training failed: losses must be finite; got nan in training"
    assert files(tmp_path) == set()


def test_a_finished_training_is_not_trained_again(tmp_path, capsys):
    train_squares.main(["--epochs=2"])
    before = (tmp_path / "squares.pt").read_bytes()
    train_squares.main(["--epochs=1"])
    assert (tmp_path / "squares.pt").read_bytes() == before
    assert "After 2 epochs" in capsys.readouterr().out


def test_the_plot_describes_its_numbers(tmp_path):
    train_squares.main(["--epochs=1"])
    picture = (tmp_path / "squares.svg").read_text("utf-8")
    loss = history()["train"][0]
    assert f"training: from {loss:.3g} to {loss:.3g}" in picture
