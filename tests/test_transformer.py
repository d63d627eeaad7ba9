"""A whole Transformer is its parts in order, and generates the same with a KV cache."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from selfattn_book.cache import DecoderCache
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.transformer import Transformer

B, S, T, SOURCES, TARGETS, WIDTH, LAYERS, HEADS = 3, 5, 7, 13, 11, 6, 2, 2
SIZES = {"d_model": WIDTH, "num_layers": LAYERS, "num_heads": HEADS}

close = partial(torch.testing.assert_close, rtol=1e-11, atol=1e-11)
both_norms = pytest.mark.parametrize("norm_first", [True, False])


@pytest.fixture(scope="session")
def make(randomized):
    def _make(seed=0, **options):
        model = Transformer(SOURCES, TARGETS, **SIZES, **options)
        return randomized(model, std=0.5, seed=seed)

    return _make


def tokens(rows, length, vocabulary, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(vocabulary, (rows, length), generator=generator)


@pytest.fixture
def source():
    return tokens(B, S, SOURCES)


@pytest.fixture
def target():
    return tokens(B, T, TARGETS, seed=1)


@both_norms
@pytest.mark.parametrize("tie_weights", [True, False])
@pytest.mark.parametrize("real", [None, padding_mask([7, 2, 3]), padding_mask([7, 2, 3]).flip(-1)])
def test_it_is_its_parts_in_order(make, source, target, norm_first, tie_weights, real):
    """Every step once more, with products of one-hot rows instead of a table of tokens."""
    model = make(norm_first=norm_first, tie_weights=tie_weights)
    vectors = []
    for sequence, table in (
        (source, model.source_embedding.weight),
        (target, model.target_embedding.weight),
    ):
        hot = torch.eye(len(table), dtype=torch.float64)[sequence]
        positions = sinusoidal_encoding(sequence.size(1), WIDTH, dtype=torch.float64)
        vectors.append(math.sqrt(WIDTH) * hot @ table + positions)
    seen, past = padding_mask([5, 2, 3]), causal_mask(T)
    memory, _ = model.encoder(vectors[0], seen)
    states, *_ = model.decoder(vectors[1], memory, past if real is None else past & real, seen)
    table = model.target_embedding if tie_weights else model.unembedding
    logits = model(source, target, seen, real)
    close(logits, states @ table.weight.T)
    assert logits.isfinite().all()
    assert model(source.int(), target.int(), seen, real).equal(logits)


def test_embeddings_are_initialized_for_two_sizes(seeded):
    """Embedded tokens and logits both begin with entries of variance 1."""
    with seeded(0):
        model = Transformer(999, 998, d_model=64, num_layers=1, num_heads=1)
    for table in (model.source_embedding, model.target_embedding, model.unembedding):
        assert abs(table.weight.std().item() * 8 - 1) < 0.02


def test_the_sizes_of_its_parts():
    model = Transformer(4, 5, **SIZES, d_ff=3, norm_first=True, dropout=0.25, max_len=9)
    for stack in (model.encoder, model.decoder):
        assert len(stack.blocks) == LAYERS
        assert stack.blocks[0].feed_forward.expand.out_features == 3
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.25}
    for positions in (model.source_positions, model.target_positions):
        assert positions.table.shape == (9, WIDTH)
    assert model.unembedding.bias is None
    model = Transformer(4, 5, **SIZES)
    assert (model.dropout.p, len(model.source_positions.table)) == (0, 1000)


def test_embedded_tokens_are_dropped_in_training(make, source, target):
    """On both sides, with all other dropout taken away, nothing of any token is left."""
    model = make(dropout=1.0)
    for part in (*model.encoder.modules(), *model.decoder.modules()):
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if hasattr(part, "d_head"):
            part.dropout = 0.0
    assert model.encode(source).std(0).max() < 1e-12
    memory = model.encode(source[:1]).expand(B, S, WIDTH)
    assert model.decode(target, memory).std(0).max() < 1e-12


def test_tied_weights_learn_as_one(make, source, target):
    model = make(tie_weights=True)
    tied, untied = (set(dict(m.named_parameters())) for m in (model, make()))
    assert untied - tied == {"unembedding.weight"}
    model(source, target).square().mean().backward()
    assert model.unembedding.weight.grad is model.target_embedding.weight.grad


def test_every_parameter_learns(make, source, target):
    model = make(norm_first=True)
    model(source, target).square().mean().backward()
    for name, parameter in model.named_parameters():
        if not name.endswith("project_key.bias"):  # adds the same to each score
            assert parameter.grad.abs().max() > 1e-9, name


@both_norms
@given(cuts=st.lists(st.integers(1, 3), min_size=3, max_size=7))
def test_chunks_with_caches_equal_the_whole(make, norm_first, cuts):
    model, seen = make(norm_first=norm_first), padding_mask([5, 2, 3])
    source, target = tokens(B, S, SOURCES), tokens(B, sum(cuts), TARGETS, seed=1)
    real = padding_mask([sum(cuts), 2, 1], sum(cuts))
    memory = model.encode(source, seen)
    for hide in (None, real):
        whole = model.decode(target, memory, seen, hide)
        caches = [DecoderCache() for _ in model.decoder.blocks]
        at, parts = 0, []
        for chunk in target.split(cuts, dim=1):
            at += chunk.size(1)
            so_far = None if hide is None else hide[..., :at]
            parts.append(model.decode(chunk, memory, seen, so_far, caches=caches))
        close(torch.cat(parts, dim=1), whole)
        assert [len(cache.target) for cache in caches] == [at] * LAYERS
        assert [len(cache.memory) for cache in caches] == [S] * LAYERS


@both_norms
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_each_token_is_the_most_likely_one(make, source, norm_first, cached, seed):
    """Handed back, shifted by one, the training pass says the same at every position."""
    model, seen = make(seed, norm_first=norm_first), padding_mask([5, 2, 3])
    options = {"bos_token": 1, "source_mask": seen, "cached": cached}
    tokens = model.generate(source, 9, **options)
    shifted = torch.cat([torch.ones_like(tokens[:, :1]), tokens[:, :-1]], dim=1)
    assert model(source, shifted, seen).argmax(-1).equal(tokens)


def test_no_weights_are_computed_and_caches_are_used(make, source, target, monkeypatch):
    monkeypatch.setattr("selfattn_book.multi_head.attention_weights", None)
    model, seen = make(), []
    model(source, target)
    model.target_embedding.register_forward_pre_hook(lambda _, given: seen.append(len(given[0][0])))
    for options in ({}, {"cached": False}):
        model.generate(source, 4, bos_token=1, **options)
    assert seen == [1, 1, 1, 1, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (
            [[2, 4, 7, 8], [3, 5, 4, 9], [6, 5, 4, 1]],
            {"max_new_tokens": 9, "eos_token": 4},  # a row repeats its end token
            [[2, 4, 4], [3, 5, 4], [6, 5, 4]],
        ),
        ([[2, 4], [4, 4], [4, 4]], {"max_new_tokens": 2}, [[2, 4], [4, 4], [4, 4]]),
    ],
)
def test_steps_are_made_until_every_row_has_ended(make, source, rows, options, expected):
    steps = []

    def select(logits):
        steps.append(logits.shape)
        assert not logits.requires_grad
        return torch.tensor(rows)[:, len(steps) - 1]

    tokens = make().generate(source, bos_token=TARGETS - 1, select=select, **options)
    assert tokens.tolist() == expected
    assert steps == [(B, TARGETS)] * len(expected[0])


def test_what_is_no_token_is_refused(make, source, target):
    """All checks of tokens are in tests/test_arguments.py."""
    with pytest.raises(ValueError, match="source must hold tokens from 0 to 12; got"):
        make()(source + SOURCES, target)
    with pytest.raises(ValueError, match="target must hold tokens from 0 to 10; got"):
        make()(source, target + TARGETS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be at least 1; got 0"),
        ({"bos_token": 11}, "bos_token must be at most 10; got 11"),
        ({"bos_token": -1}, "bos_token must be at least 0; got -1"),
        ({"eos_token": 11}, "eos_token must be at most 10; got 11"),
        ({"eos_token": -1}, "eos_token must be at least 0; got -1"),
        ({"max_new_tokens": 11}, "max_len = 9"),
    ],
)
def test_arguments_of_a_prediction_are_checked(make, source, change, message):
    with pytest.raises(ValueError, match=message):
        make(max_len=9).generate(source, **{"max_new_tokens": 3, "bos_token": 1} | change)


@pytest.mark.parametrize(("sizes", "side"), [((0, 5), "source"), ((5, 0), "target")])
def test_sizes_are_checked(sizes, side):
    with pytest.raises(ValueError, match=f"{side}_vocab_size must be at least 1; got 0"):
        Transformer(*sizes, **SIZES)
