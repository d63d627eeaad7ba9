"""Permutation matrices, and gaps from equivariance and invariance."""

import itertools
import math

import pytest
import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask
from selfattn_book.measure.symmetry import equivariance_gap, invariance_gap, permutation_matrix

BATCH, LENGTH, WIDTH = 2, 5, 3


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def attend(x, mask=None):
    return scaled_dot_product_attention(x, x, x, mask)[0]


@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_a_permutation_matrix_permutes_rows_and_its_transpose_is_its_inverse(length):
    x = torch.arange(3.0 * length).reshape(length, 3)
    for order in itertools.permutations(range(length)):
        matrix = permutation_matrix(order)
        assert torch.equal(matrix, permutation_matrix(torch.tensor(order).long()))
        assert torch.equal(matrix @ x, x[list(order)])
        assert torch.equal(matrix.mT @ matrix, torch.eye(length))


ONCE, WHOLE = (ValueError, "each of 0 to 1 once"), (TypeError, "order must hold integers; got")
WRONG = [([0, 0], ONCE), ([1, 2], ONCE), ([0, -1], ONCE)]
WRONG += [([0.0, 1.0], WHOLE), ([True, False], WHOLE), (torch.tensor([0.0, 1.0]), WHOLE)]


@pytest.mark.parametrize(("order", "refusal"), WRONG)
def test_an_order_must_hold_every_integer_once(order, refusal):
    error, message = refusal
    with pytest.raises(error, match=message):
        permutation_matrix(order)


@pytest.mark.parametrize(
    ("gap", "function", "least", "most"),
    [
        (equivariance_gap, attend, 0, 1e-14),
        (equivariance_gap, torch.relu, 0, 0),
        (equivariance_gap, lambda x: x.flip(0), 0, 0),  # the batch
        (equivariance_gap, lambda x: x.flip(1), 0.1, math.inf),
        (equivariance_gap, lambda x: attend(x, causal_mask(LENGTH)), 0.1, math.inf),
        (invariance_gap, lambda x: attend(x).mean(-2), 0, 1e-14),
        (invariance_gap, attend, 0.1, math.inf),
    ],
)
def test_gaps_of_symmetric_functions_are_rounding(draw, generator, gap, function, least, most):
    assert least <= gap(function, draw(BATCH, LENGTH, WIDTH), generator=generator) <= most


def test_the_gap_is_the_largest_over_all_positions_and_permutations(generator):
    x, scale = torch.tensor([[0.0], [10.0]]), torch.tensor([[1.0], [2.0]])
    assert equivariance_gap(lambda x: x * scale, x, generator=generator) == 10
    assert invariance_gap(lambda x: x, x, generator=generator) == 10


def test_a_gap_that_is_not_a_number_is_not_small(draw, generator):
    nan = draw(LENGTH, WIDTH) * math.nan
    assert not equivariance_gap(lambda x: x + nan, nan, generator=generator) < 1
    assert not invariance_gap(torch.sum, nan, generator=generator) < 1


def test_the_generator_decides(draw):
    def gap(seed):
        generator = torch.Generator().manual_seed(seed)
        x = draw(LENGTH, WIDTH)
        return equivariance_gap(lambda x: x.cumsum(-2), x, generator=generator, trials=1)

    assert gap(1) == gap(1) != gap(2)


@pytest.mark.parametrize("function", [lambda x: x[:1], torch.sum])
def test_an_output_without_the_positions_is_refused(draw, generator, function):
    with pytest.raises(ValueError, match="must have 5 positions"):
        equivariance_gap(function, draw(LENGTH, WIDTH), generator=generator)
