"""Blockwise attention: context, gradients and refusals as without blocks, and linear memory."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.blockwise import blockwise_attention
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.measure.cost import multiply_adds, peak_memory

BATCH, HEADS, QUERIES, KEYS, WIDTH, VALUE_WIDTH = 2, 3, 5, 7, 11, 13
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
BLOCKS = [1, 2, 3, 5, 7, 100]  # some divide the lengths, most do not
MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(QUERIES, KEYS),
    "padding": lambda: padding_mask([3, 7]),
    "both": lambda: causal_mask(QUERIES, KEYS) & padding_mask([3, 7]),
    "masked rows": lambda: ~causal_mask(QUERIES, KEYS),
    "masked at first": lambda: ~causal_mask(QUERIES, KEYS).flip(0),
    "all masked": lambda: torch.tensor(False),
    "one key": lambda: torch.arange(KEYS) == 4,
    "a column": lambda: torch.arange(QUERIES)[:, None] > 1,
    "heads": lambda: torch.tensor([True, False, True])[:, None, None],
}


@pytest.fixture(params=MASKS)
def mask(request):
    return MASKS[request.param]()


@pytest.fixture
def problem(draw):
    return (
        3 * draw(BATCH, HEADS, QUERIES, WIDTH, seed=1),
        draw(BATCH, HEADS, KEYS, WIDTH, seed=2),
        draw(BATCH, HEADS, KEYS, VALUE_WIDTH, seed=3),
    )


def full(mask):
    return None if mask is None else mask.expand(BATCH, HEADS, QUERIES, KEYS).clone()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_it_agrees_with_the_oracle(problem, oracle, agree, mask, dtype):
    problem = [x.to(dtype) for x in problem]
    for block in BLOCKS:
        context = blockwise_attention(*problem, mask, block_size=block)
        assert context.dtype == dtype
        agree(context, oracle(*problem, full(mask)))


@pytest.mark.parametrize("block", [1, 3, 100])
def test_gradients_agree_with_the_oracle(problem, oracle, agree, mask, block):
    ours, theirs = ([x.clone().requires_grad_() for x in problem] for _ in range(2))
    blockwise_attention(*ours, mask, block_size=block).square().sum().backward()
    oracle(*theirs, full(mask)).square().sum().backward()
    for x, y, before in zip(ours, theirs, problem, strict=True):
        agree(x.grad, y.grad)
        assert x.equal(before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", [300.0, 6e4])
def test_scores_beyond_the_range_of_float16(oracle, agree, dtype, size):
    """Finite wherever the oracle is."""
    query = torch.tensor([[size, 1.0], [-size, 1.0]], dtype=dtype)
    value = torch.eye(2, dtype=dtype)
    for block in (1, 2):
        context = blockwise_attention(query, query, value, block_size=block)
        agree(context, oracle(query, query, value))


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_far_from_zero_in_any_order(oracle, agree, sign):
    """The maximum goes up, or down, by more than an exponential can hold."""
    key = sign * torch.tensor([[-1e4], [0.0], [1e4], [9999.0]], dtype=torch.float64)
    query, value = torch.ones(1, 1).double(), torch.eye(4).double()
    context = blockwise_attention(query, key, value, block_size=1)
    agree(context, oracle(query, key, value))


def test_under_autocast_it_keeps_its_range():
    query = torch.full((2, 1), 300.0)
    with torch.autocast("cpu", torch.float16):
        context = blockwise_attention(query, query, torch.ones(2, 1), block_size=1)
    assert context.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("block", [1, 2, 100])
def test_leading_axes_broadcast(problem, agree, block):
    query, key, value = problem
    context = blockwise_attention(query, key[0], value[0, 0], block_size=block)
    expected, _ = scaled_dot_product_attention(query, key[0], value[0, 0])
    agree(context, expected)
    context = blockwise_attention(query[0, 0], key[0], value, block_size=block)
    expected, _ = scaled_dot_product_attention(query[0, 0], key[0], value)
    agree(context, expected)


def test_no_queries_and_no_keys(draw):
    some, none = draw(3, WIDTH), draw(0, WIDTH)
    assert blockwise_attention(none, some, some).shape == (0, WIDTH)
    assert blockwise_attention(some, none, none).tolist() == [[0.0] * WIDTH] * 3
    no = torch.ones(3, 0, dtype=torch.bool)
    assert (blockwise_attention(some, none, none, no) == 0).all()
    given = [x.clone().requires_grad_() for x in (some, none, none)]
    blockwise_attention(*given).sum().backward()  # part of the graph, with gradient 0
    assert [x.grad.abs().sum().item() for x in given] == [0.0] * 3
    many = none.expand(2, 0, WIDTH)
    assert blockwise_attention(some, many, many).shape == (2, 3, WIDTH)


numbers = st.floats(-1e4, 1e4, width=32)
sizes = st.integers(1, 6)


@st.composite
def asked(draw):
    queries, keys, width, wide = (draw(sizes) for _ in range(4))
    shapes = [(queries, width), (keys, width), (keys, wide)]
    arrays = [draw(hnp.arrays("float64", s, elements=numbers)) for s in shapes]
    mask = draw(hnp.arrays("bool", (queries, keys)))
    return [torch.from_numpy(x) for x in (*arrays, mask)], draw(st.integers(1, 8))


@given(asked())
def test_any_numbers_any_mask_any_block(problem):
    (query, key, value, mask), block = problem
    ours = blockwise_attention(query, key, value, mask, block_size=block)
    plain, _ = scaled_dot_product_attention(query, key, value, mask)
    # A score is rounded to a share of its size, and moves its weight by as much.
    size = 1 + (query.abs().amax() * key.abs().amax()).item() * query.size(-1)
    reach = 1e-15 * size * (1 + value.abs().amax().item())
    torch.testing.assert_close(ours, plain, rtol=0, atol=10 * reach)
    assert (ours[~mask.any(-1)] == 0).all()


# What it is for.
@pytest.mark.parametrize("masked", [False, True])
def test_its_memory_grows_with_the_length(masked):
    plain, blocks = ({}, {})
    for length in (4096, 8192):
        x = torch.empty(length, 64, device="meta")
        mask = torch.ones(1, length, device="meta").bool() if masked else None
        plain[length] = peak_memory(scaled_dot_product_attention, x, x, x, mask)
        blocks[length] = peak_memory(blockwise_attention, x, x, x, mask)
    assert plain[8192] / plain[4096] > 3.9
    assert blocks[8192] / blocks[4096] < 2.1
    assert plain[8192] > 8192**2 * 4 > 10 * blocks[8192]


def test_it_multiplies_as_often():
    x = torch.empty(700, 64, device="meta")
    plain = multiply_adds(scaled_dot_product_attention, x, x, x)
    assert plain == 2 * 700 * 700 * 64
    assert multiply_adds(lambda: blockwise_attention(x, x, x, block_size=64)) == plain


REFUSED = [
    (lambda q, k, v: (q[..., 1:], k, v), "must have one dimension D"),
    (lambda q, k, v: (q, k, v[..., 1:, :]), "must have one length S"),
    (lambda q, k, v: (q, k, v[:, :2]), "leading axes of key and value"),
    (lambda q, k, v: (q[0, :2], k[0, 0], v[0]), "leading axes of query and value"),
    (lambda q, k, v: (q, k, v, causal_mask(6)), "must broadcast"),
    (lambda q, k, v: (q, k, v, torch.ones(QUERIES, KEYS)), "boolean"),
    (lambda q, k, v: (q, k.float(), v), "must have one dtype"),
    (lambda q, k, v: (q.int(), k.int(), v.int()), "floating-point"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_inputs_are_refused(problem, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        blockwise_attention(*change(*problem))


def test_a_block_has_at_least_one_key(problem):
    with pytest.raises(ValueError, match="block_size must be at least 1; got 0"):
        blockwise_attention(*problem, block_size=0)


def test_it_can_be_compiled_into_a_graph(problem, agree):
    exported = torch.export.export(Blocks(), problem)
    agree(exported.module()(*problem), Blocks()(*problem))


class Blocks(torch.nn.Module):
    def forward(self, query, key, value):
        return blockwise_attention(query, key, value, block_size=3)
