import math

import pytest
import torch

from selfattn_book.measure.softmax import entropy, score_spread, softmax_jacobian


def weights_of(*shape, scale=1.0, seed=0):
    chance = torch.Generator().manual_seed(seed)
    scores = scale * torch.randn(*shape, generator=chance, dtype=torch.float64)
    return scores, scores.softmax(-1)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_entropy_is_that_of_torchs_distributions(scale):
    _, weights = weights_of(2, 3, 5, scale=scale)
    expected = torch.distributions.Categorical(probs=weights).entropy()
    torch.testing.assert_close(entropy(weights), expected)


def test_entropy_reaches_both_ends():
    assert entropy(torch.eye(7)).tolist() == [0.0] * 7
    uniform = torch.full((7,), 1 / 7, dtype=torch.float64)
    assert entropy(uniform).item() == pytest.approx(math.log(7), abs=1e-14)


def test_jacobian_is_that_of_autograd():
    scores, weights = weights_of(5)
    expected = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    torch.testing.assert_close(softmax_jacobian(weights), expected)


def test_jacobian_of_many_rows_is_that_of_each():
    _, weights = weights_of(2, 3, 5)
    many = softmax_jacobian(weights)
    assert many.shape == (2, 3, 5, 5)
    for i in range(2):
        for j in range(3):
            assert torch.equal(many[i, j], softmax_jacobian(weights[i, j]))


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_spread_is_the_variance_of_the_scores(scale):
    scores, weights = weights_of(2, 3, 5, scale=scale)
    torch.testing.assert_close(score_spread(weights), scores.var(-1))


def test_spread_refuses_a_weight_of_zero():
    with pytest.raises(ValueError, match="every weight must be above 0; got 0"):
        score_spread(torch.tensor([0.5, 0.5, 0.0]))


@pytest.mark.parametrize("function", [entropy, softmax_jacobian, score_spread])
def test_weights_are_floating_point(function):
    with pytest.raises(TypeError, match="weights must be a floating-point tensor"):
        function(torch.tensor([1, 0]))
