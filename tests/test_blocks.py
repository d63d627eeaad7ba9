"""The blocks are what their equations say, and their parts do not reach beyond them."""

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
BLOCKS, STACKS = [EncoderBlock, DecoderBlock], [EncoderStack, DecoderStack]

close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-11)
both_norms = pytest.mark.parametrize("norm_first", [True, False])
each_kind = pytest.mark.parametrize("kind", [*BLOCKS, *STACKS])
each_decoder = pytest.mark.parametrize("kind", [DecoderBlock, DecoderStack])


@pytest.fixture
def make(randomized):
    """Make a float64 module of this file's sizes, with random parameters only."""

    def _make(kind, **options):
        sizes = (LAYERS, WIDTH, HEADS) if kind in STACKS else (WIDTH, HEADS)
        return randomized(kind(*sizes, d_ff=INNER, **options))

    return _make


@pytest.fixture
def x(draw):
    return draw(BATCH, LENGTH, WIDTH, seed=1)


@pytest.fixture
def memory(draw):
    return draw(BATCH, SOURCE, WIDTH, seed=2)


@pytest.fixture
def masks(draw_mask):
    """A mask of the target and one of the memory, for each head."""
    return [draw_mask(BATCH, HEADS, LENGTH, keys, seed=keys) for keys in (LENGTH, SOURCE)]


def inputs(kind, x, memory, masks=()):
    return (x, memory, *masks) if kind in (DecoderBlock, DecoderStack) else (x, *masks[:1])


def normalize(x, norm):
    """LayerNorm by its definition."""
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    return centered / (variance + 1e-5) ** 0.5 * norm.weight + norm.bias


@both_norms
@pytest.mark.parametrize("kind", STACKS)
def test_a_stack_is_its_blocks_in_order(make, x, memory, masks, kind, norm_first):
    stack = make(kind, norm_first=norm_first)
    states, *weights = stack(*inputs(kind, x, memory, masks))
    y, seen = x, []
    for block in stack.blocks:
        y, *own = block(*inputs(kind, y, memory, masks))
        seen.append(own)
    close(states, normalize(y, stack.norm) if norm_first else y)
    assert len(stack.blocks) == LAYERS
    for of_kind, expected in zip(weights, zip(*seen, strict=True), strict=True):
        assert all(map(torch.equal, of_kind, expected))


@both_norms
@each_kind
def test_without_weights_the_states_are_the_same(make, x, memory, masks, kind, norm_first):
    module, given = make(kind, norm_first=norm_first), inputs(kind, x, memory, masks)
    slow, *weights = module(*given)
    fast, *nothing = module(*given, need_weights=False)
    close(fast, slow)
    none = [None] * LAYERS if kind in STACKS else None
    assert nothing == [none] * len(weights)


@both_norms
@each_kind
def test_every_parameter_learns(make, x, memory, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    loss = (module(*inputs(kind, x, memory))[0] - x.flip(-1)).square().mean()
    loss.backward()
    for name, parameter in module.named_parameters():
        if not name.endswith("project_key.bias"):  # adds the same to a row of scores
            assert parameter.grad.abs().max() > 1e-9, name


def with_caches(kind):
    """Return a cache for each block, and the argument that hands them on."""
    caches = [DecoderCache() for _ in range(LAYERS if kind is DecoderStack else 1)]
    return caches, {"caches": caches} if kind is DecoderStack else {"cache": caches[0]}


def lengths(caches):
    return {(len(cache.target), len(cache.memory)) for cache in caches}


@both_norms
@pytest.mark.parametrize("need_weights", [True, False])
@each_decoder
def test_steps_with_a_cache_equal_the_whole(make, x, memory, kind, norm_first, need_weights):
    module, seen = make(kind, norm_first=norm_first), padding_mask([4, SOURCE])
    whole, *weights = module(x, memory, causal_mask(LENGTH), seen)
    (caches, given), end = with_caches(kind), 0
    for chunk in x.split([1, 2, 1, 1], dim=1):
        start, end = end, end + chunk.size(1)
        mask = causal_mask(chunk.size(1), end)
        part, *own = module(chunk, memory, mask, seen, need_weights=need_weights, **given)
        close(part, whole[:, start:end])
        if need_weights:
            for some, expected, keys in zip(own, weights, (end, SOURCE), strict=True):
                if kind is DecoderStack:
                    some, expected = some[-1], expected[-1]
                close(some, expected[:, :, start:end, :keys])
        assert lengths(caches) == {(end, SOURCE)}


@each_decoder
def test_a_refused_step_leaves_the_caches_as_they_were(make, x, memory, kind):
    module, (caches, given) = make(kind), with_caches(kind)
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
        assert lengths(caches) == {(2, SOURCE)}
    close(module(newest, memory, **given)[0], module(x[:, :3], memory, causal_mask(3))[0][:, 2:])


def test_a_step_that_a_later_block_refuses_leaves_the_caches_as_they_were(make, x, memory):
    stack, (caches, given) = make(DecoderStack), with_caches(DecoderStack)
    caches[1].memory.append(*[x.new_zeros(BATCH, HEADS, 4, 2)] * 2)
    caches[1].memory.length = 4
    with pytest.raises(ValueError, match="keys must continue the cache's"):
        stack(x, memory, **given)
    assert [len(cache.target) for cache in caches] == [0, 0, 0]
    assert [len(cache.memory) for cache in caches] == [0, 4, 0]


def test_there_is_a_cache_for_each_block(make, x, memory):
    stack, caches = make(DecoderStack), [DecoderCache() for _ in range(4)]
    for count in (2, 4):
        with pytest.raises(ValueError, match=f"of the 3 blocks; got {count}"):
            stack(x, memory, caches=caches[:count])
    with pytest.raises(ValueError, match="a cache of its own; got 2 for 3 blocks"):
        stack(x, memory, caches=[caches[0], caches[1], caches[0]])


@pytest.mark.parametrize("kind", BLOCKS)
def test_sizes_that_are_left_out(kind):
    block = kind(6, 3)
    assert block.feed_forward.expand.out_features == 24
    assert kind(6, 3, d_ff=5).feed_forward.expand.out_features == 5
    for part in block.modules():
        if hasattr(part, "d_head"):
            assert part.d_head == 2
            assert part.project_query.bias is not None
        assert getattr(part, "norm_first", False) is False


@each_kind
def test_options_are_handed_to_every_part(make, x, memory, kind):
    module = make(kind, d_head=WIDTH, attention_bias=False, dropout=0.25)
    parts = [part for part in module.modules() if hasattr(part, "d_head")]
    for part in parts:
        assert part.project_value.weight.shape == (HEADS * WIDTH, WIDTH)
        assert part.project_output.bias is part.project_key.bias is None
    rates = [part.p for part in module.modules() if isinstance(part, nn.Dropout)]
    blocks = LAYERS if kind in STACKS else 1
    attentions = 2 if kind in (DecoderBlock, DecoderStack) else 1
    assert rates == [0.25] * (attentions + 2) * blocks
    assert [part.dropout for part in parts] == [0.25] * attentions * blocks
    assert not any(getattr(part, "norm_first", False) for part in module.modules())
    assert module(*inputs(kind, x, memory))[0].shape == x.shape


@pytest.mark.parametrize("kind", BLOCKS)
def test_where_every_sublayer_is_dropped_the_input_is_left(make, x, memory, kind):
    block, given = make(kind, norm_first=True, dropout=1.0), inputs(kind, x, memory)
    assert block(*given)[0].equal(x)
    assert not block.eval()(*given)[0].allclose(x)


def test_a_pre_norm_block_drops_and_masks_nothing_by_default():
    block = PreNormBlock(MultiHeadAttention(4, 2), FeedForward(4, 8), [nn.LayerNorm(4)] * 2)
    assert block.dropout.p == 0
    assert (block(torch.ones(1, 3, 4))[1] > 0).all()


def test_arguments_out_of_range_are_refused():
    norms = nn.LayerNorm(4), nn.LayerNorm(4)
    for make_one in (
        lambda: EncoderBlock(4, 2, dropout=2.0),
        lambda: ResidualConnection(4, norm_first=True, dropout=2.0),
        lambda: PreNormBlock(nn.Identity(), nn.Identity(), norms, dropout=2.0),
    ):
        with pytest.raises(ValueError, match="dropout must be between 0 and 1; got"):
            make_one()
    with pytest.raises(ValueError, match="there must be two norms; got 1"):
        PreNormBlock(nn.Identity(), nn.Identity(), norms[:1])
    ResidualConnection(1, norm_first=True)  # the least
    with pytest.raises(ValueError, match="d_model must be at least 1; got 0"):
        ResidualConnection(0, norm_first=True)
    for kind in STACKS:
        with pytest.raises(ValueError, match="num_layers must be at least 1; got 0"):
            kind(0, 4, 2)
