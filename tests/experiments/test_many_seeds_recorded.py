"""Every kind of model that the book trains side by side learns from a record as without one."""

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from selfattn_book.blocks import DecoderStack, EncoderStack
from selfattn_book.encoder_decoder import COURSE_SIZES, Decoder, Encoder, EncoderDecoder
from selfattn_book.experiments import many_seeds as seeds
from selfattn_book.experiments.ablation import STAND_INS, without
from selfattn_book.experiments.lookup import Lookup
from selfattn_book.experiments.many_seeds import fit_seeds
from selfattn_book.experiments.words import (
    AttentionClassifier,
    MeanClassifier,
    PositionClassifier,
    case_study,
)
from selfattn_book.masks import causal_mask
from selfattn_book.positions import PositionalEncoding

B, T, D = 7, 3, 2
MASK = causal_mask(T).expand(B, 1, T, T)


class LastWord(AttentionClassifier):
    """A mask that is made on the way, and a reading of one position."""

    def forward(self, tokens):
        x = self.embed(tokens)
        context, _ = self.attention(x, x, x, causal_mask(tokens.size(1)))
        return self.judge(self.block(x + context)[:, -1]).squeeze(-1)


def stack(*parts, norm_first=True):
    model = EncoderStack(2, D, 2, d_ff=5, norm_first=norm_first)
    return without(model, *parts)


class Tied(nn.Module):
    """One matrix under two names: on its way in, and on its way out."""

    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(D, D), nn.Linear(D, D)
        self.out.weight = self.into.weight

    def forward(self, x):
        return self.out(self.into(x).relu())


def table():
    return nn.Sequential(PositionalEncoding(D, T), nn.Linear(D, D))


# How to make each, and which of its inputs are masks.
WORDS = {
    "mean": MeanClassifier,
    "position": PositionClassifier,
    "attention": AttentionClassifier,
    "two heads": lambda: AttentionClassifier(6, num_heads=2),
    "no positions": lambda: AttentionClassifier(positions=False),
    "last word": LastWord,
}
SEQUENCES = {
    "lookup": (lambda: Lookup(D - 1, 5, divisor=2), 1, []),
    "table": (table, 1, []),
    "tied": (Tied, 1, []),
    "encoder": (lambda: Encoder(**COURSE_SIZES), 1, []),
    "decoder": (lambda: Decoder(**COURSE_SIZES), 2, [MASK]),
    "pair": (lambda: EncoderDecoder(**COURSE_SIZES), 2, []),
    "pair with positions": (lambda: EncoderDecoder(**COURSE_SIZES, positions=True), 2, []),
    "pair with a mask": (lambda: EncoderDecoder(**COURSE_SIZES), 2, [MASK[..., :1, :]]),
    "decoder stack": (lambda: DecoderStack(2, D, 2, d_ff=5), 2, [MASK, MASK]),
    "stack": (stack, 1, [MASK]),
    "post-norm stack": (lambda: stack(norm_first=False), 1, [MASK]),
    **{
        f"stack, no {part}": (lambda part=part: stack(part), 1, [MASK])
        for part in STAND_INS
        if part != "residual"
    },
}


@pytest.fixture
def recipe(draw):
    """How to make a kind of model, its inputs, its targets and its loss."""

    def _recipe(kind):
        if kind in WORDS:
            tokens, labels = case_study()
            loss = binary_cross_entropy_with_logits
            return WORDS[kind], (tokens,), labels.double(), loss
        make, number, masks = SEQUENCES[kind]
        inputs = [draw(B, T, D, seed=seed) for seed in range(number)]
        targets = draw(B, T, D, seed=number)
        if kind == "lookup":
            targets = targets[:, 0, 0]
        return make, (*inputs, *masks), targets, loss_of_states

    return _recipe


def loss_of_states(output, targets):
    states = output[0] if isinstance(output, tuple) else output
    return mse_loss(states, targets)


@pytest.mark.parametrize(("dtype", "batch_size"), [(torch.float64, None), (torch.float32, 3)])
@pytest.mark.parametrize("kind", [*WORDS, *SEQUENCES])
def test_a_record_changes_no_bit(recipe, monkeypatch, kind, dtype, batch_size):
    make, inputs, targets, loss = recipe(kind)
    asked = []

    def asking(*given):
        asked.append(given)
        return loss(*given)

    def train():
        asked.clear()
        losses, models = fit_seeds(
            lambda: make().to(dtype),
            [x.to(dtype) if x.is_floating_point() else x for x in inputs],
            targets.to(dtype),
            asking,
            seeds=[5, 2, 11],
            epochs=6,
            batch_size=batch_size,
            lr=0.05,
            progress=False,
        )
        return losses, [model.state_dict() for model in models], len(asked)

    *played, times = train()
    # Each size of batch once to write it down and once to compare; and the last losses.
    sizes = 1 if batch_size is None else len({len(x) for x in targets.split(3)})
    assert times == 2 * sizes + 1
    monkeypatch.setattr(seeds, "Recorded", lambda function: function)
    *plain, times = train()
    assert times == 6 * (1 if batch_size is None else 3) + 1
    torch.testing.assert_close(played, plain, rtol=0, atol=0)


def test_a_model_that_drops_is_refused(draw):
    """vmap would have to draw for each model by itself; nothing is frozen in secret."""
    x = draw(B, D)
    with pytest.raises(RuntimeError, match="random"):
        fit_seeds(
            lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(D, D).double()),
            x, x, mse_loss, seeds=[0], epochs=3, progress=False,
        )  # fmt: skip


class Warm(nn.Module):
    """Louder from step to step, by a count that the graph does not know."""

    def __init__(self, buffer):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(()))
        if buffer:
            self.register_buffer("calls", torch.zeros(()))
        else:
            self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.weight * self.calls


@pytest.mark.parametrize("buffer", [True, False])
def test_a_model_that_counts_its_steps_is_not_frozen(monkeypatch, draw, buffer):
    def train():
        given = lambda: Warm(buffer).double(), draw(B), draw(B, seed=1), mse_loss
        return fit_seeds(*given, seeds=[0, 1], epochs=7, lr=0.05, progress=False)[0]

    played = train()
    monkeypatch.setattr(seeds, "Recorded", lambda function: function)
    assert torch.equal(played, train())
