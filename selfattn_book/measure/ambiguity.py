"""Other attention weights with the same context.

Shape letters: ``S`` keys, ``D`` dimension of a value.
"""

import torch
from torch import Tensor


def context_null_space(values: Tensor) -> Tensor:
    r"""Return an orthonormal basis ``(S - r, S)`` of the changes of weights that keep sum and context.

    .. math:: n V = 0, \qquad \sum_j n_j = 0

    There are :math:`S - r` of them, where :math:`r \le D + 1` is the rank of the values with a
    column of ones beside them.

    Source:
        :cite:t:`brunner2020identifiability`, section 3.

    Example:
        >>> values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])   # the third is their mean
        >>> (n,) = context_null_space(values)
        >>> (n / n[0]).round(decimals=5)
        tensor([ 1.,  1., -2.])
    """
    fixed = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)  # (S, D + 1)
    rank = int(torch.linalg.matrix_rank(fixed))
    basis, _, _ = torch.linalg.svd(fixed)  # (S, S); the first columns span what is fixed
    return basis[:, rank:].T


def alternative_weights(weights: Tensor, values: Tensor, key: int) -> Tensor:
    r"""Reduce the weight of a key as far as the context allows, without a negative weight.

    .. math:: w' = w + t\,n, \qquad n V = 0, \quad \sum_j n_j = 0, \quad w'_j \ge 0

    :math:`n` is the free direction nearest to *less of this key*, and :math:`t` the longest step;
    steps are taken among the keys with a weight above 0 until there is no such direction.

    Args:
        weights: ``(S,)``, one row of a map.
        values: ``(S, D)``.
        key: index of the key to reduce.

    Example:
        >>> values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        >>> alternative_weights(torch.tensor([0.1, 0.1, 0.8]), values, key=2)
        tensor([0.5000, 0.5000, 0.0000])
    """
    other = weights.clone()
    while (step := _step(other, values, key)) is not None:
        other = step
    return other


def _step(weights: Tensor, values: Tensor, key: int) -> Tensor | None:
    """Step until the next weight is 0, or return ``None`` if no direction is left."""
    tiny = torch.finfo(values.dtype).eps ** 0.5
    left = (weights > 0).nonzero()[:, 0]
    at = (left == key).nonzero()[:, 0]
    free = context_null_space(values[left])
    if not len(at) or not len(free):
        return None
    direction = -free.T @ free[:, at[0]]  # of those that are left
    if direction[at[0]] > -tiny:
        return None
    falling = direction < -tiny * direction.abs().max()
    steps = (weights[left] / -direction).masked_fill(~falling, torch.inf)
    stepped = (weights[left] + steps.min() * direction).clamp(min=0)
    stepped[steps.argmin()] = 0.0
    return weights.index_copy(0, left, stepped)
