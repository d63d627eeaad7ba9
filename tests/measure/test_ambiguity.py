"""Other weights with the same context: their properties, on random rows."""

import pytest
import torch

from selfattn_book.measure.ambiguity import alternative_weights, context_null_space


@pytest.mark.parametrize(("keys", "width"), [(3, 1), (7, 2), (13, 5), (5, 4), (3, 7)])
def test_free_directions_are_an_orthonormal_basis_of_what_the_rank_leaves(draw, keys, width):
    values = draw(keys, width)
    free = context_null_space(values)
    assert len(free) == max(0, keys - width - 1)
    torch.testing.assert_close(free @ values, torch.zeros(len(free), width).double())
    torch.testing.assert_close(free.sum(1), torch.zeros(len(free)).double())
    torch.testing.assert_close(free @ free.T, torch.eye(len(free)).double())


def test_equal_values_leave_more(draw):
    assert len(context_null_space(draw(2, 5)[torch.tensor([0, 1, 0, 1, 1, 0])])) == 4


@pytest.mark.parametrize(("keys", "key"), [(n, key) for n in (6, 9) for key in range(n)])
def test_context_and_sum_stay_and_the_key_loses_all_it_can(draw, keys, key):
    values, weights = draw(keys, 3, seed=5), draw(keys, seed=6).softmax(0)
    before = weights.clone()
    other = alternative_weights(weights, values, key)
    assert weights.equal(before)
    torch.testing.assert_close(other @ values, weights @ values)
    torch.testing.assert_close(other.sum(), weights.sum())
    assert other.min() == 0
    assert other[key] < weights[key]
    left = other > 0
    if left[key]:  # no direction among the keys that are left reduces it
        assert context_null_space(values[left])[:, int(left[:key].sum())].norm() < 1e-6


def test_a_key_that_no_others_can_replace_keeps_its_weight(draw):
    weights = draw(3).softmax(0)
    assert alternative_weights(weights, draw(3, 2), 0).equal(weights)
    values = torch.tensor([[0.0], [0.0], [0.0], [1.0]]).double()
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    torch.testing.assert_close(alternative_weights(weights, values, 3), weights)
