"""`fit` trains any model, and resumes as if it had not been interrupted."""

import errno
import os
import re
from itertools import pairwise
from unittest.mock import Mock

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


@pytest.fixture
def make(seeded):
    def _make(method=torch.optim.Adam, lr=0.05, dropout=0.2, dtype=torch.float32):
        with seeded(0):
            layers = nn.Linear(3, 5), nn.Dropout(dropout), nn.ReLU(), nn.Linear(5, 1)
        model = nn.Sequential(*layers).to(dtype)
        return model, method(model.parameters(), lr=lr)

    return _make


@pytest.fixture
def train(make, task):
    """Train a model, a new one by default, and return it with its history."""

    def _train(epochs=5, made=None, **options):
        model, optimizer = made or make()
        batches = DataLoader(task, batch_size=7, shuffle=True)
        options = {"seed": 3, "progress": False, **options}
        return model, fit(model, batches, mse, optimizer, epochs=epochs, **options)

    return _train


@pytest.fixture
def file(tmp_path):
    return tmp_path / "model.pt"


def test_progress_is_shown(make, task, capsys):
    model, adam = make()
    fit(model, [task[:]], mse, adam, epochs=2, seed=0)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "loss=" in shown


def test_a_step_is_that_of_a_plain_loop(task):
    x, y = task[:]
    ours, theirs = nn.Linear(3, 1), nn.Linear(3, 1)
    theirs.load_state_dict(ours.state_dict())
    sgd = torch.optim.SGD(ours.parameters(), lr=0.1)
    history = fit(ours, [(x, y)], mse, sgd, epochs=3, seed=0, progress=False)
    sgd = torch.optim.SGD(theirs.parameters(), lr=0.1)
    for expected in history.train:
        loss = mse(theirs(x), y)
        assert loss.item() == pytest.approx(expected, rel=1e-6)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    assert ours.weight.equal(theirs.weight)


def test_the_seed_decides_and_the_global_generator_is_left_alone(train):
    state = torch.get_rng_state()
    first = train()[1]
    assert torch.get_rng_state().equal(state)
    torch.rand(3)
    assert train()[1] == first
    assert train(seed=4)[1] != first
    losses = [tuple(train(2, seed=seed)[1].train) for seed in (0, 1, 2**32, 2**61 - 1, 2**64 + 1)]
    assert len(set(losses)) == 5


def test_neighboring_seeds_and_epochs_shuffle_differently():
    orders, numbers, model = set(), torch.arange(31.0).unsqueeze(1), nn.Linear(1, 1)

    def loss(output, target):
        orders.add(tuple(target.flatten().tolist()))
        return mse(output, target)

    sgd = torch.optim.SGD(model.parameters(), lr=0.0)
    batches = DataLoader(TensorDataset(numbers, numbers), batch_size=31, shuffle=True)
    for seed in range(5):
        fit(model, batches, loss, sgd, epochs=5, seed=seed, progress=False)
    assert len(orders) == 25


@pytest.mark.parametrize("first", [0, 1000, 2**31])
def test_consecutive_seeds_share_no_epoch(first):
    begins = sorted(_epoch_seed(seed, 0) for seed in range(first, first + 4000))
    assert min(b - a for a, b in pairwise(begins)) == 1_000_000
    assert _epoch_seed(first, 999_999) == _epoch_seed(first, 0) + 999_999
    assert begins[-1] < 2**32


def test_an_interrupted_training_resumes_to_the_same_numbers(train, task, file):
    options = {"validation": [task[:]]}
    whole, expected = train(9, **options)
    train(4, **options, file=file)
    model, history = train(9, **options, file=file)
    assert history == expected
    assert history.train[-1] < history.train[0]
    assert history.validation[-1] == evaluate(model, [task[:]], mse)
    for name, value in whole.state_dict().items():
        assert model.state_dict()[name].equal(value)


def test_an_interruption_within_an_epoch_loses_only_that_epoch(make, task, file):
    model, adam = make()
    ends = Mock(side_effect=[mse] * 12 + [KeyboardInterrupt])  # in the third of epochs of five
    batches = list(DataLoader(task, batch_size=7))
    with pytest.raises(KeyboardInterrupt):
        fit(model, batches, lambda *pair: ends()(*pair), adam, epochs=9, seed=0, file=file)
    assert len(checkpoint.load(file)["history"]["train"]) == 2
    assert [path.name for path in file.parent.iterdir()] == ["model.pt"]


def test_a_full_disk_is_named_and_loses_nothing(train, file, monkeypatch):
    train(2, file=file)
    before = file.read_bytes()
    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", Mock(side_effect=OSError(errno.ENOSPC, "full")))
        with pytest.raises(OSError, match=r"model\.pt must be a writable file"):
            train(3, file=file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["model.pt"]
    assert len(train(3, file=file)[1].train) == 3


def test_a_checkpoint_is_on_the_disk_before_it_replaces_the_old_one(file, monkeypatch):
    sizes = []

    def fsync(number):
        assert not file.exists()
        sizes.append(os.fstat(number).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    checkpoint.save(file, {"epoch": 1})
    assert sizes == [file.stat().st_size]
    with pytest.raises(Exception, match="pickle"):
        checkpoint.save(file, {"epoch": lambda: 2})
    assert checkpoint.load(file) == {"epoch": 1}
    assert [path.name for path in file.parent.iterdir()] == ["model.pt"]


def test_two_processes_do_not_write_into_each_other_s_temporary_file(file, monkeypatch):
    def other_process(number):
        monkeypatch.setattr(os, "fsync", lambda number: None)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        checkpoint.save(file, {"writer": 2})
        assert checkpoint.load(file) == {"writer": 2}

    monkeypatch.setattr(os, "fsync", other_process)
    checkpoint.save(file, {"writer": 1})
    assert checkpoint.load(file) == {"writer": 1}
    assert [path.name for path in file.parent.iterdir()] == ["model.pt"]


def test_a_missing_file_a_text_a_list_and_code_are_refused(file):
    with pytest.raises(FileNotFoundError):
        checkpoint.load(file)
    for content, message in ((b"text", "it cannot be read as one"), ([1], "got one list")):
        file.write_bytes(content) if isinstance(content, bytes) else torch.save(content, file)
        with pytest.raises(ValueError, match=rf"model\.pt must be a checkpoint; {message}"):
            checkpoint.load(file)
    checkpoint.save(file, {"weight": print})
    with pytest.raises(ValueError, match="it cannot be read as one"):
        checkpoint.load(file)


def test_a_damaged_checkpoint_is_refused(file):
    content = {"weight": torch.arange(50.0)}
    checkpoint.save(file, content)
    whole, refused = file.read_bytes(), []
    for i in range(0, len(whole), 13):
        file.write_bytes(whole[:i] + bytes([whole[i] ^ 64]) + whole[i + 1 :])
        try:
            assert checkpoint.load(file)["weight"].equal(content["weight"])
        except ValueError as error:
            refused.append(str(error))
    assert all(message.startswith(f"{file} must be a checkpoint; it ") for message in refused)
    assert any("it is damaged, in " in message for message in refused)
    assert any("it cannot be read" in message for message in refused)
    for length in range(0, len(whole), 41):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="must be a checkpoint; it cannot"):
            checkpoint.load(file)


WEIGHT = "0.weight: (5, 3), torch.float"
OTHERS = [
    ("seed: 4", "seed: 3", {}, {"seed": 4}),
    ("validation: True", "validation: False", {}, {"validation": []}),
    ("lr: 0.1", "lr: 0.05", {"lr": 0.1}, {}),
    ("SGD (", "Adam (", {"method": torch.optim.SGD}, {}),
    (f"{WEIGHT}64", f"{WEIGHT}32", {"dtype": torch.float64}, {}),
    ("(1): Dropout(p=0.5, inplace=False)", "(1): Dropout(p=0.2, inplace=False)", {"dropout": 0.5}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "got", "changes", "options"), OTHERS)
def test_a_checkpoint_of_another_training_is_refused(
    train, make, file, wanted, got, changes, options
):
    train(2, file=file)
    before, (model, optimizer) = file.read_bytes(), make(**changes)
    message = f"of a training with '{wanted}'; got one with '{got}'. Move it away, or name another"
    with pytest.raises(ValueError, match=re.escape(message)):
        train(3, (model, optimizer), file=file, **options)
    assert file.read_bytes() == before
    assert model[0].weight.equal(make(**changes)[0][0].weight)
    assert optimizer.state == {}


@pytest.mark.parametrize("content", [{"history": {}}, {"recipe": torch.ones(2)}])
def test_a_checkpoint_of_something_else_is_refused(train, file, content):
    checkpoint.save(file, content)
    with pytest.raises(ValueError, match="checkpoint of this training; got one of something else"):
        train(2, file=file)


def test_a_missing_folder_is_named_before_training(train, make, tmp_path):
    model, adam = make()
    with pytest.raises(FileNotFoundError, match=r"in an existing folder; got no .*none"):
        train(2, (model, adam), file=tmp_path / "none" / "model.pt")
    assert adam.state == {}


@pytest.mark.parametrize("was_training", [True, False])
def test_evaluation_is_without_dropout_and_restores_the_mode(make, task, was_training):
    model, _ = make()
    model.train(was_training)
    first = evaluate(model, [task[:]], mse)
    assert evaluate(model, [task[:]], mse) == first
    with pytest.raises(RuntimeError):
        evaluate(model, [(torch.ones(2, 7), torch.ones(2))], mse)
    assert model.training is was_training


def test_no_batches_and_a_loss_that_is_not_finite_are_refused(make, task):
    model, adam = make()
    options = {"epochs": 1, "seed": 0, "progress": False}
    with pytest.raises(ValueError, match="at least one batch; got none"):
        fit(model, [], mse, adam, **options)
    with pytest.raises(ValueError, match="at least one batch; got none"):
        evaluate(model, [], mse)
    with pytest.raises(ValueError, match="losses must be finite; got nan in training"):
        fit(model, [task[:]], lambda a, b: (a - b).mean() * torch.nan, adam, **options)
