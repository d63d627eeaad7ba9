"""Data-parallel training takes the same steps as one machine."""

import pytest
import torch

from selfattn_book.experiments.data_parallel import Recipe, train
from selfattn_book.experiments.ranks import run_on_ranks
from selfattn_book.experiments.walks import HOURS, new_model, next_hour_loss, random_walks

SHORT = Recipe(num_walks=48, batch_size=12)


@pytest.fixture(scope="module")
def alone():
    model = new_model(0)
    return model, train(model, SHORT, 3)


def train_on(ranks, models, recipe, epochs, **options):
    return run_on_ranks(
        ranks, lambda group: train(models[group.rank()], recipe, epochs, group=group, **options)
    )


def state_of(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def assert_same(model, losses, alone):
    assert losses == pytest.approx(alone[1], rel=0, abs=1e-10)
    torch.testing.assert_close(state_of(model), state_of(alone[0]), rtol=0, atol=1e-8)


def test_one_rank_trains_as_a_plain_loop(alone):
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
    assert_same(model, losses, alone)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_any_number_of_ranks_gives_the_same_numbers(ranks, alone):
    models = [new_model(seed) for seed in range(ranks)]  # all start from the first
    for model, losses in zip(models, train_on(ranks, models, SHORT, 3), strict=True):
        assert_same(model, losses, alone)


@pytest.mark.parametrize(
    ("recipe", "ranks", "message"),
    [
        (Recipe(batch_size=16), 3, "batch must be a multiple of the number of ranks, 3; got 16"),
        (Recipe(num_walks=250), 1, "walks must be a multiple of the batch, 16; got 250"),
    ],
)
def test_uneven_batches_are_refused_and_nothing_is_written(recipe, ranks, message, tmp_path):
    models = [new_model(0) for _ in range(ranks)]
    with pytest.raises(ValueError, match=message):
        train_on(ranks, models, recipe, 1, file=tmp_path / "kept.pt")
    assert list(tmp_path.iterdir()) == []


def test_one_rank_resumes_a_training_of_two(tmp_path, alone):
    file = tmp_path / "kept.pt"
    train_on(2, [new_model(0), new_model(0)], SHORT, 2, file=file)
    assert [path.name for path in tmp_path.iterdir()] == ["kept.pt"]  # written by one
    model = new_model(5)
    assert_same(model, train(model, SHORT, 3, file=file), alone)


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    file = tmp_path / "kept.pt"
    train(new_model(0), SHORT, 1, file=file)
    with pytest.raises(ValueError, match="with 'seed: 1'; got one with 'seed: 0'"):
        train(new_model(0), Recipe(num_walks=48, batch_size=12, seed=1), 2, file=file)
    with pytest.raises(ValueError, match="float32"):
        train(new_model(0).float(), SHORT, 2, file=file)


def test_walks_go_one_hour_at_a_time_in_both_directions():
    steps = (random_walks(200, seed=0).diff() % HOURS).flatten()
    assert set(steps.tolist()) == {1, HOURS - 1}
    assert 0.45 < (steps == 1).double().mean() < 0.55


def test_making_a_model_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    new_model(0)
    assert torch.equal(torch.get_rng_state(), before)
