"""Training many seeds side by side equals training them one by one."""

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from selfattn_book.encoder_decoder import COURSE_SIZES, EncoderDecoder
from selfattn_book.experiments.many_seeds import fit_seeds
from selfattn_book.experiments.training import fit
from selfattn_book.experiments.words import (
    AttentionClassifier,
    MeanClassifier,
    PositionClassifier,
    case_study,
)
from selfattn_book.positions import PositionalEncoding

WIDTH, EPOCHS, SEEDS, LR = 3, 53, [5, 2, 11], 0.05


@pytest.fixture
def data():
    tokens, labels = case_study()
    return tokens, labels.double()


@pytest.fixture
def train(data):
    """Train a classifier from some seeds."""

    def _train(kind, *, epochs=EPOCHS, **options):
        return fit_seeds(
            lambda: kind(WIDTH).double(),
            *data,
            binary_cross_entropy_with_logits,
            epochs=epochs,
            **{"seeds": SEEDS, "lr": LR, "progress": False, **options},
        )

    return _train


def train_alone(make, inputs, targets, loss, *, epochs=EPOCHS, lr=LR):
    model, losses = make(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        value = loss(model(inputs), targets)
        losses.append(value.detach())
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    losses.append(loss(model(inputs), targets).detach())
    return torch.stack(losses), model


@pytest.mark.parametrize("kind", [MeanClassifier, PositionClassifier, AttentionClassifier])
def test_side_by_side_equals_one_by_one(train, data, seeded, kind):
    losses, models = train(kind)
    assert losses.shape == (EPOCHS + 1, len(SEEDS))
    assert not losses.requires_grad
    assert len(models) == len(SEEDS)
    for number, seed in enumerate(SEEDS):
        with seeded(seed):
            alone, model = train_alone(
                lambda: kind(WIDTH).double(), *data, binary_cross_entropy_with_logits
            )
        torch.testing.assert_close(losses[:, number], alone, rtol=0, atol=1e-12)
        for (name, ours), theirs in zip(
            models[number].named_parameters(), model.parameters(), strict=True
        ):
            # A key's bias has a gradient of zero: Adam makes steps of its rounding.
            atol = 1e-6 if name == "attention.project_key.bias" else 1e-12
            torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)
            assert ours.requires_grad


def test_encoder_decoders_train_side_by_side_as_they_do_alone(draw, seeded):
    """vmap has no rule for the fused kernel of the CPU, and would warn that it is slow."""
    source, shifted, target = draw(3, 5, 2, 2)
    together, _ = fit_seeds(
        lambda: EncoderDecoder(**COURSE_SIZES).double(),
        (source, shifted),
        target,
        mse_loss,
        seeds=[0, 1],
        epochs=4,
        progress=False,
    )
    for seed, losses in enumerate(together.T):
        with seeded(seed):
            model = EncoderDecoder(**COURSE_SIZES).double()
        adam = torch.optim.Adam(model.parameters(), lr=0.01)
        batches = [(source, shifted, target)]
        history = fit(model, batches, mse_loss, adam, epochs=4, seed=0, progress=False)
        torch.testing.assert_close(losses[:4].tolist(), history.train)


def parameters(models):
    return [p.tolist() for model in models for p in model.parameters()]


@pytest.mark.parametrize("batch_size", [None, 3])
def test_snapshots_are_the_models_of_a_shorter_training(train, batch_size):
    snapshots = {0: [], 7: []}
    losses, models = train(AttentionClassifier, batch_size=batch_size, snapshots=snapshots)
    plain, same = train(AttentionClassifier, batch_size=batch_size)
    assert losses.equal(plain)
    assert parameters(models) == parameters(same)
    for epochs in (7, 1):
        _, short = train(AttentionClassifier, epochs=epochs, batch_size=batch_size)
        assert (parameters(snapshots[7]) == parameters(short)) == (epochs == 7)
    assert len(snapshots[0]) == len(SEEDS)
    assert parameters(snapshots[0]) != parameters(models)


def test_the_seeds_decide_and_the_global_generator_is_left_alone(train):
    before = torch.get_rng_state()
    first, _ = train(AttentionClassifier)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(1)
    assert torch.equal(first, train(AttentionClassifier)[0])


def test_frozen_parameters_stay(draw, seeded):
    def make():
        model = nn.Linear(WIDTH, 1).double()
        model.bias.requires_grad_(False)
        return model

    x = draw(7, WIDTH)
    options = {"seeds": SEEDS, "epochs": 5, "progress": False}
    _, (model, *_) = fit_seeds(make, x, x[:, :1], mse_loss, **options)
    with seeded(SEEDS[0]):
        untrained = make()
    assert torch.equal(model.bias, untrained.bias)
    assert not torch.equal(model.weight, untrained.weight)


def test_buffers_are_used(draw, seeded):
    def make():
        return nn.Sequential(PositionalEncoding(WIDTH, 7), nn.Linear(WIDTH, 1)).double()

    x, y = draw(2, 7, WIDTH), draw(2, 7, 1, seed=1)
    options = {"epochs": 11, "lr": LR}
    losses, _ = fit_seeds(make, x, y, mse_loss, seeds=SEEDS, progress=False, **options)
    with seeded(SEEDS[1]):
        alone, _ = train_alone(make, x, y, mse_loss, **options)
    torch.testing.assert_close(losses[:, 1], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_on_request(train, capsys, progress):
    train(MeanClassifier, epochs=2, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("2/2" in err or "0/2" in err) == progress


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_loss_that_is_not_finite_ends_the_training(train, data, epochs):
    message = r"losses must be finite; got \[.*(nan|inf).*\] in epoch 1"
    with pytest.raises(ValueError, match=f"^{message}$"):
        train(AttentionClassifier, lr=1e200, epochs=epochs)
    data[1][0] = torch.nan
    with pytest.raises(ValueError, match=r"got \[nan, nan, nan\] in epoch 0$"):
        train(MeanClassifier)


class Line(nn.Module):
    """A line through a point: two inputs, so that the order of arguments matters."""

    def __init__(self):
        super().__init__()
        self.gradient = nn.Parameter(torch.rand(()))

    def forward(self, x, start):
        return self.gradient * x + start


def test_each_seed_shuffles_its_own_batches(seeded):
    x = torch.linspace(-1, 1, 7)
    start, target = x.square(), 3 * x + x.square()
    losses, models = fit_seeds(
        Line, (x, start), target, mse_loss,
        seeds=SEEDS, epochs=4, batch_size=3, lr=LR, progress=False,
    )  # fmt: skip
    for number, seed in enumerate(SEEDS):
        with seeded(seed):
            model = Line()
        optimizer = torch.optim.Adam(model.parameters(), lr=LR)
        generator = torch.Generator().manual_seed(seed)
        for epoch in range(4):
            steps = []
            for chosen in torch.randperm(7, generator=generator).split(3):
                optimizer.zero_grad()
                steps.append(mse_loss(model(x[chosen], start[chosen]), target[chosen]))
                steps[-1].backward()
                optimizer.step()
            mean = torch.stack(steps).mean()
            torch.testing.assert_close(losses[epoch, number], mean.detach())
        last = mse_loss(model(x, start), target).detach()
        torch.testing.assert_close(losses[4, number], last)
        torch.testing.assert_close(models[number].gradient, model.gradient)
