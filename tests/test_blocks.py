"""The blocks are what their equations say, and their parts do not reach beyond them."""

import math
from functools import partial

import pytest
import torch
from torch import nn

from selfattn_book.blocks import (
    DecoderBlock,
    DecoderStack,
    EncoderBlock,
    EncoderStack,
    PreNormBlock,
    ResidualConnection,
)
from selfattn_book.cache import DecoderCache
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention

BATCH, LENGTH, SOURCE, HEADS, HEAD_WIDTH, INNER, LAYERS = 2, 5, 7, 3, 11, 13, 3
WIDTH = HEADS * HEAD_WIDTH

close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-11)
both_norms = pytest.mark.parametrize("norm_first", [True, False])
each_kind = pytest.mark.parametrize(
    "kind", [EncoderBlock, DecoderBlock, EncoderStack, DecoderStack]
)


@pytest.fixture
def make(seeded):
    """Make a module of float64, with parameters that hide nothing: biases and gains are drawn."""

    def _make(kind, **options):
        sizes = (LAYERS, WIDTH, HEADS) if "Stack" in kind.__name__ else (WIDTH, HEADS)
        with seeded(0):
            module = kind(*sizes, d_ff=INNER, **options).double()
            for parameter in module.parameters():
                nn.init.normal_(parameter, std=0.3)
        return module

    return _make


@pytest.fixture
def x(draw):
    return draw(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture
def memory(draw):
    return draw(BATCH, SOURCE, WIDTH, seed=2)


def inputs(module, x, memory):
    return (x, memory) if "Decoder" in type(module).__name__ else (x,)


def normalize(x, norm):
    """LayerNorm by its definition, number by number."""
    rows = []
    for row in x.flatten(0, -2):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        rows.append((row - mean) / (variance + 1e-5) ** 0.5)
    return torch.stack(rows).view_as(x) * norm.weight + norm.bias


def network(x, part):
    hidden = x @ part.expand.weight.T + part.expand.bias
    hidden = hidden * (hidden > 0)
    return hidden @ part.contract.weight.T + part.contract.bias


def by_hand(x, steps, norm_first):
    """Apply parts on residual paths; each step is a part and the norm of its path."""
    for part, norm in steps:
        pre = norm_first
        x = x + part(normalize(x, norm)) if pre else normalize(x + part(x), norm)
    return x


@both_norms
def test_an_encoder_block_is_its_equations(make, x, draw_mask, norm_first):
    block = make(EncoderBlock, norm_first=norm_first)
    mask = draw_mask(BATCH, HEADS, LENGTH, LENGTH)
    steps = [
        (lambda y: block.attention(y, y, y, mask)[0], block.attention_residual.norm),
        (lambda y: network(y, block.feed_forward), block.feed_forward_residual.norm),
    ]
    states, weights = block(x, mask)
    close(states, by_hand(x, steps, norm_first))
    y = normalize(x, block.attention_residual.norm) if norm_first else x
    close(weights, block.attention(y, y, y, mask)[1])


@both_norms
def test_a_decoder_block_is_its_equations(make, x, memory, draw_mask, norm_first):
    block = make(DecoderBlock, norm_first=norm_first)
    own = draw_mask(BATCH, HEADS, LENGTH, LENGTH)
    across = draw_mask(BATCH, HEADS, LENGTH, SOURCE, seed=1)
    steps = [
        (lambda y: block.self_attention(y, y, y, own)[0], block.self_attention_residual.norm),
        (
            lambda y: block.cross_attention(y, memory, memory, across)[0],
            block.cross_attention_residual.norm,
        ),
        (lambda y: network(y, block.feed_forward), block.feed_forward_residual.norm),
    ]
    states, weights, memory_weights = block(x, memory, own, across)
    close(states, by_hand(x, steps, norm_first))
    after_first = by_hand(x, steps[:1], norm_first)
    y, z = x, after_first
    if norm_first:
        y = normalize(x, block.self_attention_residual.norm)
        z = normalize(after_first, block.cross_attention_residual.norm)
    close(weights, block.self_attention(y, y, y, own)[1])
    expected = block.cross_attention(z, memory, memory, across)[1]
    close(memory_weights, expected)


@both_norms
@pytest.mark.parametrize("kind", [EncoderStack, DecoderStack])
def test_a_stack_is_its_blocks_in_order(make, x, memory, kind, norm_first):
    stack = make(kind, norm_first=norm_first)
    states, *weights = stack(*inputs(stack, x, memory))
    y, seen = x, []
    for block in stack.blocks:
        y, *own = block(y, *inputs(stack, x, memory)[1:])
        seen.append(own)
    close(states, normalize(y, stack.norm) if norm_first else y)
    assert len(stack.blocks) == LAYERS
    for of_kind, expected in zip(weights, zip(*seen, strict=True), strict=True):
        for ours, theirs in zip(of_kind, expected, strict=True):
            assert ours.equal(theirs)


@both_norms
@each_kind
def test_both_ways_to_attend_close(make, x, memory, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    given = inputs(module, x, memory)
    slow, *weights = module(*given)
    fast, *nothing = module(*given, need_weights=False)
    close(fast, slow)
    none = [None] * LAYERS if "Stack" in kind.__name__ else None
    assert nothing == [none] * len(weights)


@both_norms
@each_kind
def test_the_future_changes_nothing_in_the_past(make, x, memory, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    given = inputs(module, x, memory)
    later = x.clone()
    later[:, 3:] *= -1
    mask = (causal_mask(LENGTH),) if len(given) == 1 else (memory, causal_mask(LENGTH))
    before, after = module(x, *mask)[0], module(later, *mask)[0]
    assert before[:, :3].equal(after[:, :3])
    assert not before[:, 3:].allclose(after[:, 3:])


@both_norms
@pytest.mark.parametrize("kind", [EncoderBlock, EncoderStack])
def test_a_padded_sequence_equals_itself_alone(make, x, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    mask = padding_mask(torch.tensor([3, LENGTH]), LENGTH)
    padded = module(x, mask)[0]
    close(padded[:1, :3], module(x[:1, :3])[0])
    close(padded[1:], module(x[1:])[0])


@both_norms
@pytest.mark.parametrize("kind", [DecoderBlock, DecoderStack])
def test_a_padded_memory_equals_a_shorter_one(make, x, memory, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    mask = padding_mask(torch.tensor([4, SOURCE]), SOURCE)
    padded = module(x, memory, None, mask)[0]
    close(padded[:1], module(x[:1], memory[:1, :4])[0])
    close(padded[1:], module(x[1:], memory[1:])[0])


@both_norms
@each_kind
def test_every_parameter_learns(make, x, memory, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    target = x.flip(-1)
    loss = (module(*inputs(module, x, memory))[0] - target).square().mean()
    loss.backward()
    for name, parameter in module.named_parameters():
        if not name.endswith("project_key.bias"):  # adds the same to a row of scores
            assert parameter.grad.abs().max() > 1e-9, name


@each_kind
def test_samples_do_not_meet(make, x, memory, kind):
    module = make(kind)
    given = inputs(module, x, memory)
    other = [tensor.clone() for tensor in given]
    for tensor in other:
        tensor[0] += 1
    assert module(*given)[0][1].equal(module(*other)[0][1])


@both_norms
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("kind", [DecoderBlock, DecoderStack])
def test_steps_with_a_cache_equal_the_whole(make, x, memory, kind, norm_first, need_weights):
    module = make(kind, norm_first=norm_first)
    seen = padding_mask(torch.tensor([4, SOURCE]), SOURCE)
    whole, *weights = module(x, memory, causal_mask(LENGTH), seen)
    caches = [DecoderCache() for _ in range(LAYERS)]
    given = {"caches": caches} if kind is DecoderStack else {"cache": caches[0]}
    at = 0
    for chunk in x.split([1, 2, 1, 1], dim=1):
        mask = causal_mask(chunk.size(1), at + chunk.size(1))
        part, *own = module(chunk, memory, mask, seen, need_weights=need_weights, **given)
        close(part, whole[:, at : at + chunk.size(1)])
        rows, at = slice(at, at + chunk.size(1)), at + chunk.size(1)
        if need_weights:
            own, all_of = (
                (flat[-1] if kind is DecoderStack else flat for flat in found)
                for found in (own, weights)
            )
            for some, expected, end in zip(own, all_of, (at, SOURCE), strict=True):
                close(some, expected[:, :, rows, :end])
    assert len(caches[0].target) == LENGTH
    assert len(caches[0].memory) == SOURCE


@pytest.mark.parametrize("kind", [DecoderBlock, DecoderStack])
def test_a_refused_step_leaves_the_caches_as_they_were(make, x, memory, kind):
    module, caches = make(kind), [DecoderCache() for _ in range(LAYERS)]
    given = {"caches": caches} if kind is DecoderStack else {"cache": caches[0]}
    module(x[:, :2], memory, causal_mask(2), **given)
    newest = x[:, 2:3]
    for wrong, message in (
        ((newest[..., :3], memory), "shape|normalized_shape"),
        ((newest, memory[:, 1:]), r"memory must be that of .* \(2, 7, 33\); got \(2, 6, 33\)"),
        ((newest, -memory), r"the steps before, \(2, 7, 33\); got other states"),
        ((newest, memory, torch.ones(1, 2).bool()), "mask must broadcast"),
        ((newest, memory, None, torch.ones(6).bool()), "mask must broadcast"),
    ):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
            module(*wrong, **given)
        assert [len(cache.target) for cache in caches[:1]] == [2]
        assert [len(cache.memory) for cache in caches[:1]] == [SOURCE]
    close(module(newest, memory, **given)[0], module(x[:, :3], memory, causal_mask(3))[0][:, 2:])


def test_a_step_that_a_later_block_refuses_leaves_the_caches_as_they_were(make, x, memory):
    stack, caches = (make(DecoderStack), [DecoderCache() for _ in range(LAYERS)])
    caches[1].memory.append(*[x.new_zeros(BATCH, HEADS, 4, 2)] * 2)
    caches[1].memory.length = 4
    with pytest.raises(ValueError, match="keys must continue the cache's"):
        stack(x, memory, caches=caches)
    assert [len(cache.target) for cache in caches] == [0, 0, 0]
    assert [len(cache.memory) for cache in caches] == [0, 4, 0]


def test_there_is_a_cache_for_each_block(make, x, memory):
    stack, caches = make(DecoderStack), [DecoderCache() for _ in range(4)]
    for count in (2, 4):
        with pytest.raises(ValueError, match=f"of the 3 blocks; got {count}"):
            stack(x, memory, caches=caches[:count])
    with pytest.raises(ValueError, match="a cache of its own; got 2 for 3 blocks"):
        stack(x, memory, caches=[caches[0], caches[1], caches[0]])


@each_kind
def test_dropout_is_handed_to_every_part(make, kind):
    module = make(kind, dropout=0.25)
    rates = [part.p for part in module.modules() if isinstance(part, nn.Dropout)]
    heads = [part.dropout for part in module.modules() if hasattr(part, "d_head")]
    parts = {EncoderBlock: (3, 1), DecoderBlock: (4, 2)}
    blocks = LAYERS if "Stack" in kind.__name__ else 1
    own = EncoderBlock if "Encoder" in kind.__name__ else DecoderBlock
    assert rates == [0.25] * (parts[own][0] * blocks)
    assert heads == [0.25] * (parts[own][1] * blocks)


@each_kind
def test_nothing_is_dropped_in_evaluation(make, x, memory, kind):
    module = make(kind, dropout=0.5)
    given = inputs(module, x, memory)
    assert not module(*given)[0].equal(module(*given)[0])
    module.eval()
    assert module(*given)[0].equal(module(*given)[0])


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_sizes_that_are_left_out(kind):
    block = kind(6, 3)
    assert block.feed_forward.expand.out_features == 24
    for part in block.modules():
        if hasattr(part, "d_head"):
            assert part.d_head == 2
            assert part.project_query.bias is not None


@each_kind
def test_the_norm_is_last_by_default(make, kind):
    assert not any(getattr(part, "norm_first", False) for part in make(kind).modules())


@each_kind
def test_heads_of_source_d(make, x, memory, kind):
    module = make(kind, d_head=WIDTH, attention_bias=False)
    for part in module.modules():
        if hasattr(part, "d_head"):
            assert part.project_value.weight.shape == (HEADS * WIDTH, WIDTH)
            assert part.project_output.bias is None
            assert part.project_key.bias is None
    assert module(*inputs(module, x, memory))[0].shape == x.shape


def test_a_pre_norm_block_is_not_causal_by_default():
    block = PreNormBlock(MultiHeadAttention(4, 2), FeedForward(4, 8), [nn.LayerNorm(4)] * 2)
    assert (block(torch.ones(1, 3, 4))[1] > 0).all()


@pytest.mark.parametrize("dropout", [-0.1, 2.0, math.nan])
def test_arguments_out_of_range_are_refused(dropout):
    norms = nn.LayerNorm(4), nn.LayerNorm(4)
    for make_one in (
        lambda: EncoderBlock(4, 2, dropout=dropout),
        lambda: ResidualConnection(4, norm_first=True, dropout=dropout),
        lambda: PreNormBlock(nn.Identity(), nn.Identity(), norms, dropout=dropout),
    ):
        with pytest.raises(ValueError, match="dropout must be between 0 and 1; got"):
            make_one()
    assert PreNormBlock(nn.Identity(), nn.Identity(), norms).dropout.p == 0
    with pytest.raises(ValueError, match="there must be two norms; got 1"):
        PreNormBlock(nn.Identity(), nn.Identity(), norms[:1])
    for width, error in ((0, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="d_model must be"):
            ResidualConnection(width, norm_first=True)
    for kind in (EncoderStack, DecoderStack):
        with pytest.raises(ValueError, match="num_layers must be at least 1; got 0"):
            kind(0, 4, 2)


@both_norms
@pytest.mark.parametrize("kind", [EncoderStack, DecoderStack])
def test_a_stack_of_dimension_one(kind, norm_first):
    with torch.no_grad():
        stack = kind(2, 1, 1, norm_first=norm_first)
        norm = stack.norm if norm_first else stack.blocks[-1].feed_forward_residual.norm
        norm.bias.fill_(0.5)  # all that is left of a single number minus its mean
        given = (torch.ones(2, 3, 1), torch.ones(2, 4, 1))[: 2 if kind is DecoderStack else 1]
        assert stack(*given)[0].equal(torch.full((2, 3, 1), 0.5))


@each_kind
def test_compiles_nothing_away_on_meta(make, kind):
    with torch.device("meta"):
        sizes = (LAYERS, 6, 3) if "Stack" in kind.__name__ else (6, 3)
        module = kind(*sizes)
        given = (torch.empty(2, 5, 6), torch.empty(2, 7, 6))
        states = module(*given[: len(inputs(module, 0, 0))])[0]
    assert states.shape == (2, 5, 6)


def test_one_number_is_normalized_as_well(draw):
    x, change = draw(BATCH, LENGTH, 1), draw(BATCH, LENGTH, 1, seed=1)
    for path in (ResidualConnection(1, norm_first=first).double() for first in (True, False)):
        with torch.no_grad():
            path.norm.bias.fill_(0.5)  # all that is left of a number without its mean
        normed = path.before(x) if path.norm_first else path.after(x, change)
        assert normed.equal(torch.full_like(x, 0.5))
