"""A language model against an encoder stack, a word at a time, padded, and refused."""

import re
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from selfattn_book.blocks import EncoderStack
from selfattn_book.cache import KeyValueCache
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.masks import causal_mask, padding_mask

B, T, V, D, LAYERS, HEADS, CONTEXT = 3, 7, 13, 10, 2, 5, 11

SIZES = {"d_model": D, "num_layers": LAYERS, "num_heads": HEADS, "context_length": CONTEXT}
close = partial(torch.testing.assert_close, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def make(randomized):
    return lambda seed: randomized(decoder_only(V, **SIZES), seed=seed)


@pytest.fixture
def model(make):
    return make(0)


def draw(*shape, seed=1):
    return torch.randint(V, shape, generator=torch.Generator().manual_seed(seed))


def caches():
    return [KeyValueCache() for _ in range(LAYERS)]


def stack_of(model):
    """An encoder stack with the same weights, which knows no tokens."""
    stack = EncoderStack(LAYERS, D, HEADS, norm_first=True).double()
    state = {
        re.sub(r"(attention|feed_forward)_norm", r"\1_residual.norm", name): value
        for name, value in model.state_dict().items()
        if name.startswith(("blocks", "norm"))
    }
    stack.load_state_dict(state)
    return stack


def test_it_is_an_encoder_stack_with_a_causal_mask(model):
    tokens = draw(B, T)
    x = model.embedding.weight[tokens] + model.positions.weight[:T]
    states, weights = stack_of(model)(x, causal_mask(T))
    close(model(tokens), states @ model.embedding.weight.T)
    close(model.hidden_states(tokens), (states, weights))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 99))
def test_in_chunks_is_all_at_once(make, sizes, seed):
    sizes = sizes[: next((i for i in range(6) if sum(sizes[:i]) > CONTEXT), 7) - 1]
    model = make(seed)
    tokens, kept = draw(2, sum(sizes), seed=seed), caches()
    parts = [model(part, caches=kept) for part in tokens.split(sizes, dim=1)]
    close(torch.cat(parts, 1), model(tokens))
    assert [len(cache) for cache in kept] == [sum(sizes)] * LAYERS


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_row_is_the_row_alone(model, side):
    tokens, lengths = draw(B, T), [7, 2, 5]
    real = torch.zeros(B, T, dtype=torch.bool)
    for row, length in enumerate(lengths):
        where = slice(T - length, T) if side == "left" else slice(length)
        real[row, where] = True
    together = model(tokens, real)
    assert together.isfinite().all()
    together.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    for row in range(B):
        alone = model(tokens[row][real[row]][None])
        close(together[row][real[row]], alone[0])


@pytest.mark.parametrize("name", ["embedding", "positions"])
def test_embeddings_are_initialized_with_standard_deviation_0_02(name):
    torch.manual_seed(0)
    model = decoder_only(500, d_model=40, num_layers=1, num_heads=1, context_length=500)
    assert abs(getattr(model, name).weight.std().item() - 0.02) < 0.001


def test_left_padding_and_caches_together(model):
    tokens, kept, lengths = draw(B, T), caches(), [7, 2, 5]
    real = padding_mask(lengths).flip(-1)  # its axes of heads and queries may be left out
    first = model(tokens[:, :4], real[..., :4], caches=kept)
    second = model(tokens[:, 4:], real[:, 0, 0], caches=kept)
    at_once, real = model(tokens, real), real[:, 0, 0]
    close(torch.cat([first, second], 1)[real], at_once[real])


def test_dropout_is_for_training_only():
    model, tokens = decoder_only(V, **SIZES, dropout=0.5), draw(B, T)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))
    assert {m.p for m in model.modules() if isinstance(m, nn.Dropout)} == {0.5}
    assert {block.attention.dropout for block in model.blocks} == {0.5}


def test_positions_and_tied_weights_may_be_left_out(model):
    bare = LanguageModel(model.embedding, model.blocks, model.norm, tie_weights=False).double()
    assert bare.context_length is None
    assert bare.unembedding.weight is not bare.embedding.weight
    assert bare(draw(1, 3 * CONTEXT)).shape == (1, 3 * CONTEXT, V)


REFUSED = [
    (lambda t: (t[0],), {}, ValueError, r"shape \(B, T\).*; got \(7,\)"),
    (lambda t: (t[:, :0],), {}, ValueError, r"at least one token; got \(3, 0\)"),
    (lambda t: (t + V,), {}, ValueError, "from 0 to 12; got 13"),
    (lambda t: (t.repeat(1, 2),), {}, ValueError, "context_length = 11.*; got 14"),
    (lambda t: (t, t), {}, TypeError, "padding_mask must be a boolean.*torch.int64"),
    (lambda t: (t, t[:, 1:] > 0), {}, ValueError, r"\(3, 7\).*; got \(3, 6\)"),
    (lambda t: (t, t[:1] > 0), {}, ValueError, r"\(3, 7\).*; got \(1, 7\)"),
    (lambda t: (t,), {"caches": [KeyValueCache()] * 3}, ValueError, "each of the 2 blocks; got 3"),
    (lambda t: (t,), {"caches": [KeyValueCache()] * 2}, ValueError, "own; got 1 for 2 blocks"),
]


@pytest.mark.parametrize(("inputs", "options", "error", "message"), REFUSED)
def test_bad_input_is_refused(model, inputs, options, error, message):
    with pytest.raises(error, match=message):
        model(*inputs(draw(B, T)), **options)


def test_a_refused_call_leaves_the_caches_as_they_were(model):
    tokens, kept = draw(B, T), caches()
    model(tokens[:, :3], caches=kept)
    real = torch.ones(B, 4, dtype=torch.bool)  # of the new tokens alone: too few
    for bad in ((tokens + V,), (tokens[:2],), (tokens[:, :4], real), (draw(B, 9),)):
        with pytest.raises(ValueError, match="must"):
            model(*bad, caches=kept)
    after = model(tokens[:, 3:], caches=kept)
    close(after, model(tokens)[:, 3:])


def test_caches_of_two_lengths_are_refused(model):
    kept = caches()
    model(draw(B, 3), caches=kept)
    kept[1].length = 0
    with pytest.raises(ValueError, match=r"of one length; got \[3, 0\]"):
        model(draw(B, 2), caches=kept)


def test_a_block_that_refuses_leaves_the_caches_before_it(model, monkeypatch):
    kept = caches()
    monkeypatch.setattr(model.blocks[-1], "feed_forward", nn.Linear(D, D + 1).double())
    with pytest.raises(RuntimeError, match="size of tensor"):
        model(draw(B, 2), caches=kept)
    assert [len(cache) for cache in kept] == [0, 0]


@pytest.mark.parametrize(
    "wrong", [{"vocab_size": 0}, {"context_length": 0}, {"num_layers": 0}, {"d_model": 7}]
)
def test_sizes_are_checked(wrong):
    with pytest.raises(ValueError, match="must be"):
        decoder_only(**{"vocab_size": V} | SIZES | wrong)
    least = decoder_only(1, **SIZES | {"context_length": 1, "num_layers": 1}, d_ff=3)
    assert least(torch.zeros(1, 1).long(), caches=[KeyValueCache()]).shape == (1, 1, 1)
    assert least.blocks[0].feed_forward.expand.out_features == 3
    with pytest.raises(ValueError, match="there must be at least one block; got none"):
        LanguageModel(least.embedding, [], least.norm)
