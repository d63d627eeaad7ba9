"""Side by side is as good as one by one, nothing is drawn from outside, and nothing is lost."""

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
KINDS = [MeanClassifier, PositionClassifier, AttentionClassifier]

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def data():
    tokens, labels = case_study()
    return tokens, labels.double()


@pytest.fixture
def train(data):
    """Train a classifier from some seeds, or from one alone, by a loop."""

    def _train(kind, seeds=SEEDS, *, epochs=EPOCHS, **options):
        return fit_seeds(
            lambda: kind(WIDTH).double(),
            *data,
            binary_cross_entropy_with_logits,
            seeds=seeds,
            epochs=epochs,
            **{"lr": LR, "progress": False, **options},
        )

    return _train


def train_alone(make, inputs, targets, loss, *, epochs=EPOCHS, lr=LR):
    """The loop that every course shows."""
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


@each_kind
def test_side_by_side_equals_one_by_one(train, data, seeded, kind):
    losses, models = train(kind)
    assert losses.shape == (EPOCHS + 1, len(SEEDS))
    assert len(models) == len(SEEDS)
    for number, seed in enumerate(SEEDS):
        with seeded(seed):
            alone, model = train_alone(
                lambda: kind(WIDTH).double(),
                *data,
                binary_cross_entropy_with_logits,
            )
        torch.testing.assert_close(losses[:, number], alone, rtol=0, atol=1e-12)
        for (name, ours), theirs in zip(
            models[number].named_parameters(), model.parameters(), strict=True
        ):
            # A key's bias has a gradient of zero: Adam makes steps of its rounding.
            atol = 1e-6 if name == "attention.project_key.bias" else 1e-12
            torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)


@each_kind
@pytest.mark.parametrize("batch_size", [None, 3])
def test_copies_on_the_way_are_what_a_shorter_training_gives(train, kind, batch_size):
    copies = {0: [], 7: []}
    losses, models = train(kind, batch_size=batch_size, on_the_way=copies)
    plain, same = train(kind, batch_size=batch_size)
    assert losses.equal(plain)
    assert parameters(models) == parameters(same)
    for epochs in (7, 1):
        _, short = train(kind, epochs=epochs, batch_size=batch_size)
        assert (parameters(copies[7]) == parameters(short)) == (epochs == 7)
    assert len(copies[0]) == len(SEEDS)
    assert parameters(copies[0]) != parameters(models)


def parameters(models):
    return [p.tolist() for model in models for p in model.parameters()]


@each_kind
def test_models_come_back_trained(train, data, kind):
    losses, models = train(kind)
    for model, last in zip(models, losses[-1], strict=True):
        logits = model(data[0])
        now = binary_cross_entropy_with_logits(logits, data[1])
        torch.testing.assert_close(now, last, rtol=0, atol=1e-14)
        assert isinstance(model, kind)
        assert all(parameter.requires_grad for parameter in model.parameters())


def test_models_share_no_memory(train):
    _, (first, second, _) = train(MeanClassifier, epochs=1)
    before = second.judge.weight.clone()
    with torch.no_grad():
        first.judge.weight.zero_()
    assert torch.equal(second.judge.weight, before)


def test_losses_carry_no_gradient(train):
    losses, _ = train(MeanClassifier, epochs=1)
    assert not losses.requires_grad
    assert losses.dtype == torch.float64


# Contract, "randomness": the seeds decide, and nothing outside is moved.
def test_the_global_generator_is_left_alone(train, seeded):
    with seeded(0):
        before = torch.get_rng_state()
        first, _ = train(AttentionClassifier)
        assert torch.equal(torch.get_rng_state(), before)
    with seeded(1):
        second, _ = train(AttentionClassifier)
    assert torch.equal(first, second)


def test_a_model_that_cannot_be_made_leaves_the_generator_alone(train):
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="d_model must be divisible by num_heads"):
        train(lambda width: AttentionClassifier(width, num_heads=2))
    assert torch.equal(torch.get_rng_state(), before)


@each_kind
def test_the_order_of_the_seeds_does_not_matter(train, kind):
    losses, _ = train(kind)
    turned, _ = train(kind, SEEDS[::-1])
    torch.testing.assert_close(losses.flip(1), turned, rtol=0, atol=1e-12)
    assert len(losses[-1].unique()) == len(SEEDS)


def test_data_are_left_alone(train, data):
    before = [x.clone() for x in data]
    train(PositionClassifier, epochs=2)
    assert all(map(torch.equal, data, before))


# What a model may bring along.
def test_frozen_parameters_stay(draw):
    def make():
        model = nn.Linear(WIDTH, 1).double()
        model.bias.requires_grad_(False)
        return model

    x = draw(7, WIDTH)
    sizes = {"seeds": SEEDS, "epochs": 5, "progress": False}
    _, (model, *_) = fit_seeds(make, x, x[:, :1], mse_loss, **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEEDS[0])
        fresh = make()
    assert torch.equal(model.bias, fresh.bias)
    assert not torch.equal(model.weight, fresh.weight)


def test_tables_are_read(draw, seeded):
    def make():
        return nn.Sequential(PositionalEncoding(WIDTH, 7), nn.Linear(WIDTH, 1)).double()

    x, y = draw(2, 7, WIDTH), draw(2, 7, 1, seed=1)
    sizes = {"epochs": 11, "lr": LR}
    losses, _ = fit_seeds(make, x, y, mse_loss, seeds=SEEDS, progress=False, **sizes)
    with seeded(SEEDS[1]):
        alone, _ = train_alone(make, x, y, mse_loss, **sizes)
    torch.testing.assert_close(losses[:, 1], alone, rtol=0, atol=1e-12)


def test_the_learning_rate_of_the_course_is_the_default(train, data):
    losses, _ = fit_seeds(
        lambda: MeanClassifier(WIDTH).double(),
        *data,
        binary_cross_entropy_with_logits,
        seeds=SEEDS,
        epochs=EPOCHS,
        progress=False,
    )
    assert torch.equal(losses, train(MeanClassifier, lr=0.01)[0])


@pytest.mark.parametrize("progress", [True, False])
def test_progress_is_shown_if_wanted(train, capsys, progress):
    train(MeanClassifier, epochs=2, progress=progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("2/2" in err or "0/2" in err) == progress
    assert fit_seeds.__kwdefaults__["progress"]


# What is wrong is named, after the rule.
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seeds": []}, ValueError, "there must be at least one seed; got none"),
        ({"epochs": 0}, ValueError, "epochs must be at least 1; got 0"),
        ({"epochs": 2.5}, TypeError, "epochs must be an integer; got 2.5"),
        ({"epochs": True}, TypeError, "epochs must be an integer; got True"),
    ],
)
def test_recipes_are_refused(train, options, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        train(MeanClassifier, **options)


@pytest.mark.parametrize(("lr", "epochs"), [(1e200, 1), (1e200, 3)])
def test_a_loss_that_is_no_number_ends_the_training(train, lr, epochs):
    message = r"losses must be finite; got \[.*(nan|inf).*\] in epoch 1"
    with pytest.raises(ValueError, match=f"^{message}$"):
        train(AttentionClassifier, lr=lr, epochs=epochs)


def test_a_loss_that_begins_as_no_number_is_named(train, data):
    data[1][0] = torch.nan
    with pytest.raises(ValueError, match=r"got \[nan, nan, nan\] in epoch 0$"):
        train(MeanClassifier)


class Slope(nn.Module):
    """A line through a point: two inputs, so that the order of arguments matters."""

    def __init__(self):
        super().__init__()
        self.slope = nn.Parameter(torch.rand(()))

    def forward(self, x, start):
        return self.slope * x + start


def line():
    x = torch.linspace(-1, 1, 7)
    return x, x.square(), 3 * x + x.square()


def test_batches_are_dealt_to_each_seed_in_its_own_order(seeded):
    x, start, target = line()
    losses, models = fit_seeds(
        Slope, (x, start), target, mse_loss,
        seeds=SEEDS, epochs=4, batch_size=3, lr=LR, progress=False,
    )  # fmt: skip
    for number, seed in enumerate(SEEDS):
        with seeded(seed):
            model = Slope()
        optimizer = torch.optim.Adam(model.parameters(), lr=LR)
        chance = torch.Generator().manual_seed(seed)
        for epoch in range(4):
            steps = []
            for chosen in torch.randperm(7, generator=chance).split(3):
                optimizer.zero_grad()
                steps.append(mse_loss(model(x[chosen], start[chosen]), target[chosen]))
                steps[-1].backward()
                optimizer.step()
            mean = torch.stack(steps).mean()
            torch.testing.assert_close(losses[epoch, number], mean.detach())
        last = mse_loss(model(x, start), target).detach()
        torch.testing.assert_close(losses[4, number], last)
        torch.testing.assert_close(models[number].slope, model.slope)


@pytest.mark.parametrize(
    ("inputs", "batch_size", "message"),
    [
        (slice(None), 0, "batch_size must be at least 1; got 0"),
        (slice(1, None), None, r"must be equally many; got \[7, 6, 7\]"),
    ],
)
def test_batches_that_cannot_be_dealt_are_refused(inputs, batch_size, message):
    x, start, target = line()
    with pytest.raises(ValueError, match=message):
        fit_seeds(
            Slope, (x, start[inputs]), target, mse_loss,
            seeds=SEEDS, epochs=1, batch_size=batch_size, progress=False,
        )  # fmt: skip


def test_encoders_and_decoders_train_side_by_side_as_they_do_alone(draw, seeded):
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
        history = fit(
            model,
            [(source, shifted, target)],
            mse_loss,
            torch.optim.Adam(model.parameters(), lr=0.01),
            epochs=4,
            seed=0,
            progress=False,
        )
        torch.testing.assert_close(losses[:4].tolist(), history.train)
