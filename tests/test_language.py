"""A language model against an encoder stack, a word at a time, padded, and refused."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from selfattn_book.blocks import EncoderStack, PreNormBlock
from selfattn_book.cache import KeyValueCache
from selfattn_book.feed_forward import FeedForward
from selfattn_book.language import LanguageModel, decoder_only
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention

B, T, V, D, LAYERS, HEADS, CONTEXT = 3, 7, 13, 10, 2, 5, 11


SIZES = {"d_model": D, "num_layers": LAYERS, "num_heads": HEADS, "context_length": CONTEXT}


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
    state = {}
    for name, value in model.state_dict().items():
        name = name.replace("attention_norm.", "attention_residual.norm.")
        name = name.replace("feed_forward_norm.", "feed_forward_residual.norm.")
        if name.startswith(("blocks", "norm")):
            state[name] = value
    stack.load_state_dict(state)
    return stack


def test_it_is_an_encoder_stack_with_a_causal_mask(model):
    tokens = draw(B, T)
    x = model.embedding.weight[tokens] + model.positions.weight[:T]
    states, weights = stack_of(model)(x, causal_mask(T))
    expected = states @ model.embedding.weight.T
    torch.testing.assert_close(model(tokens), expected, rtol=0, atol=1e-12)
    ours, our_weights = model.hidden_states(tokens)
    torch.testing.assert_close(ours, states, rtol=0, atol=1e-12)
    for mine, theirs in zip(our_weights, weights, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 99))
def test_in_chunks_is_all_at_once(make, sizes, seed):
    sizes = sizes[: next((i for i in range(6) if sum(sizes[:i]) > CONTEXT), 7) - 1]
    model = make(seed)
    tokens, kept = draw(2, sum(sizes), seed=seed), caches()
    parts = [model(part, caches=kept) for part in tokens.split(sizes, dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1), model(tokens), rtol=0, atol=1e-12)
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
        torch.testing.assert_close(together[row][real[row]], alone[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["embedding", "positions"])
def test_embeddings_are_initialized_with_standard_deviation_0_02(name):
    torch.manual_seed(0)
    model = decoder_only(500, d_model=40, num_layers=1, num_heads=1, context_length=500)
    assert abs(getattr(model, name).weight.std().item() - 0.02) < 0.001


def test_a_padding_mask_may_have_the_axes_of_heads_and_queries(model):
    tokens = draw(B, T)
    mask = padding_mask([7, 2, 5])
    assert model(tokens, mask).equal(model(tokens, mask[:, 0, 0]))


def test_left_padding_and_caches_together(model):
    tokens, kept = draw(B, T), caches()
    real = torch.ones(B, T, dtype=torch.bool)
    real[1, :3] = False
    first = model(tokens[:, :4], real[:, :4], caches=kept)
    second = model(tokens[:, 4:], real, caches=kept)
    both = torch.cat([first, second], 1)
    at_once = model(tokens, real)
    torch.testing.assert_close(both[real], at_once[real], rtol=0, atol=1e-12)


def test_dropout_is_for_training_only():
    torch.manual_seed(0)
    model = decoder_only(V, **SIZES, dropout=0.5)
    tokens = draw(B, T)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))
    drops = {m.p for m in model.modules() if isinstance(m, nn.Dropout)}
    assert drops == {0.5}
    assert {block.attention.dropout for block in model.blocks} == {0.5}


def test_without_positions_there_is_no_context_length(model):
    bare = LanguageModel(model.embedding, model.blocks, model.norm)
    assert bare.context_length is None
    long = draw(1, 3 * CONTEXT)
    assert bare(long).shape == (1, 3 * CONTEXT, V)


def test_untied_it_has_a_matrix_of_its_own(model):
    untied = LanguageModel(
        model.embedding, model.blocks, model.norm, positions=model.positions, tie_weights=False
    ).double()
    assert untied.unembedding.weight is not untied.embedding.weight
    assert untied(draw(B, T)).shape == (B, T, V)


def test_it_runs_where_there_are_no_numbers():
    meta = decoder_only(V, **SIZES).to("meta")
    assert meta(draw(B, T).to("meta")).shape == (B, T, V)


def test_it_can_be_exported():
    model, tokens = decoder_only(V, **SIZES).eval(), draw(B, T)
    program = torch.export.export(model, (tokens,))
    torch.testing.assert_close(program.module()(tokens), model(tokens))


REFUSED = [
    (lambda t: (t.to(torch.int8),), {}, TypeError, "got dtype torch.int8"),
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
    torch.testing.assert_close(after, model(tokens)[:, 3:], rtol=0, atol=1e-12)


def test_caches_of_two_lengths_are_refused(model):
    kept = caches()
    model(draw(B, 3), caches=kept)
    kept[1].length = 0
    with pytest.raises(ValueError, match=r"of one length; got \[3, 0\]"):
        model(draw(B, 2), caches=kept)


class BreaksOnce(PreNormBlock):
    """A last block that refuses, when the first one has done its work."""

    def forward(self, *arguments, **options):
        raise ValueError("broken")


def test_a_block_that_refuses_leaves_the_caches_before_it(model):
    parts = MultiHeadAttention(D, HEADS), FeedForward(D, D)
    broken = BreaksOnce(*parts, (nn.LayerNorm(D), nn.LayerNorm(D))).double()
    stopped = LanguageModel(
        model.embedding, [model.blocks[0], broken], model.norm, positions=model.positions
    )
    kept = caches()
    with pytest.raises(ValueError, match="broken"):
        stopped(draw(B, 2), caches=kept)
    assert [len(cache) for cache in kept] == [0, 0]


@pytest.mark.parametrize(
    "wrong", [{"vocab_size": 0}, {"context_length": 0}, {"num_layers": 0}, {"d_model": 7}]
)
def test_sizes_are_checked(wrong):
    with pytest.raises(ValueError, match="must be"):
        decoder_only(**{"vocab_size": V} | SIZES | wrong)
    least = decoder_only(1, **SIZES | {"context_length": 1}, d_ff=3)
    assert least.blocks[0].feed_forward.expand.out_features == 3
    with pytest.raises(ValueError, match="there must be at least one block; got none"):
        LanguageModel(least.embedding, [], least.norm)
