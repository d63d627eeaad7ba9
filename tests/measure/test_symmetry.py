import itertools
import math

import numpy as np
import pytest
import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask
from selfattn_book.measure.symmetry import (
    equivariance_gap,
    invariance_gap,
    permutation_matrix,
)
from selfattn_book.multi_head import MultiHeadAttention

BATCH, LENGTH, WIDTH = 2, 5, 3


@pytest.fixture
def chance():
    return torch.Generator().manual_seed(0)


def attend(x, mask=None):
    return scaled_dot_product_attention(x, x, x, mask)[0]


@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_a_permutation_matrix_moves_rows_and_its_transpose_moves_them_back(length):
    x = torch.arange(3.0 * length).reshape(length, 3)
    for order in itertools.permutations(range(length)):
        matrix = permutation_matrix(order)
        assert torch.equal(matrix @ x, x[list(order)])
        assert torch.equal(matrix.mT @ matrix, torch.eye(length))


def test_a_permutation_matrix_takes_a_tensor(draw):
    order = torch.tensor([2, 0, 1])
    assert torch.equal(permutation_matrix(order), torch.eye(3)[order])


@pytest.mark.parametrize("order", [[0, 0], [1, 2], [0, -1]])
def test_an_order_must_hold_every_number_once(order):
    with pytest.raises(ValueError, match="each of 0 to 1 once"):
        permutation_matrix(order)


def test_the_gap_of_an_equivariant_function_is_rounding(draw, chance):
    x = draw(BATCH, LENGTH, WIDTH)
    assert equivariance_gap(attend, x, generator=chance) < 1e-14
    assert equivariance_gap(torch.relu, x, generator=chance) == 0


def test_the_gap_of_a_function_that_knows_positions_is_not(draw, chance):
    x = draw(BATCH, LENGTH, WIDTH)
    assert equivariance_gap(lambda x: attend(x, causal_mask(LENGTH)), x, generator=chance) > 0.1
    assert equivariance_gap(lambda x: x.flip(0), x, generator=chance) == 0
    assert equivariance_gap(lambda x: x.flip(1), x, generator=chance) > 0.1


def test_the_gap_is_the_largest_over_all_positions_and_permutations(chance):
    x = torch.tensor([[0.0], [10.0]])
    assert equivariance_gap(lambda x: x * torch.tensor([[1.0], [2.0]]), x, generator=chance) == 10
    assert invariance_gap(lambda x: x, x, generator=chance) == 10


def test_the_gap_of_a_pooled_output_is_rounding(draw, chance):
    x = draw(BATCH, LENGTH, WIDTH)
    assert invariance_gap(lambda x: attend(x).mean(-2), x, generator=chance) < 1e-14
    assert invariance_gap(attend, x, generator=chance) > 0.1


def test_a_function_that_fails_is_not_taken_for_a_good_one(draw, chance):
    """Of a number that is none, nothing may be called small."""
    nothing = draw(LENGTH, WIDTH) * math.nan
    assert not equivariance_gap(lambda x: x + nothing, nothing, generator=chance) < 1
    assert not invariance_gap(torch.sum, nothing, generator=chance) < 1


def test_the_generator_decides(draw):
    gaps = [
        equivariance_gap(
            lambda x: x.cumsum(-2),
            draw(LENGTH, WIDTH),
            generator=torch.Generator().manual_seed(seed),
            trials=1,
        )
        for seed in (1, 1, 2)
    ]
    assert gaps[0] == gaps[1] != gaps[2]


def test_models_with_parameters_are_measured(draw, chance, seeded):
    with seeded(0):
        module = MultiHeadAttention(WIDTH, 1).double()
    gap = equivariance_gap(
        lambda x: module(x, x, x)[0], draw(BATCH, LENGTH, WIDTH), generator=chance
    )
    assert gap < 1e-14


def test_bad_input_is_refused(draw, chance):
    x = draw(LENGTH, WIDTH)
    with pytest.raises(ValueError, match="trials must be at least 1"):
        equivariance_gap(attend, x, generator=chance, trials=0)
    with pytest.raises(TypeError, match="trials must be an integer"):
        invariance_gap(attend, x, generator=chance, trials=1.5)
    with pytest.raises(ValueError, match="must have 5 positions"):
        equivariance_gap(lambda x: x[:1], x, generator=chance)
    with pytest.raises(ValueError, match="must have 5 positions"):
        equivariance_gap(torch.sum, x, generator=chance)


@pytest.mark.parametrize("order", [[0.5, 1], [0.0, 1.0], [True, False], torch.tensor([0.0, 1.0])])
def test_an_order_is_of_integers(order):
    with pytest.raises(TypeError, match="order must hold integers; got"):
        permutation_matrix(order)


def test_an_order_may_be_numpy_s():
    order = np.array([1, 0, 2])
    assert permutation_matrix(order).equal(permutation_matrix([1, 0, 2]))
