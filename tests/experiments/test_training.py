"""`fit` trains any model, tells what went wrong, and goes on as if it had not been interrupted."""

import errno
import math
import os
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.training import _epoch_seed, evaluate, fit

mse = nn.functional.mse_loss


@pytest.fixture
def task(draw):
    x = draw(29, 3, dtype=torch.float32)
    return TensorDataset(x, x.sum(dim=1, keepdim=True))


def make(seeded, lr=0.05):
    with seeded(0):
        model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.2), nn.ReLU(), nn.Linear(5, 1))
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
    assert history.validation[-1] == evaluate(model, [task[:]], mse)
    assert history.best_epoch == history.validation.index(min(history.validation))


def test_the_best_state_is_kept(seeded, task):
    model, history = train(seeded, task, 30, validation=[task[:]])
    model.load_state_dict(history.best_state)
    assert evaluate(model, [task[:]], mse) == min(history.validation)


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
        # Up to rounding: the history keeps a mean, if only of one batch.
        assert loss.item() == pytest.approx(expected, rel=1e-6)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    assert ours.weight.equal(theirs.weight)


def test_the_same_seed_trains_the_same_and_global_chance_is_left_alone(seeded, task):
    state = torch.get_rng_state()
    first = train(seeded, task)[1].train
    assert torch.get_rng_state().equal(state)
    torch.rand(3)
    assert train(seeded, task)[1].train == first
    assert train(seeded, task, seed=4)[1].train != first


def test_every_seed_is_another_one_and_the_same_in_every_process(seeded, task):
    losses = [
        tuple(train(seeded, task, 2, seed=seed)[1].train)
        for seed in (0, 1, 2**32, 2**61 - 1, 2**64 + 1)
    ]
    assert len(set(losses)) == 5  # the hash of 0 is that of 2**61 - 1
    assert tuple(train(seeded, task, 2, seed=np.int64(1))[1].train) == losses[1]


def test_neighbouring_seeds_and_epochs_shuffle_differently(seeded):
    orders = []

    def noted(output, target):
        orders.append(tuple(target.flatten().tolist()))
        return mse(output, target)

    numbers = torch.arange(31.0).unsqueeze(1)
    with seeded(0):
        model = nn.Linear(1, 1)
    still = torch.optim.SGD(model.parameters(), lr=0.0)
    batches = DataLoader(TensorDataset(numbers, numbers), batch_size=31, shuffle=True)
    for seed in range(5):
        fit(model, batches, noted, still, epochs=5, seed=seed, progress=False)
    assert len(set(orders)) == 25


@pytest.mark.parametrize("first", [0, 1000, 2**31])
def test_seeds_in_a_row_share_no_epoch(first):
    begins = sorted(_epoch_seed(seed, 0) for seed in range(first, first + 4000))
    assert min(b - a for a, b in pairwise(begins)) == 1_000_000
    assert _epoch_seed(first, 999_999) == _epoch_seed(first, 0) + 999_999
    assert begins[-1] < 2**32


@pytest.mark.parametrize("seed", [None, "23", 1.0, True, (0, 1)])
def test_a_seed_is_an_integer(seeded, task, seed):
    with pytest.raises(TypeError, match="seed must be an integer; got"):
        train(seeded, task, 2, seed=seed)


@pytest.mark.parametrize("seed", [-1, -2])  # whose hashes are equal
def test_a_seed_is_not_below_0(seeded, task, seed):
    with pytest.raises(ValueError, match=f"seed must be at least 0; got {seed}"):
        train(seeded, task, 2, seed=seed)


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(seeded, task, tmp_path):
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


def test_an_interruption_inside_of_an_epoch_loses_only_that_epoch(seeded, task, tmp_path):
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
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_a_checkpoint_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    file, sizes = tmp_path / "model.pt", []

    def fsync(number):
        assert not file.exists()
        sizes.append(os.fstat(number).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    checkpoint.save(file, {"epoch": 1})
    assert sizes == [file.stat().st_size]


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint", b"PK\x03\x04 half of one", b"h\x7f", b"0"]
)
def test_what_is_no_checkpoint_is_refused(tmp_path, content):
    file = tmp_path / "model.pt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.pt must be a checkpoint"):
        checkpoint.load(file)


def test_a_checkpoint_of_another_training_is_refused_and_left_alone(seeded, task, tmp_path):
    file = tmp_path / "model.pt"
    train(seeded, task, 2, file=file)
    before = file.read_bytes()

    def refused(wanted, got, model=None, **options):
        message = f"of a training with '{wanted}'; got one with '{got}'"
        with pytest.raises(ValueError, match=re.escape(message)):
            train(seeded, task, 3, model=model, file=file, **options)

    refused("seed: 4", "seed: 3", seed=4)
    refused("lr: 0.1", "lr: 0.05", make(seeded, lr=0.1))
    refused("validation: True", "validation: False", validation=[task[:]])
    model, _ = make(seeded)
    refused("SGD (", "Adam (", (model, torch.optim.SGD(model.parameters(), lr=0.05)))
    double = model.double()
    weights = "0.weight: (5, 3), torch.float"
    refused(
        f"{weights}64",
        f"{weights}32",
        (double, torch.optim.Adam(double.parameters())),
    )
    model, adam = make(seeded)
    model[1].p = 0.5
    dropout = "(1): Dropout(p=0.{}, inplace=False)"
    refused(dropout.format(5), dropout.format(2), (model, adam))
    assert file.read_bytes() == before


def test_a_refused_checkpoint_changes_neither_model_nor_optimizer(seeded, task, tmp_path):
    file = tmp_path / "model.pt"
    train(seeded, task, 2, file=file)
    model, adam = make(seeded)
    with pytest.raises(ValueError, match="seed: 4"):
        train(seeded, task, 3, model=(model, adam), file=file, seed=4)
    assert model[0].weight.equal(make(seeded)[0][0].weight)
    assert adam.state == {}


def test_a_checkpoint_that_fit_has_not_written_is_refused(seeded, task, tmp_path):
    file = tmp_path / "model.pt"
    checkpoint.save(file, make(seeded)[0].state_dict())
    with pytest.raises(ValueError, match="checkpoint of fit; got one of something"):
        train(seeded, task, 2, file=file)
    torch.save([1], file)
    with pytest.raises(ValueError, match="must be a checkpoint; got one list"):
        train(seeded, task, 2, file=file)


def test_a_missing_folder_is_named_before_anything_is_trained(seeded, task, tmp_path):
    model, adam = make(seeded)
    file = tmp_path / "none" / "model.pt"
    with pytest.raises(FileNotFoundError, match=r"in an existing folder; got no .*none"):
        train(seeded, task, 2, model=(model, adam), file=file)
    assert adam.state == {}


def without(content, *path):
    """Return a checkpoint in which one thing is emptied."""
    first, *rest = path
    emptied = without(content[first], *rest) if rest else type(content[first])()
    return {**content, first: emptied}


def altered(content, *path, value):
    first, *rest = path
    new = altered(content[first], *rest, value=value) if rest else value
    return {**content, first: new}


LEARNED = "'optimizer.0.step: (), torch.float32'; got one with 'nothing'"
WEIGHT = r"'model.0.weight: (5, 3), torch.float32'; got one with '"
ALTERED = {
    "no history": (lambda kept: without(kept, "history"), "of something else"),
    "no recipe": (lambda kept: {"model": kept["model"]}, "of something else"),
    "emptied optimizer": (
        lambda kept: without(kept, "optimizer", "state"),
        LEARNED,
    ),
    "another rate": (
        lambda kept: altered(
            kept,
            "optimizer",
            "param_groups",
            value=[{**kept["optimizer"]["param_groups"][0], "lr": 1.0}],
        ),
        "'lr': 1.0",
    ),
    "emptied model": (lambda kept: without(kept, "model"), f"{WEIGHT}nothing'"),
    "another model": (
        lambda kept: altered(kept, "model", "0.weight", value=torch.ones(3)),
        f"{WEIGHT}model.0.weight: (3,), torch.float32'",
    ),
    "no best state": (lambda kept: without(kept, "history", "best_state"), WEIGHT),
    "a late best": (
        lambda kept: altered(kept, "history", "best_epoch", value=10**9),
        "must name the best epoch, 1; got 1000000000",
    ),
    "an early best": (
        lambda kept: altered(kept, "history", "best_epoch", value=0),
        "must name the best epoch, 1; got 0",
    ),
    "no losses": (
        lambda kept: without(kept, "history", "train"),
        "a finite loss of each epoch; got 0 of training, 2 of validation",
    ),
    "a loss too few": (
        lambda kept: altered(kept, "history", "validation", value=[0.5]),
        "a finite loss of each epoch; got 2 of training, 1 of validation",
    ),
    "a loss that is none": (
        lambda kept: altered(kept, "history", "train", value=[0.5, math.nan]),
        "a finite loss of each epoch",
    ),
    "losses that are text": (
        lambda kept: altered(kept, "history", "train", value=["0", "1"]),
        "of something else",
    ),
    "another kind": (
        lambda kept: altered(kept, "history", "train", value=(0.5, 0.4)),
        "'history.train: list'; got one with 'history.train: tuple'",
    ),
}


@pytest.mark.parametrize("case", ALTERED.values(), ids=ALTERED)
def test_what_does_not_fit_is_refused_and_changes_nothing(seeded, task, tmp_path, case):
    (change, message), file = case, tmp_path / "model.pt"
    options = {"validation": [task[:]], "file": file}
    train(seeded, task, 2, **options)
    checkpoint.save(file, change(checkpoint.load(file)))
    (model, adam), before = make(seeded), file.read_bytes()
    with pytest.raises(ValueError, match=re.escape(message)) as refused:
        train(seeded, task, 5, model=(model, adam), **options)
    assert str(refused.value).startswith(f"{file} must ")
    assert str(refused.value).endswith(". Move it away, or name another file.")
    assert model[0].weight.equal(make(seeded)[0][0].weight)
    assert adam.state == {}
    assert file.read_bytes() == before


def test_without_validation_none_is_expected(seeded, task, tmp_path):
    file = tmp_path / "model.pt"
    train(seeded, task, 2, file=file)
    checkpoint.save(file, altered(checkpoint.load(file), "history", "validation", value=[1.0]))
    with pytest.raises(ValueError, match="got 2 of training, 1 of validation"):
        train(seeded, task, 3, file=file)


def full(number):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named_and_loses_nothing(seeded, task, tmp_path, monkeypatch):
    file = tmp_path / "model.pt"
    train(seeded, task, 2, file=file)
    before = file.read_bytes()
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"model\.pt must be a writable file"):
            train(seeded, task, 3, file=file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]
    assert len(train(seeded, task, 3, file=file)[1].train) == 3


def test_two_trainings_on_one_file_do_not_write_into_each_other_s(tmp_path, monkeypatch):
    file, both = tmp_path / "model.pt", [1, 2]

    def other_process(number):
        monkeypatch.setattr(os, "fsync", lambda number: None)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        checkpoint.save(file, {"writer": both[1]})
        assert checkpoint.load(file) == {"writer": 2}

    monkeypatch.setattr(os, "fsync", other_process)
    checkpoint.save(file, {"writer": both[0]})
    assert checkpoint.load(file) == {"writer": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["model.pt"]


def test_a_damaged_checkpoint_is_refused(tmp_path):
    file, content = tmp_path / "model.pt", {"weight": torch.arange(50.0)}
    checkpoint.save(file, content)
    whole = file.read_bytes()
    refused = []
    for place in range(0, len(whole), 13):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        try:
            assert checkpoint.load(file)["weight"].equal(content["weight"])
        except ValueError as error:
            refused.append(str(error))
    rule = f"{file} must be a checkpoint; it "
    assert all(message.startswith(rule) for message in refused)
    assert any("it is damaged, in " in message for message in refused)
    assert any("it cannot be read" in message for message in refused)


def test_patience_survives_an_interruption(seeded, task, tmp_path):
    x, _ = task[:]
    noise = [(x, torch.zeros(29, 1))]
    options = {"validation": noise, "patience": 3}
    _, whole = train(seeded, task, 50, model=make(seeded, lr=1.0), **options)
    file = tmp_path / "model.pt"
    for epochs in range(1, 50):  # one epoch at a time, and on after the end
        model = make(seeded, lr=1.0)
        _, history = train(seeded, task, epochs, model=model, file=file, **options)
    assert history == whole
    assert len(history.train) < 49


def test_the_best_state_is_a_copy(seeded, task):
    model, history = train(seeded, task, 2)
    kept = {name: value.clone() for name, value in history.best_state.items()}
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    for name, value in history.best_state.items():
        assert value.equal(kept[name])


def test_histories_compare_by_their_losses(seeded, task):
    first, second = train(seeded, task)[1], train(seeded, task)[1]
    assert first == second
    assert first != train(seeded, task, seed=4)[1]
    assert "tensor" not in repr(first)


def test_patience_ends_a_training_that_gets_no_better(seeded, task):
    x, _ = task[:]
    noise = [(x, torch.zeros(29, 1))]
    model = make(seeded, lr=0.0)  # nothing can get better
    _, history = train(seeded, task, 50, model=model, validation=noise, patience=3)
    assert (len(history.train), history.best_epoch) == (4, 0)
    model = make(seeded, lr=1.0)
    _, history = train(seeded, task, 50, model=model, validation=noise, patience=3)
    assert len(history.train) == history.best_epoch + 4 < 50


def test_a_checkpoint_cut_anywhere_is_refused(tmp_path):
    file = tmp_path / "model.pt"
    checkpoint.save(file, {"weight": torch.arange(5.0)})
    whole = file.read_bytes()
    for length in range(0, len(whole), 41):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="must be a checkpoint; it cannot"):
            checkpoint.load(file)


def test_a_missing_checkpoint_is_missing_and_not_broken(tmp_path):
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path / "model.pt")


@pytest.mark.parametrize("was_training", [True, False])
def test_measuring_learns_nothing_and_drops_nothing(seeded, task, was_training):
    model, _ = make(seeded)
    model.train(was_training)
    first = evaluate(model, [task[:]], mse)
    assert evaluate(model, [task[:]], mse) == first
    assert model.training is was_training


@pytest.mark.parametrize("was_training", [True, False])
def test_measuring_in_vain_leaves_the_mode(seeded, task, was_training):
    model, _ = make(seeded)
    model.train(was_training)
    with pytest.raises(RuntimeError):
        evaluate(model, [(torch.ones(2, 7), torch.ones(2))], mse)
    assert model.training is was_training


def test_what_goes_wrong_is_named(seeded, task):
    model, adam = make(seeded)
    with pytest.raises(ValueError, match="at least one batch; got none"):
        fit(model, [], mse, adam, epochs=1, seed=0, progress=False)
    with pytest.raises(ValueError, match="at least one batch; got none"):
        evaluate(model, [], mse)
    with pytest.raises(ValueError, match="losses must be finite; got nan in training"):
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
