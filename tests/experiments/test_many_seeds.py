"""Training many seeds in parallel equals training each alone, for every kind of model of the book."""

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss
from torch.optim import SGD, Adam

from selfattn_book.blocks import DecoderStack, EncoderStack
from selfattn_book.encoder_decoder import COURSE_SIZES, Decoder, EncoderDecoder
from selfattn_book.experiments.ablation import without
from selfattn_book.experiments.lookup import Lookup
from selfattn_book.experiments.many_seeds import fit_seeds, scheduled
from selfattn_book.experiments.words import (
    AttentionClassifier,
    MeanClassifier,
    PositionClassifier,
    case_study,
)
from selfattn_book.masks import causal_mask
from selfattn_book.positions import PositionalEncoding

SEEDS, LR, EPOCHS = [5, 2, 11], 0.05, 6
B, T, D = 7, 3, 2
MASK = causal_mask(T).expand(B, 1, T, T)


def frozen():
    layer = nn.Linear(D, D)
    layer.bias.requires_grad_(False)
    return layer


def tied():
    layer = nn.Linear(D, D)
    return nn.Sequential(layer, nn.ReLU(), layer)


def stack(*parts, norm_first=True):
    return without(EncoderStack(2, D, 2, d_ff=5, norm_first=norm_first), *parts)


# How to make each kind, the number of its inputs, and its masks.
WORDS = {
    "mean": MeanClassifier,
    "position": PositionClassifier,
    "attention": lambda: AttentionClassifier(3),
    "two heads": lambda: AttentionClassifier(6, num_heads=2),
}
PAIR = {**COURSE_SIZES, "positions": True}
SEQUENCES = {
    "lookup": (lambda: Lookup(D - 1, 5, divisor=2), 1, []),
    "table": (lambda: nn.Sequential(PositionalEncoding(D, T), nn.Linear(D, D)), 1, []),
    "tied weights": (tied, 1, []),
    "a frozen bias": (frozen, 1, []),
    "decoder": (lambda: Decoder(**COURSE_SIZES), 2, [MASK]),
    "pair": (lambda: EncoderDecoder(**COURSE_SIZES), 2, []),
    "pair with positions": (lambda: EncoderDecoder(**PAIR), 2, []),
    "pair with a mask": (lambda: EncoderDecoder(**COURSE_SIZES), 2, [MASK[..., :1, :]]),
    "decoder stack": (lambda: DecoderStack(2, D, 2, d_ff=5), 2, [MASK, MASK]),
    "stack": (stack, 1, [MASK]),
    "post-norm stack": (lambda: stack(norm_first=False), 1, [MASK]),
    "no attention": (lambda: stack("attention"), 1, [MASK]),
    "no feed-forward": (lambda: stack("feed-forward"), 1, [MASK]),
    "no norm": (lambda: stack("norm"), 1, [MASK]),
}


def loss_of_states(output, targets):
    return mse_loss(output[0] if isinstance(output, tuple) else output, targets)


@pytest.fixture
def recipe(draw):
    """Return how to make a kind of model, its inputs, its targets and its loss."""

    def _recipe(kind):
        if kind in WORDS:
            tokens, labels = case_study()
            loss = binary_cross_entropy_with_logits
            return lambda: WORDS[kind]().double(), (tokens,), labels.double(), loss
        make, number, masks = SEQUENCES[kind]
        *inputs, targets = (draw(B, T, D, seed=seed) for seed in range(number + 1))
        targets = targets[:, 0, 0] if kind == "lookup" else targets
        return lambda: make().double(), (*inputs, *masks), targets, loss_of_states

    return _recipe


@pytest.fixture
def train(recipe):
    """Train a kind of model from some seeds."""

    def _train(kind, **options):
        given = {"seeds": SEEDS, "epochs": EPOCHS, "lr": LR, "progress": False, **options}
        return fit_seeds(*recipe(kind), **given)

    return _train


def train_alone(model, inputs, targets, loss, *, seed, method, epochs, batch_size):
    optimizer, losses = method(model.parameters(), lr=LR), []
    generator, count = torch.Generator().manual_seed(seed), len(targets)
    for _ in range(epochs):
        order, steps = torch.arange(count), []
        if batch_size is not None:
            order = torch.randperm(count, generator=generator)
        for chosen in order.split(batch_size or count):
            optimizer.zero_grad()
            steps.append(loss(model(*(x[chosen] for x in inputs)), targets[chosen]))
            steps[-1].backward()
            optimizer.step()
        losses.append(torch.stack(steps).mean().detach())
    return torch.stack([*losses, loss(model(*inputs), targets).detach()])


# Rounding differs between processors, and Adam makes whole steps of it where gradients are small.
METHODS = dict.fromkeys(WORDS, (Adam, 53, 1e-11)) | dict.fromkeys(SEQUENCES, (SGD, 6, 1e-10))


@pytest.mark.parametrize("batch_size", [None, 3])
@pytest.mark.parametrize("kind", METHODS)
def test_in_parallel_equals_each_alone(train, recipe, seeded, kind, batch_size):
    method, epochs, atol = METHODS[kind]
    options = {"method": method, "epochs": epochs, "batch_size": batch_size}
    losses, models = train(kind, **options)
    assert losses.shape == (epochs + 1, len(SEEDS))
    assert not losses.requires_grad
    make, *task = recipe(kind)
    for seed, found, ours in zip(SEEDS, losses.T, models, strict=True):
        with seeded(seed):
            model = make()
        alone = train_alone(model, *task, seed=seed, **options)
        torch.testing.assert_close(found, alone, rtol=0, atol=atol)
        for (name, p), expected in zip(ours.named_parameters(), model.parameters(), strict=True):
            # A key's bias has a gradient of zero, up to rounding.
            largest = 1e-6 if name.endswith("project_key.bias") else atol
            torch.testing.assert_close(p, expected, rtol=0, atol=largest)
            assert p.requires_grad == expected.requires_grad


@pytest.mark.parametrize(
    ("batch_size", "method"), [(None, Adam), (3, scheduled(lambda t: 1 / (t + 1)))]
)
def test_models_with_rates_of_their_own_equal_those_trained_with_one(train, batch_size, method):
    options = {"batch_size": batch_size, "method": method}
    rates = [LR, LR / 4, LR / 4]
    losses, models = train("attention", lr=rates, **options)
    for column, rate in enumerate(rates):
        expected, others = train("attention", lr=rate, **options)
        torch.testing.assert_close(losses[:, column], expected[:, column], rtol=0, atol=1e-11)
        for p, other in zip(models[column].parameters(), others[column].parameters(), strict=True):
            torch.testing.assert_close(p, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("rates", [[LR] * 2, [LR] * 4, []])
def test_each_seed_needs_a_rate(train, rates):
    with pytest.raises(ValueError, match=r"there must be a learning rate for each of 3 seeds; got"):
        train("attention", lr=rates)


def parameters(models):
    return [p.tolist() for model in models for p in model.parameters()]


@pytest.mark.parametrize("batch_size", [None, 3])
def test_snapshots_are_the_models_of_a_shorter_training(train, batch_size):
    snapshots = {0: [], 4: []}
    losses, models = train("attention", batch_size=batch_size, snapshots=snapshots)
    plain, same = train("attention", batch_size=batch_size)
    assert losses.equal(plain)
    assert parameters(models) == parameters(same)
    for epochs in (4, 1):
        _, short = train("attention", epochs=epochs, batch_size=batch_size)
        assert (parameters(snapshots[4]) == parameters(short)) == (epochs == 4)
    assert len(snapshots[0]) == len(SEEDS)
    assert parameters(snapshots[0]) != parameters(models)


def test_the_seeds_decide_and_the_global_generator_is_left_alone(train):
    before = torch.get_rng_state()
    first, _ = train("attention")
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(1)
    assert torch.equal(first, train("attention")[0])


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_on_request(train, capsys, progress):
    train("mean", epochs=2, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("2/2" in err or "0/2" in err) == progress


@pytest.mark.parametrize("epochs", [1, 3])
def test_a_loss_that_is_not_finite_ends_the_training(train, recipe, epochs):
    message = r"losses must be finite; got \[.*(nan|inf).*\] in epoch 1"
    with pytest.raises(ValueError, match=f"^{message}$"):
        train("attention", lr=1e200, epochs=epochs)
    make, inputs, labels, loss = recipe("mean")
    labels[0] = torch.nan
    with pytest.raises(ValueError, match=r"got \[nan, nan, nan\] in epoch 0$"):
        fit_seeds(make, inputs, labels, loss, seeds=SEEDS, epochs=1, progress=False)


def test_dropout_is_refused(draw):
    """vmap would have to draw for each model by itself."""
    x, options = draw(B, D), {"seeds": [0], "epochs": 3, "progress": False}
    with pytest.raises(RuntimeError, match="random"):
        fit_seeds(
            lambda: nn.Sequential(frozen(), nn.Dropout(0.5)).double(), x, x, mse_loss, **options
        )
