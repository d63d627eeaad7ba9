"""The command ``train``: output files, resumption, refusals."""

import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest
from experiments.commands import files, history, refusal, restored_threads, stop

from selfattn_book.experiments import checkpoint, train_squares
from selfattn_book.experiments.train_squares import main

EPOCHS = 40  # enough to be stopped in between
COMMAND = [sys.executable, "-m", "selfattn_book", "train"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with restored_threads():
        yield


def test_training_shows_progress_and_resumes(tmp_path, capsys):
    first = subprocess.run([*COMMAND, "--epochs", "2"], capture_output=True, text=True)
    assert first.returncode == 0, first.stderr
    assert "2/2" in first.stderr
    assert "After 2 epochs: training loss" in first.stdout
    assert files() == {"squares.pt", "squares.svg"}
    main(["--epochs", "3"])
    again = capsys.readouterr().err
    assert "3/3" in again
    assert "1/3" not in again
    assert len(history("squares.pt")["train"]) == 3


@pytest.mark.parametrize("name", [pytest.param("SIGINT", marks=pytest.mark.weekly), "SIGKILL"])
def test_a_killed_training_resumes_to_the_same_numbers(name):
    main([f"--epochs={EPOCHS}", "--checkpoint=whole.pt", "--plot=whole.svg"])
    code, err = stop([*COMMAND, f"--epochs={EPOCHS}"], "squares.pt", name, 3)
    epochs = len(history("squares.pt")["train"])
    assert 3 <= epochs < EPOCHS
    if name == "SIGINT":
        assert code == 130
        assert f"squares.pt holds {epochs} epochs; the same command resumes" in err
        assert "Traceback" not in err
        assert files() == {"whole.pt", "whole.svg", "squares.pt"}
    main([f"--epochs={EPOCHS}"])
    whole, resumed = checkpoint.load("whole.pt"), checkpoint.load("squares.pt")
    for losses in ("train", "validation", "best_epoch"):
        assert resumed["history"][losses] == whole["history"][losses]
    for part, value in whole["model"].items():
        assert resumed["model"][part].equal(value)
    assert files() == {"whole.pt", "whole.svg", "squares.pt", "squares.svg"}


SEED = "--seed: must be an integer from 0 to 4294967295; got"
COUNT = "--epochs: must be an integer of at least 1; got"
RATE = "--lr: must be a number above 0, and finite; got"
WRONG = {
    "--plot=none/x.svg": "--plot: must be in an existing folder; got none",
    "--plot=.": "--plot: must be a file; got the folder .",
    "--plot=./squares.pt": "--plot and --checkpoint must be two files",
    **{f"--epochs={text}": f"{COUNT} {text}" for text in ("0", "1.5")},
    **{f"--lr={text}": f"{RATE} {text}" for text in ("0", "inf", "nan", "fast")},
    **{f"--seed={text}": f"{SEED} {text}" for text in ("-1", "1.5", "one", str(2**32))},
}


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_option_is_refused_before_training(capsys, option):
    code, message = refusal(main, capsys, option)
    assert code == 2
    assert WRONG[option] in message
    assert files() == set()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--seed=2", "'seed: 2'; got one with 'seed: 23'"),
        ("--lr=0.5", "'lr: 0.5'; got one with 'lr: 0.01'"),
        ("--positions", "'(place): PositionalEncoding("),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path, capsys, option, message):
    main(["--epochs=1"])
    before = (tmp_path / "squares.pt").read_bytes()
    code, found = refusal(main, capsys, "--epochs=2", option)
    assert code == 1
    assert found.startswith("The training failed: squares.pt must be of a training")
    assert message in found
    assert (tmp_path / "squares.pt").read_bytes() == before


def test_a_file_that_is_not_a_checkpoint_is_refused_and_kept(tmp_path, capsys):
    (tmp_path / "squares.pt").write_bytes(b"a letter")
    code, message = refusal(main, capsys, "--epochs=2")
    assert code == 1
    assert message.startswith("The training failed: squares.pt must be a checkpoint; ")
    assert (tmp_path / "squares.pt").read_bytes() == b"a letter"


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
def test_a_full_disk_is_reported(capsys, which):
    if which == "squares.svg":
        main(["--epochs=1"])  # the checkpoint is not written again
    with a_full_disk():
        code, message = refusal(main, capsys, "--epochs=1")
    assert code == 1
    assert message.startswith(f"The training failed: {which} must be a writable file; got ")
    assert files() <= {"squares.pt", "squares.svg"}
    assert ("squares.pt" in files()) == (which == "squares.svg")


NO_CHECKPOINT = "squares.pt is not a checkpoint, and was not changed."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No epoch was completed, and no checkpoint was written."),
        (b"a letter", NO_CHECKPOINT),
        ("no history", NO_CHECKPOINT),
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
    assert refusal(main, capsys) == (130, f"Interrupted. {message}")


def test_a_diverging_training_is_reported(capsys):
    message = "The training failed: losses must be finite; got nan in training"
    assert refusal(main, capsys, "--lr=1e30") == (1, message)
    assert files() == set()


def test_a_finished_training_is_not_trained_again(tmp_path, capsys):
    main(["--epochs=2"])
    before = (tmp_path / "squares.pt").read_bytes()
    main(["--epochs=1"])
    assert (tmp_path / "squares.pt").read_bytes() == before
    assert "After 2 epochs" in capsys.readouterr().out


def test_the_plot_describes_its_numbers(tmp_path):
    main(["--epochs=1"])
    loss = history("squares.pt")["train"][0]
    picture = (tmp_path / "squares.svg").read_text("utf-8")
    assert f"training: from {loss:.3g} to {loss:.3g}" in picture
