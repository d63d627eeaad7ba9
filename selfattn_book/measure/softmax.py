"""How sharp a row of weights is, what its gradient can be, and which scores it came from.

Shape letters: ``T`` query length, ``S`` key length.
"""

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating


def entropy(weights: Tensor) -> Tensor:
    r"""Measure how evenly each row spreads its attention, in natural units.

    .. math:: -\sum_j w_j \ln w_j

    with 0 for a weight of 0. It is 0 when one key has everything, and the logarithm of the
    number of keys when all weights are equal. Its exponential is a number of keys.

    Args:
        weights: ``(..., S)``, rows that sum to 1.

    Returns:
        ``(...)``.

    Raises:
        TypeError: the weights are not floating point.

    Source:
        :cite:t:`shannon1948mathematical`, section 6.

    Example:
        >>> entropy(torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]])).exp()
        tensor([4., 1.])
        >>> entropy(torch.full((2, 3, 4), 0.25)).shape   # along the last axis
        torch.Size([2, 3])
    """
    check_floating("weights", weights)
    return torch.special.entr(weights).sum(dim=-1)


def softmax_jacobian(weights: Tensor) -> Tensor:
    r"""Return the derivative of each weight by each score of its row.

    .. math:: \frac{\partial w_i}{\partial s_j} = w_i (\delta_{ij} - w_j)

    Args:
        weights: ``(..., S)``, what a softmax returned.

    Returns:
        ``(..., S, S)``: row ``i`` is about weight ``i``, column ``j`` about score ``j``.

    Raises:
        TypeError: the weights are not floating point.

    Example:
        >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
        tensor([[ 0.2500, -0.2500],
                [-0.2500,  0.2500]])
        >>> softmax_jacobian(torch.tensor([[0.0, 1.0], [0.5, 0.5]]))[0]   # sure: nothing moves it
        tensor([[0., 0.],
                [0., 0.]])
    """
    check_floating("weights", weights)
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def score_spread(weights: Tensor) -> Tensor:
    """Tell the variance of the scores along each row, from the weights alone.

    The logarithm of a weight is its score, less a constant of its row;
    and a variance does not see a constant.

    Args:
        weights: ``(..., S)``, what a softmax returned, no weight 0.

    Returns:
        ``(...)``: the unbiased variance over the keys.

    Raises:
        TypeError: the weights are not floating point.
        ValueError: a weight is 0, so that its score cannot be told.

    Example:
        >>> scores = torch.tensor([3.0, 1.0, 2.0])
        >>> scores.var(), score_spread(scores.softmax(-1))
        (tensor(1.), tensor(1.0000))
    """
    _check_positive(weights)
    return weights.log().var(dim=-1)


def _check_positive(weights: Tensor) -> None:
    check_floating("weights", weights)
    if not (weights > 0).all():
        raise ValueError(f"every weight must be above 0; got {weights.min().item()}")
