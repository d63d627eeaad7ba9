"""Other weights that give the same context: how far an output leaves a map open.

Shape letters: ``S`` keys, ``D`` width of a value.
"""

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating, check_integer


def free_directions(values: Tensor) -> Tensor:
    r"""Return the directions in which weights can move while their context stays.

    .. math:: n V = 0, \qquad \sum_j n_j = 0

    There are :math:`S - r` of them, where :math:`r \le D + 1` is the rank of the values with a
    column of ones beside them.

    Args:
        values: ``(S, D)``, floating point.

    Returns:
        ``(S - r, S)``, of length 1 and at right angles; there may be none.

    Raises:
        TypeError: the values are not floating point.
        ValueError: they are no matrix.

    Source:
        :cite:t:`brunner2020identifiability`, section 3.

    Example:
        >>> values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])   # the third is their mean
        >>> (n,) = free_directions(values)
        >>> (n / n[0]).round(decimals=5)
        tensor([ 1.,  1., -2.])
        >>> free_directions(torch.eye(3)).shape, free_directions(torch.ones(5, 2)).shape
        (torch.Size([0, 3]), torch.Size([4, 5]))
    """
    check_floating("values", values)
    if values.ndim != 2:
        raise ValueError(f"values must have shape (S, D); got {tuple(values.shape)}")
    ones = torch.ones_like(values[:, :1])
    kept = torch.cat([values, ones], dim=1)  # (S, D + 1)
    rank = int(torch.linalg.matrix_rank(kept))
    basis, _, _ = torch.linalg.svd(kept)  # (S, S); the first ones span what is kept
    return basis[:, rank:].T


def other_weights(weights: Tensor, values: Tensor, key: int) -> Tensor:
    r"""Take weight away from a key, while the context allows it and no weight turns negative.

    .. math:: w' = w + t\,n, \qquad n V = 0, \quad \sum_j n_j = 0, \quad w'_j \ge 0

    :math:`n` is the free direction that lies nearest to *less of this key*, and :math:`t` the
    longest step. A key that has come to 0 stays there, and the others go on without it, until
    there is no such direction.

    Args:
        weights: ``(S,)``, one row of a map.
        values: ``(S, D)``.
        key: which of them shall get less.

    Returns:
        ``(S,)``.

    Raises:
        ValueError: there is not one weight for each value, or no such key.

    Example:
        >>> values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
        >>> other_weights(torch.tensor([0.1, 0.1, 0.8]), values, key=2)
        tensor([0.5000, 0.5000, 0.0000])
        >>> other_weights(torch.tensor([0.5, 0.5, 0.0]), torch.eye(3), key=0)
        tensor([0.5000, 0.5000, 0.0000])
    """
    count = len(free_directions(values).T)
    if weights.shape != (count,):
        rule = f"weights must have shape ({count},), one for each value"
        raise ValueError(f"{rule}; got {tuple(weights.shape)}")
    if check_integer("key", key, least=0) >= count:
        raise ValueError(f"key must be below {count}; got {key}")
    other = weights.clone()
    while (step := _step(other, values, key)) is not None:
        other = step
    return other


def _step(weights: Tensor, values: Tensor, key: int) -> Tensor | None:
    """Go on until the next weight comes to 0, or return nothing if there is no way to go."""
    tiny = torch.finfo(values.dtype).eps ** 0.5
    left = (weights > 0).nonzero()[:, 0]
    at = (left == key).nonzero()[:, 0]
    free = free_directions(values[left])
    if not len(at) or not len(free):
        return None
    direction = -free.T @ free[:, at[0]]  # of those that are left
    if direction[at[0]] > -tiny:
        return None
    falling = direction < -tiny * direction.abs().max()
    steps = (weights[left] / -direction).masked_fill(~falling, torch.inf)
    moved = (weights[left] + steps.min() * direction).clamp(min=0)
    moved[steps.argmin()] = 0.0
    return weights.index_copy(0, left, moved)
