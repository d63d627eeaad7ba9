"""Entropy and Jacobian of a softmax, and the variance of its scores.

Shape letters: ``T`` query length, ``S`` key length.
"""

import torch
from torch import Tensor


def entropy(weights: Tensor) -> Tensor:
    r"""Return the entropy ``(...)`` of each row of weights ``(..., S)``, in nats.

    .. math:: -\sum_j w_j \ln w_j

    with 0 for a weight of 0. It is 0 for a one-hot row, and the logarithm of the
    number of keys for a uniform one.

    Source:
        :cite:t:`shannon1948mathematical`, section 6.

    Example:
        >>> entropy(torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.0, 1.0, 0.0, 0.0]])).exp()
        tensor([4., 1.])
    """
    return torch.special.entr(weights).sum(dim=-1)


def softmax_jacobian(weights: Tensor) -> Tensor:
    r"""Return the derivative ``(..., S, S)`` of each weight by each score of its row.

    .. math:: \frac{\partial w_i}{\partial s_j} = w_i (\delta_{ij} - w_j)

    Example:
        >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
        tensor([[ 0.2500, -0.2500],
                [-0.2500,  0.2500]])
    """
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def score_spread(weights: Tensor) -> Tensor:
    """Return the variance ``(...)`` of the scores along each row, from the weights ``(..., S)`` alone.

    The logarithm of a weight is its score, up to a constant of its row.

    Raises:
        ValueError: a weight is 0.

    Example:
        >>> scores = torch.tensor([3.0, 1.0, 2.0])
        >>> scores.var(), score_spread(scores.softmax(-1))
        (tensor(1.), tensor(1.0000))
    """
    if not (weights > 0).all():
        raise ValueError(f"every weight must be above 0; got {weights.min().item()}")
    return weights.log().var(dim=-1)
