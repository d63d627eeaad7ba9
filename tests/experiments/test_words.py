"""The sentences of the course, and their classifiers."""

from functools import partial

import pytest
import torch

from selfattn_book.experiments.words import (
    LENGTH,
    NUM_TOKENS,
    AttentionClassifier,
    MeanClassifier,
    PositionClassifier,
    ResidualBlock,
    case_study,
    reversal,
    xor_sentences,
)

WIDTH, SENTENCES = 7, 11

UNPLACED = partial(AttentionClassifier, positions=False)
each_kind = pytest.mark.parametrize(
    "kind", [MeanClassifier, PositionClassifier, AttentionClassifier, UNPLACED]
)


@pytest.fixture
def make(randomized):
    """Make a module with random parameters only."""
    return lambda kind, width=WIDTH, **options: randomized(kind(width, **options), std=1.0)


@pytest.fixture
def sentences():
    generator = torch.Generator().manual_seed(3)
    return torch.randint(NUM_TOKENS, (SENTENCES, LENGTH), generator=generator)


def same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("data", [reversal, xor_sentences, case_study])
def test_data_are_copies(data):
    tokens, labels = data()
    assert (tokens.dtype, labels.dtype) == (torch.int64, torch.get_default_dtype())
    tokens.zero_()
    assert data()[0].any()


def test_the_case_study_has_the_sentences_of_both():
    for both, parts in zip(
        case_study(), zip(xor_sentences(), reversal(), strict=True), strict=True
    ):
        assert both.equal(torch.cat(parts))


def test_the_block_is_a_residual_network(make, draw):
    x, block = draw(2, 3, WIDTH), make(ResidualBlock)
    hidden = (x @ block.inner.weight.T + block.inner.bias).clamp(min=0)
    same(block(x), x + hidden @ block.outer.weight.T + block.outer.bias)
    same(ResidualBlock(WIDTH).double()(x), x + x.clamp(min=0))  # the initialization


def vectors(model, sentence):
    embedded = model.embed.weight[sentence]
    position = getattr(model, "position", None)
    return embedded if position is None else embedded + position.weight


@each_kind
def test_logits_agree_with_a_loop(make, sentences, kind):
    model = make(kind)
    has_positions = getattr(model, "position", None) is not None
    assert has_positions == (kind in (PositionClassifier, AttentionClassifier))
    logits = model(sentences)
    assert logits.shape == (SENTENCES,)
    for sentence, logit in zip(sentences, logits, strict=True):
        x = vectors(model, sentence)
        if hasattr(model, "attention"):
            x = x + model.attention(x[None], x[None], x[None])[0][0]
        mean = sum(model.block(word) for word in x) / LENGTH
        same(logit, mean @ model.classifier.weight[0] + model.classifier.bias[0])


def test_weights_are_those_that_the_logits_use(make, sentences):
    model = make(AttentionClassifier, 6, num_heads=3)
    x = torch.stack([vectors(model, sentence) for sentence in sentences])
    weights = model.weights(sentences)
    assert weights.shape == (SENTENCES, 3, LENGTH, LENGTH)
    assert torch.equal(weights, model.attention(x, x, x)[1])
