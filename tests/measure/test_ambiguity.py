"""Other weights with the same context: what is promised of them, on drawn rows."""

import pytest
import torch

from selfattn_book.measure.ambiguity import free_directions, other_weights


@pytest.mark.parametrize(("keys", "width"), [(3, 1), (7, 2), (13, 5), (5, 4), (3, 7)])
def test_there_are_as_many_directions_as_the_rank_leaves(draw, keys, width):
    values = draw(keys, width)
    free = free_directions(values)
    assert len(free) == max(0, keys - width - 1)
    torch.testing.assert_close(free @ values, torch.zeros(len(free), width).double())
    torch.testing.assert_close(free.sum(1), torch.zeros(len(free)).double())
    torch.testing.assert_close(free @ free.T, torch.eye(len(free)).double())


def test_values_that_agree_leave_more(draw):
    values = draw(2, 5)[torch.tensor([0, 1, 0, 1, 1, 0])]
    assert len(free_directions(values)) == 4


@pytest.mark.parametrize("key", range(6))
def test_context_and_sum_stay_and_the_key_loses(draw, key):
    values, weights = draw(6, 3), draw(6, seed=4).softmax(0)
    other = other_weights(weights, values, key)
    torch.testing.assert_close(other @ values, weights @ values)
    torch.testing.assert_close(other.sum(), weights.sum())
    assert (other >= 0).all()
    assert other.min() < 1e-12
    assert other[key] < weights[key]


@pytest.mark.parametrize("key", range(9))
def test_it_goes_as_far_as_there_is_a_way(draw, key):
    """In the end the key is empty, or no way among the keys that are left leads down."""
    values, weights = draw(9, 3, seed=5), draw(9, seed=6).softmax(0)
    other = other_weights(weights, values, key)
    assert (other == 0).sum() >= 1
    if other[key] > 0:
        left = other > 0
        free = free_directions(values[left])
        at = int(left[:key].sum())
        assert free[:, at].norm() < 1e-6


def test_without_a_free_direction_the_weights_stay(draw):
    weights = draw(3).softmax(0)
    other = other_weights(weights, draw(3, 2), 0)
    assert other.equal(weights)
    assert other is not weights


def test_a_key_that_no_others_can_replace_keeps_its_weight():
    values = torch.tensor([[0.0], [0.0], [0.0], [1.0]]).double()
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    torch.testing.assert_close(other_weights(weights, values, 3), weights)


def test_weights_that_are_given_stay_as_they_are(draw):
    weights, values = draw(6).softmax(0), draw(6, 2)
    before = weights.clone()
    other_weights(weights, values, 1)
    assert weights.equal(before)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda v: free_directions(v[0]), ValueError, r"\(S, D\); got \(2,\)"),
        (lambda v: free_directions(v.int()), TypeError, "floating-point"),
        (lambda v: other_weights(v[:, 0], v, 4), ValueError, "below 4; got 4"),
        (lambda v: other_weights(v[:, 0], v, -1), ValueError, "at least 0; got -1"),
        (lambda v: other_weights(v, v, 0), ValueError, r"\(4,\).*got \(4, 2\)"),
    ],
)
def test_what_does_not_fit_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.rand(4, 2, generator=torch.Generator().manual_seed(0)))
