"""Properties of attention for all inputs, by hypothesis."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch import Tensor

from selfattn_book.attention import attention_weights, masked_softmax, scaled_dot_product_attention
from selfattn_book.measure.sensitivity import leaks, sensitivity

sizes = st.integers(1, 6)
numbers = st.floats(-4, 4, width=32)


def tensors(*shape: int, elements=numbers, dtype="float64"):
    return hnp.arrays(dtype, shape, elements=elements).map(torch.from_numpy)


def masks(*shape: int):
    return tensors(*shape, elements=st.booleans(), dtype="bool")


@dataclass
class Problem:
    """What attention is asked: ``(T, D)``, ``(S, D)``, ``(S, E)`` and a mask ``(T, S)``."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor

    def solve(self) -> tuple[Tensor, Tensor]:
        return scaled_dot_product_attention(self.query, self.key, self.value, self.mask)


@st.composite
def problems(draw) -> Problem:
    queries, keys, width, value_width = (draw(sizes) for _ in range(4))
    return Problem(
        draw(tensors(queries, width)),
        draw(tensors(keys, width)),
        draw(tensors(keys, value_width)),
        draw(masks(queries, keys)),
    )


@st.composite
def sequences(draw, length=sizes) -> Tensor:
    return draw(tensors(draw(length), draw(sizes)))


def close(actual: Tensor, expected: Tensor, atol: float = 1e-14) -> None:
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


# Rows sum to 1, or to 0 where there is nothing to see; weights are non-negative.
@given(problems())
def test_rows_sum_to_one_or_zero(problem):
    context, weights = problem.solve()
    close(weights.sum(-1), problem.mask.any(-1).double())
    assert (weights >= 0).all()
    assert not weights[~problem.mask].any()
    assert not context[~problem.mask.any(-1)].any()


# Unchanged by adding a constant to a row of scores: bitwise, where the sums are exact.
@given(st.data(), sizes, sizes)
def test_a_constant_on_a_row_changes_nothing(data, rows, keys):
    sixteenths = st.integers(-1000, 1000).map(lambda n: n / 16)
    scores = data.draw(tensors(rows, keys, elements=sixteenths))
    constants = data.draw(tensors(rows, 1, elements=sixteenths))
    mask = data.draw(masks(rows, keys))
    weights = masked_softmax(scores, mask)
    assert torch.equal(masked_softmax(scores + constants, mask), weights)


# A masked key equals a deleted key, and what it holds is of no matter.
@given(problems(), st.data())
def test_a_masked_key_equals_a_deleted_key(problem, data):
    masked = data.draw(st.integers(0, len(problem.key) - 1))
    kept = torch.arange(len(problem.key)) != masked
    problem.mask[:, masked] = False
    context, weights = problem.solve()
    shorter = Problem(problem.query, problem.key[kept], problem.value[kept], problem.mask[:, kept])
    expected_context, expected_weights = shorter.solve()
    close(context, expected_context)
    close(weights[:, kept], expected_weights)


# Finite at scores of 1e4, backwards too.
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)
@given(st.data(), sizes, sizes)
def test_finite_at_large_scores(dtype, data, rows, keys):
    large = st.sampled_from([-1e4, -5e3, 0.0, 9e3, 1e4])
    scores = data.draw(tensors(rows, keys, elements=large)).to(dtype).requires_grad_()
    mask = data.draw(masks(rows, keys))
    weights = masked_softmax(scores, mask)
    weights.square().sum().backward()
    assert scores.grad.isfinite().all()
    tolerance = 9 * keys * torch.finfo(dtype).eps
    close(weights.double().sum(-1), mask.any(-1).double(), atol=tolerance)


# Gradients are those of the function, in float64.
small = st.integers(1, 3)


@settings(max_examples=20)
@given(st.data(), small, small, small)
def test_gradcheck_of_plain_attention(data, queries, keys, width):
    shapes = (queries, width), (keys, width), (keys, width)
    inputs = [data.draw(tensors(*shape)).requires_grad_() for shape in shapes]
    mask = data.draw(masks(queries, keys))
    assert torch.autograd.gradcheck(scaled_dot_product_attention, (*inputs, mask))


# What the masks' measurement finds agrees with what they are asked for.
@given(sequences(), st.data())
def test_attention_leaks_nothing_through_its_mask(x, data):
    mask = data.draw(masks(len(x), len(x)))
    values = x.clone()

    def attend(values: Tensor) -> Tensor:
        return scaled_dot_product_attention(x, x, values, mask)[0]

    assert leaks(attend, values, mask) == []
    weights = attention_weights(x, x, mask)
    close(sensitivity(attend, values), weights * x.size(-1) ** 0.5)
