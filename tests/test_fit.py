"""`fit` trains any model, tells what went wrong, and goes on as if it had not been interrupted."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from selfattn_book import checkpoint
from selfattn_book.training import fit, measure

mse = nn.functional.mse_loss


@pytest.fixture
def task(draw):
    x = draw(29, 3, dtype=torch.float32)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def make(seeded, lr=0.05):
    with seeded(0):
        model = nn.Sequential(
            nn.Linear(3, 5), nn.Dropout(0.2), nn.ReLU(), nn.Linear(5, 1)
        )
    return model, torch.optim.Adam(model.parameters(), lr=lr)


def train(seeded, task, epochs=5, model=None, **options):
    model, adam = model or make(seeded)
    batches = DataLoader(task, batch_size=7, shuffle=True)
    options = {"seed": 3, "progress": False, **options}
    return model, fit(model, batches, mse, adam, epochs=epochs, **options)


def test_losses_fall_and_are_counted(seeded, task):
    model, history = train(seeded, task, 30, validation=[task[:]])
    assert len(history.train) == len(history.validation) == 30
    assert history.train[-1] < history.train[0] / 2
    assert history.validation[-1] == measure(model, [task[:]], mse)
    assert history.best_epoch == history.validation.index(min(history.validation))


def test_the_best_state_is_kept(seeded, task):
    model, history = train(seeded, task, 30, validation=[task[:]])
    model.load_state_dict(history.best_state)
    assert measure(model, [task[:]], mse) == min(history.validation)


def test_a_step_is_what_a_plain_loop_does(seeded, task):
    x, y = task[:]
    with seeded(0):
        ours, theirs = nn.Linear(3, 1), nn.Linear(3, 1)
    theirs.load_state_dict(ours.state_dict())
    history = fit(
        ours,
        [(x, y)],
        mse,
        torch.optim.SGD(ours.parameters(), lr=0.1),
        epochs=3,
        seed=0,
        progress=False,
    )
    sgd = torch.optim.SGD(theirs.parameters(), lr=0.1)
    for expected in history.train:
        loss = mse(theirs(x), y)
        assert loss.item() == expected
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    assert ours.weight.equal(theirs.weight)


def test_the_same_seed_trains_the_same_and_global_chance_is_left_alone(
    seeded, task
):
    state = torch.get_rng_state()
    first = train(seeded, task)[1].train
    assert torch.get_rng_state().equal(state)
    torch.rand(3)
    assert train(seeded, task)[1].train == first
    assert train(seeded, task, seed=4)[1].train != first


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(
    seeded, task, tmp_path
):
    whole, expected = train(seeded, task, 9, validation=[task[:]])
    file = tmp_path / "model.pt"
    train(seeded, task, 4, validation=[task[:]], file=file)
    model, history = train(seeded, task, 9, validation=[task[:]], file=file)
    assert history.train == expected.train
    assert history.validation == expected.validation
    assert history.best_epoch == expected.best_epoch
    for name, value in whole.state_dict().items():
        assert model.state_dict()[name].equal(value)
        assert history.best_state[name].equal(expected.best_state[name])


def test_an_interruption_inside_of_an_epoch_loses_only_that_epoch(
    seeded, task, tmp_path
):
    file = tmp_path / "model.pt"
    model, adam = make(seeded)
    batches = list(DataLoader(task, batch_size=7))
    calls = 0

    def interrupted(output, target):
        nonlocal calls
        calls += 1
        if calls == 13:  # in the third of epochs of five batches
            raise KeyboardInterrupt
        return mse(output, target)

    with pytest.raises(KeyboardInterrupt):
        fit(
            model,
            batches,
            interrupted,
            adam,
            epochs=9,
            seed=0,
            file=file,
            progress=False,
        )
    assert len(checkpoint.load(file)["history"]["train"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path):
    file = tmp_path / "model.pt"
    checkpoint.save(file, {"epoch": 1})
    with pytest.raises(Exception, match="pickle"):
        checkpoint.save(file, {"epoch": lambda: 2})
    assert checkpoint.load(file) == {"epoch": 1}


def test_a_checkpoint_is_on_the_disk_before_it_takes_its_place(
    tmp_path, monkeypatch
):
    file, sizes = tmp_path / "model.pt", []

    def fsync(number):
        assert not file.exists()
        sizes.append(os.fstat(number).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    checkpoint.save(file, {"epoch": 1})
    assert sizes == [file.stat().st_size]


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint", b"PK\x03\x04 half of one"]
)
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    file = tmp_path / "model.pt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.pt must be a checkpoint"):
        checkpoint.load(file)


def test_a_checkpoint_of_another_seed_is_refused(seeded, task, tmp_path):
    file = tmp_path / "model.pt"
    train(seeded, task, 2, file=file)
    with pytest.raises(ValueError, match="of seed 4; got one of seed 3"):
        train(seeded, task, 3, file=file, seed=4)


def test_patience_ends_a_training_that_gets_no_better(seeded, task):
    x, _ = task[:]
    noise = [(x, torch.zeros(29, 1))]
    model = make(seeded, lr=0.0)  # nothing can get better
    _, history = train(seeded, task, 50, model=model, validation=noise, patience=3)
    # Equal losses count as no worse, so the best epoch moves on.
    assert len(history.train) == 50
    model = make(seeded, lr=1.0)
    _, history = train(seeded, task, 50, model=model, validation=noise, patience=3)
    assert len(history.train) == history.best_epoch + 4 < 50


@pytest.mark.parametrize("was_training", [True, False])
def test_measuring_learns_nothing_and_drops_nothing(seeded, task, was_training):
    model, _ = make(seeded)
    model.train(was_training)
    first = measure(model, [task[:]], mse)
    assert measure(model, [task[:]], mse) == first
    assert model.training is was_training


def test_what_goes_wrong_is_named(seeded, task):
    model, adam = make(seeded)
    with pytest.raises(ValueError, match="at least one batch; got none"):
        fit(model, [], mse, adam, epochs=1, seed=0, progress=False)
    with pytest.raises(ValueError, match="at least one batch; got none"):
        measure(model, [], mse)
    with pytest.raises(
        ValueError, match="losses must be finite; got nan in training"
    ):
        fit(
            model,
            [task[:]],
            lambda a, b: (a - b).mean() * torch.nan,
            adam,
            epochs=1,
            seed=0,
            progress=False,
        )
    with pytest.raises(ValueError, match="epochs must be at least 1; got 0"):
        train(seeded, task, 0)
    with pytest.raises(ValueError, match="patience must be at least 1; got 0"):
        train(seeded, task, 3, patience=0)


def test_the_command_line_trains_shows_progress_and_goes_on(tmp_path):
    command = [sys.executable, "-m", "selfattn_book.training", "--epochs"]
    first = subprocess.run(
        [*command, "2"], cwd=tmp_path, capture_output=True, text=True
    )
    assert first.returncode == 0, first.stderr
    assert "2/2" in first.stderr
    assert "the best in epoch" in first.stdout
    assert {path.name for path in tmp_path.iterdir()} == {
        "squares.pt",
        "squares.svg",
    }
    again = subprocess.run(
        [*command, "3"], cwd=tmp_path, capture_output=True, text=True
    )
    assert "3/3" in again.stderr
    assert len(checkpoint.load(tmp_path / "squares.pt")["history"]["train"]) == 3
