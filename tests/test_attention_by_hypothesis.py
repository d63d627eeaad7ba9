"""Properties of attention for all inputs, by hypothesis."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_book.attention import masked_softmax, scaled_dot_product_attention
from selfattn_book.blockwise import blockwise_attention

sizes = st.integers(1, 6)
numbers, large = st.floats(-4, 4, width=32), st.floats(-1e4, 1e4, width=32)


def tensors(*shape, elements=numbers, dtype="float64"):
    return hnp.arrays(dtype, shape, elements=elements).map(torch.from_numpy)


def masks(*shape):
    return tensors(*shape, elements=st.booleans(), dtype="bool")


@st.composite
def problems(draw, elements=numbers):
    """Draw a query ``(T, D)``, a key ``(S, D)``, a value ``(S, E)`` and a mask ``(T, S)``."""
    queries, keys, width, value_width = (draw(sizes) for _ in range(4))
    shapes = (queries, width), (keys, width), (keys, value_width)
    arrays = (draw(tensors(*shape, elements=elements)) for shape in shapes)
    return [*arrays, draw(masks(queries, keys))]


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-14)


@given(st.data(), sizes, sizes)
def test_a_constant_on_a_row_changes_nothing(data, rows, keys):
    """Bit for bit, where the sums are exact."""
    sixteenths = st.integers(-1000, 1000).map(lambda n: n / 16)
    scores = data.draw(tensors(rows, keys, elements=sixteenths))
    constants = data.draw(tensors(rows, 1, elements=sixteenths))
    mask = data.draw(masks(rows, keys))
    weights = masked_softmax(scores, mask)
    assert torch.equal(masked_softmax(scores + constants, mask), weights)


@given(problems(), st.data())
def test_a_masked_key_equals_a_deleted_key(problem, data):
    query, key, value, mask = problem
    masked = data.draw(st.integers(0, len(key) - 1))
    kept = torch.arange(len(key)) != masked
    mask[:, masked] = False
    context, weights = scaled_dot_product_attention(query, key, value, mask)
    shorter = query, key[kept], value[kept], mask[:, kept]
    expected_context, expected_weights = scaled_dot_product_attention(*shorter)
    close(context, expected_context)
    close(weights[:, kept], expected_weights)


@given(problems(elements=large), st.integers(1, 8))
def test_blocks_of_any_size_change_nothing(problem, block):
    query, key, value, mask = problem
    ours = blockwise_attention(query, key, value, mask, block_size=block)
    plain, _ = scaled_dot_product_attention(query, key, value, mask)
    # A score is rounded to a share of its size, and moves its weight by as much.
    size = 1 + (query.abs().amax() * key.abs().amax()).item() * query.size(-1)
    reach = 1e-15 * size * (1 + value.abs().amax().item())
    torch.testing.assert_close(ours, plain, rtol=0, atol=10 * reach)
    assert (ours[~mask.any(-1)] == 0).all()
