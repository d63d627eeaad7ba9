"""The data are those of the course, and each classifier is blind to what its chapter says."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

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
from selfattn_book.multi_head import MultiHeadAttention

WIDTH, SENTENCES = 7, 11
ORDERS = list(itertools.permutations(range(LENGTH)))
KINDS = [MeanClassifier, PositionClassifier, AttentionClassifier]

each_kind = pytest.mark.parametrize("kind", KINDS)
many_seeds = pytest.mark.parametrize("seed", range(5))


@pytest.fixture
def make(seeded):
    """Make a module in float64, with every parameter drawn anew; biases are no longer zero."""

    def _make(kind, *sizes, seed=0, **options):
        with seeded(seed):
            module = kind(*(sizes or (WIDTH,)), **options).double()
            for parameter in module.parameters():
                nn.init.normal_(parameter)
        return module

    return _make


@pytest.fixture
def sentences():
    """Random sentences, words repeated or not."""
    generator = torch.Generator().manual_seed(3)
    return torch.randint(NUM_TOKENS, (SENTENCES, LENGTH), generator=generator)


def same(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-13, atol=1e-13)


# The data of the course.
REVERSAL = [("012", 1), ("210", 0), ("134", 1), ("431", 0)]
RELATIVE = [("012", 1), ("032", 0), ("432", 1), ("412", 0)]


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (reversal, REVERSAL),
        (xor_sentences, RELATIVE),
        (case_study, RELATIVE + REVERSAL),
    ],
)
def test_data_are_those_of_the_course(data, rows):
    tokens, labels = data()
    assert ["".join(map(str, row)) for row in tokens.tolist()] == [r[0] for r in rows]
    assert labels.tolist() == [row[1] for row in rows]
    assert tokens.dtype == torch.int64
    assert labels.dtype == torch.get_default_dtype()


def test_data_may_be_changed():
    tokens, labels = case_study()
    tokens.zero_(), labels.zero_()
    assert reversal()[0].any()
    assert xor_sentences()[1].any()


# The block, and what each classifier computes, against a loop over its words.
def test_the_block_starts_by_doubling_what_is_positive(draw):
    x, block = draw(2, 3, WIDTH), ResidualBlock(WIDTH).double()
    same(block(x), x + x.clamp(min=0))


def test_the_block_is_a_residual_network(make, draw):
    x, block = draw(2, 3, WIDTH), make(ResidualBlock)
    inner = (x @ block.inner.weight.T + block.inner.bias).clamp(min=0)
    same(block(x), x + inner @ block.outer.weight.T + block.outer.bias)


def vectors(model, sentence):
    """Each word's vector, with its position's if the model has one."""
    embedded = model.embed.weight[sentence]
    position = getattr(model, "position", None)
    return embedded if position is None else embedded + position.weight


@each_kind
def test_logits_agree_with_a_loop(make, sentences, kind):
    model = make(kind)
    logits = model(sentences)
    assert logits.shape == (SENTENCES,)
    for sentence, logit in zip(sentences, logits, strict=True):
        x = vectors(model, sentence)
        if kind is AttentionClassifier:
            x = x + model.attention(x[None], x[None], x[None])[0][0]
        mean = sum(model.block(word) for word in x) / LENGTH
        same(logit, mean @ model.judge.weight[0] + model.judge.bias[0])


# What each model cannot see, whatever its weights.
@many_seeds
def test_the_mean_does_not_see_the_order(make, sentences, seed):
    model = make(MeanClassifier, seed=seed)
    for order in ORDERS:
        same(model(sentences[:, order]), model(sentences))


@many_seeds
def test_attention_without_positions_does_not_see_the_order(make, sentences, seed):
    model = make(AttentionClassifier, seed=seed, positions=False)
    for order in ORDERS:
        same(model(sentences[:, order]), model(sentences))
        expected = model.weights(sentences)[..., order, :][..., order]
        same(model.weights(sentences[:, order]), expected)


@many_seeds
@pytest.mark.parametrize("kind", [PositionClassifier, AttentionClassifier])
def test_positions_show_the_order(make, kind, seed):
    logits = make(kind, seed=seed)(torch.tensor(ORDERS))
    assert len(logits.unique()) == len(ORDERS)


@many_seeds
@pytest.mark.parametrize("kind", [MeanClassifier, PositionClassifier])
def test_without_attention_words_add_up(make, kind, seed):
    tokens, labels = xor_sentences()
    logits = make(kind, seed=seed)(tokens)
    same(logits[labels == 1].sum(), logits[labels == 0].sum())


@many_seeds
def test_with_attention_words_do_not_add_up(make, seed):
    tokens, labels = xor_sentences()
    logits = make(AttentionClassifier, seed=seed, positions=False)(tokens)
    assert (logits[labels == 1].sum() - logits[labels == 0].sum()).abs() > 1e-3


# Sizes, weights, gradients.
@each_kind
def test_the_vectors_of_the_course_have_two_entries(kind):
    model = kind()
    assert model.embed.weight.shape == (NUM_TOKENS, 2)
    assert model.judge.weight.shape == (1, 2)


def test_the_attention_of_the_course_has_one_head_and_positions():
    model = AttentionClassifier()
    assert model.attention.num_heads == 1
    assert model.position.weight.shape == (LENGTH, 2)
    assert AttentionClassifier(positions=False).position is None


def test_weights_are_those_that_the_logits_use(make, sentences):
    model = make(AttentionClassifier, 6, num_heads=3)
    x = torch.stack([vectors(model, sentence) for sentence in sentences])
    weights = model.weights(sentences)
    assert weights.shape == (SENTENCES, 3, LENGTH, LENGTH)
    assert torch.equal(weights, model.attention(x, x, x)[1])


@each_kind
def test_every_parameter_learns(make, sentences, kind):
    model = make(kind)
    # Every query sees what a key's bias adds: the weights do not change.
    model(sentences).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.any() or name == "attention.project_key.bias", name


@each_kind
def test_a_sentence_is_judged_alone(make, sentences, kind):
    model = make(kind)
    same(model(sentences)[[3]], model(sentences[[3]]))


@each_kind
def test_models_are_reproducible(seeded, kind):
    with seeded(5):
        first = kind(WIDTH).state_dict()
    with seeded(5):
        second = kind(WIDTH).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in second)


@each_kind
def test_runs_on_meta(kind):
    with torch.device("meta"):
        logits = kind(WIDTH)(torch.zeros(SENTENCES, LENGTH, dtype=torch.int64))
    assert logits.is_meta
    assert logits.shape == (SENTENCES,)


# What is wrong is named, after the rule.
@each_kind
@pytest.mark.parametrize(
    ("d_model", "error", "message"),
    [
        (0, ValueError, "d_model must be at least 1; got 0"),
        (2.5, TypeError, "d_model must be an integer; got 2.5"),
        (True, TypeError, "d_model must be an integer; got True"),
    ],
)
def test_widths_are_refused(kind, d_model, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        kind(d_model)


@pytest.mark.parametrize(
    ("num_heads", "error", "message"),
    [
        (3, ValueError, "d_model must be divisible by num_heads .* got 7 and 3"),
        (0, ValueError, "num_heads must be at least 1; got 0"),
        (1.0, TypeError, "num_heads must be an integer; got 1.0"),
    ],
)
def test_numbers_of_heads_are_refused(num_heads, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        AttentionClassifier(WIDTH, num_heads=num_heads)


@each_kind
@pytest.mark.parametrize("shape", [(SENTENCES, 1), (SENTENCES, 5), (LENGTH,)])
def test_sentences_of_another_length_are_refused(kind, shape):
    got = str(shape).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"^tokens must have shape \(B, 3\); got {got}$"):
        kind()(torch.zeros(shape, dtype=torch.int64))


def test_sizes_may_be_numpy_integers():
    model = AttentionClassifier(np.int64(6), num_heads=np.uint8(3))
    assert isinstance(model.attention, MultiHeadAttention)
    assert model.attention.d_head == 2
