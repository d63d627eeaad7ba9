"""Replayed operations change no bit of any kind of model that the book trains."""

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from selfattn_book.blocks import DecoderStack, EncoderStack
from selfattn_book.encoder_decoder import COURSE_SIZES, Decoder, EncoderDecoder
from selfattn_book.experiments import many_seeds
from selfattn_book.experiments.ablation import without
from selfattn_book.experiments.lookup import Lookup
from selfattn_book.experiments.many_seeds import fit_seeds
from selfattn_book.experiments.words import AttentionClassifier, MeanClassifier, case_study
from selfattn_book.masks import causal_mask
from selfattn_book.positions import PositionalEncoding

B, T, D = 7, 3, 2
MASK = causal_mask(T).expand(B, 1, T, T)


class LastWord(AttentionClassifier):
    """Make a mask in the forward pass, and use the last position."""

    def forward(self, tokens):
        x = self.embed(tokens)
        context, _ = self.attention(x, x, x, causal_mask(tokens.size(1)))
        return self.judge(self.block(x + context)[:, -1]).squeeze(-1)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(D, D), nn.Linear(D, D)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu())


def stack(*parts, norm_first=True):
    return without(EncoderStack(2, D, 2, d_ff=5, norm_first=norm_first), *parts)


# How to make each kind, the number of its inputs, and its masks.
WORDS = {
    "mean": MeanClassifier,
    "two heads": lambda: AttentionClassifier(6, num_heads=2),
    "last word": LastWord,
}
PAIR = {**COURSE_SIZES, "positions": True}
SEQUENCES = {
    "lookup": (lambda: Lookup(D - 1, 5, divisor=2), 1, []),
    "table": (lambda: nn.Sequential(PositionalEncoding(D, T), nn.Linear(D, D)), 1, []),
    "tied": (Tied, 1, []),
    "decoder": (lambda: Decoder(**COURSE_SIZES), 2, [MASK]),
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


def recipe(kind, draw):
    """Return how to make a kind of model, its inputs, its targets and its loss."""
    if kind in WORDS:
        tokens, labels = case_study()
        return WORDS[kind], (tokens,), labels.double(), binary_cross_entropy_with_logits
    make, number, masks = SEQUENCES[kind]
    inputs = [draw(B, T, D, seed=seed) for seed in range(number)]
    targets = draw(B, T, D, seed=number)
    targets = targets[:, 0, 0] if kind == "lookup" else targets
    return make, (*inputs, *masks), targets, loss_of_states


@pytest.mark.parametrize(("dtype", "batch_size"), [(torch.float64, None), (torch.float32, 3)])
@pytest.mark.parametrize("kind", [*WORDS, *SEQUENCES])
def test_replaying_changes_no_bit(draw, monkeypatch, kind, dtype, batch_size):
    make, inputs, targets, loss = recipe(kind, draw)
    calls = []

    def counted_loss(*arguments):
        calls.append(arguments)
        return loss(*arguments)

    def train():
        calls.clear()
        losses, models = fit_seeds(
            lambda: make().to(dtype),
            [x.to(dtype) if x.is_floating_point() else x for x in inputs],
            targets.to(dtype),
            counted_loss,
            seeds=[5, 2, 11],
            epochs=6,
            batch_size=batch_size,
            lr=0.05,
            progress=False,
        )
        return losses, [model.state_dict() for model in models], len(calls)

    *replayed, count = train()
    # Each size of batch once to record it and once to compare; and the last losses.
    sizes = 1 if batch_size is None else len({len(x) for x in targets.split(3)})
    assert count == 2 * sizes + 1
    monkeypatch.setattr(many_seeds, "Recorded", lambda function: function)
    *plain, count = train()
    assert count == 6 * (1 if batch_size is None else 3) + 1
    torch.testing.assert_close(replayed, plain, rtol=0, atol=0)


def test_dropout_is_refused(draw):
    """vmap would have to draw for each model by itself; no draw is replayed silently."""
    x = draw(B, D)
    with pytest.raises(RuntimeError, match="random"):
        fit_seeds(
            lambda: nn.Sequential(nn.Dropout(0.5), nn.Linear(D, D).double()),
            x, x, mse_loss, seeds=[0], epochs=3, progress=False,
        )  # fmt: skip
