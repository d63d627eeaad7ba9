"""The two measurements of who hears whom: they find every path, and none that is not there."""

import pytest
import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask
from selfattn_book.measure.sensitivity import leaks, sensitivity

LENGTH, WIDTH = 5, 3


def attend(mask):
    """A function of one sequence: self-attention under a mask."""
    return lambda x: scaled_dot_product_attention(x, x, x, mask)[0]


def test_flow_of_a_linear_map_is_known(draw):
    mixing, projection = draw(7, LENGTH, seed=1), draw(WIDTH, 2, seed=2)
    flow = sensitivity(lambda x: mixing @ x @ projection, draw(LENGTH, WIDTH))
    expected = mixing.abs() * torch.linalg.matrix_norm(projection)
    assert flow.shape == (7, LENGTH)
    torch.testing.assert_close(flow, expected, rtol=1e-12, atol=0)


def test_flow_of_a_map_without_mixing_is_diagonal(draw):
    flow = sensitivity(lambda x: 3 * x, draw(LENGTH, WIDTH))
    torch.testing.assert_close(flow, 3 * 3**0.5 * torch.eye(LENGTH).double())


def test_flow_of_a_constant_is_zero(draw):
    flow = sensitivity(lambda x: torch.ones(2, 7), draw(LENGTH, WIDTH))
    assert torch.equal(flow, torch.zeros(2, LENGTH).double())


def test_flow_leaves_its_input_alone(draw):
    inputs = draw(LENGTH, WIDTH)
    before = inputs.clone()
    sensitivity(lambda x: x.sin(), inputs)
    assert torch.equal(inputs, before)
    assert not inputs.requires_grad


def test_flow_of_attention_follows_its_mask(draw):
    mask = causal_mask(LENGTH)
    flow = sensitivity(attend(mask), draw(LENGTH, WIDTH))
    assert torch.equal(flow != 0, mask)


def test_causal_attention_leaks_nothing(draw):
    mask = causal_mask(LENGTH)
    assert leaks(attend(mask), draw(LENGTH, WIDTH), mask) == []


def test_an_inverted_mask_leaks(draw):
    mask = causal_mask(LENGTH)
    found = leaks(attend(~mask), draw(LENGTH, WIDTH), mask)
    assert found == [(t, s) for t in range(LENGTH) for s in range(t + 1, LENGTH)]


def test_an_output_that_is_no_number_leaks():
    found = leaks(lambda x: x * torch.nan, torch.ones(2, 1), causal_mask(2))
    assert found == [(0, 1)]


# Contract, "bad input".
@pytest.mark.parametrize(
    ("function", "inputs", "error", "message"),
    [
        (
            torch.sin,
            torch.ones(2, 3, 5),
            ValueError,
            r"inputs must be one sequence of shape \(S, D\); got \(2, 3, 5\)",
        ),
        (
            torch.sin,
            torch.ones(3),
            ValueError,
            r"inputs must be one sequence of shape \(S, D\); got \(3,\)",
        ),
        (
            torch.sin,
            torch.ones(2, 3).int(),
            TypeError,
            "inputs must be a floating-point tensor; got dtype torch.int32",
        ),
        (
            torch.sum,
            torch.ones(2, 3),
            ValueError,
            r"function must return one sequence of shape \(T, E\); got \(\)",
        ),
        (
            lambda x: x[None],
            torch.ones(2, 3),
            ValueError,
            r"function must return one sequence of shape \(T, E\); got \(1, 2, 3\)",
        ),
    ],
)
def test_information_flow_refuses(function, inputs, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        sensitivity(function, inputs)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (
            torch.ones(3, 3),
            TypeError,
            "mask must be a boolean tensor, True = may attend; got dtype torch.float32",
        ),
        (
            torch.ones(3, 2, dtype=torch.bool),
            ValueError,
            r"mask must have one row an output and one column an input, \(3, 3\); got \(3, 2\)",
        ),
    ],
)
def test_leaks_refuses(mask, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        leaks(torch.sin, torch.ones(3, 2), mask)
