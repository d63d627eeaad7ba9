"""Entropy, Jacobian and score spread, compared with PyTorch's own."""

import pytest
import torch

from selfattn_book.measure.softmax import entropy, score_spread, softmax_jacobian


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_entropy_and_spread_are_those_of_pytorch(draw, scale):
    scores = scale * draw(2, 3, 5)
    weights = scores.softmax(-1)
    expected = torch.distributions.Categorical(probs=weights).entropy()
    torch.testing.assert_close(entropy(weights), expected)
    torch.testing.assert_close(score_spread(weights), scores.var(-1))


def test_the_jacobian_is_that_of_autograd(draw):
    scores = draw(2, 3, 5)
    found = softmax_jacobian(scores.softmax(-1))
    assert found.shape == (2, 3, 5, 5)
    for i in range(2):
        for j in range(3):
            expected = torch.func.jacrev(lambda s: s.softmax(-1))(scores[i, j])
            torch.testing.assert_close(found[i, j], expected)


def test_a_weight_of_zero_has_no_score():
    with pytest.raises(ValueError, match="every weight must be above 0; got 0"):
        score_spread(torch.tensor([0.5, 0.5, 0.0]))
