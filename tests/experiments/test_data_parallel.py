"""Ranks that share each batch take the steps that one of them would take alone."""

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.data_parallel import Recipe, own_batches, train
from selfattn_book.experiments.ranks import run_on_ranks
from selfattn_book.experiments.walks import (
    HOURS,
    new_model,
    next_hour_loss,
    random_walks,
)

SHORT = Recipe(walks=48, batch=12)


@pytest.fixture(scope="module")
def alone():
    model = new_model(0)
    return model, train(model, SHORT, 3)


def state_of(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_alone_it_is_an_ordinary_training(alone):
    model, walks = new_model(0), random_walks(48, seed=0)
    adam, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for epoch in range(3):
        order = torch.randperm(48, generator=torch.Generator().manual_seed(epoch))
        own = []
        for batch in walks[order].split(12):
            loss = next_hour_loss(model, batch)
            adam.zero_grad()
            loss.backward()
            adam.step()
            own.append(loss.item())
        losses.append(sum(own) / 4)
    assert alone[1] == pytest.approx(losses, rel=0, abs=1e-10)
    torch.testing.assert_close(state_of(model), state_of(alone[0]))


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_however_many_ranks_the_numbers_are_the_same(ranks, alone):
    models = [new_model(seed) for seed in range(ranks)]  # only the first one counts
    made = run_on_ranks(ranks, lambda group: train(models[group.rank()], SHORT, 3, group=group))
    for model, losses in zip(models, made, strict=True):
        assert losses == pytest.approx(alone[1], rel=0, abs=1e-10)
        torch.testing.assert_close(state_of(model), state_of(alone[0]), rtol=0, atol=1e-8)


def test_gradients_are_those_of_the_whole_batch():
    walks, whole = random_walks(6, seed=3), new_model(1)
    next_hour_loss(whole, walks).backward()
    models = [new_model(1), new_model(1)]

    def work(group):
        replica = DistributedDataParallel(models[group.rank()], process_group=group)
        next_hour_loss(replica, walks.chunk(2)[group.rank()]).backward()

    run_on_ranks(2, work)
    for model in models:
        for own, wanted in zip(model.parameters(), whole.parameters(), strict=True):
            torch.testing.assert_close(own.grad, wanted.grad, rtol=0, atol=1e-14)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_together_the_shares_are_the_batches_of_one(ranks):
    def read(rank, ranks, epoch):
        batches, sampler = own_batches(SHORT, rank, ranks)
        sampler.set_epoch(epoch)
        return [walks for (walks,) in batches]

    for epoch in (0, 1):
        shares = zip(*(read(r, ranks, epoch) for r in range(ranks)), strict=True)
        for parts, whole in zip(shares, read(0, 1, epoch), strict=True):
            together = torch.cat(parts).tolist()
            assert sorted(together) == sorted(whole.tolist())


def test_each_epoch_has_an_order_of_its_own():
    batches, sampler = own_batches(SHORT, 0, 2)
    first = torch.cat([walks for (walks,) in batches])
    sampler.set_epoch(1)
    second = torch.cat([walks for (walks,) in batches])
    assert not torch.equal(first, second)


@pytest.mark.parametrize(
    ("recipe", "ranks", "message"),
    [
        (
            Recipe(batch=16),
            3,
            "batch must be a multiple of the number of ranks, 3; got 16",
        ),
        (
            Recipe(walks=250),
            1,
            "walks must be a multiple of the batch, 16; got 250",
        ),
        (Recipe(batch=0), 1, "batch must be at least 1; got 0"),
        (Recipe(walks=0), 1, "walks must be at least 1; got 0"),
    ],
)
def test_what_cannot_be_shared_is_refused_and_nothing_is_written(recipe, ranks, message, tmp_path):
    file = tmp_path / "kept.pt"
    models = [new_model(0) for _ in range(ranks)]  # here: chance is one for all ranks
    with pytest.raises(ValueError, match=message):
        run_on_ranks(
            ranks,
            lambda group: train(models[group.rank()], recipe, 1, group=group, file=file),
        )
    assert list(tmp_path.iterdir()) == []


def test_epochs_are_at_least_one():
    with pytest.raises(ValueError, match="epochs must be at least 1; got 0"):
        train(new_model(0), SHORT, 0)


def test_what_two_ranks_began_one_can_go_on_with(tmp_path, alone):
    file = tmp_path / "kept.pt"
    models = [new_model(0), new_model(0)]
    run_on_ranks(
        2,
        lambda group: train(models[group.rank()], SHORT, 2, group=group, file=file),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["kept.pt"]  # one has written
    model = new_model(5)
    losses = train(model, SHORT, 3, file=file)
    assert losses == pytest.approx(alone[1], rel=0, abs=1e-10)
    torch.testing.assert_close(state_of(model), state_of(alone[0]), rtol=0, atol=1e-8)


def test_another_recipe_is_refused(tmp_path):
    file = tmp_path / "kept.pt"
    train(new_model(0), SHORT, 1, file=file)
    with pytest.raises(ValueError, match="with 'seed: 1'; got one with 'seed: 0'"):
        train(new_model(0), Recipe(walks=48, batch=12, seed=1), 2, file=file)


def test_another_model_is_refused(tmp_path):
    file = tmp_path / "kept.pt"
    train(new_model(0), SHORT, 1, file=file)
    with pytest.raises(ValueError, match="float32"):
        train(new_model(0).float(), SHORT, 2, file=file)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    file = tmp_path / "kept.pt"
    checkpoint.save(file, {"weights": torch.ones(2)})
    with pytest.raises(ValueError, match="must be a checkpoint of this training"):
        train(new_model(0), SHORT, 1, file=file)


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be in an existing folder"):
        train(new_model(0), SHORT, 1, file=tmp_path / "none" / "kept.pt")


def test_walks_go_one_hour_at_a_time_and_both_ways():
    walks = random_walks(200, seed=0)
    steps = (walks.diff() % HOURS).flatten()
    assert set(steps.tolist()) == {1, HOURS - 1}
    assert 0.45 < (steps == 1).double().mean() < 0.55


def test_a_model_does_not_touch_the_seed_of_others(seeded):
    with seeded(3):
        expected = torch.rand(2)
    with seeded(3):
        new_model(0)
        assert torch.equal(torch.rand(2), expected)
