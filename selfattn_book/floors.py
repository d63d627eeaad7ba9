"""The least loss that any weights can reach, with a proof in numbers.

A model's logits are free numbers added up: one for each feature of a sentence that it can tell.
Shape letters: ``B`` sentences, ``F`` features.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from selfattn_book.sharpness import entropy


class Floor(NamedTuple):
    """The greatest lower bound of a mean binary cross-entropy, from both sides.

    Attributes:
        lower: no weights go below it, up to rounding; the doubts prove it.
        upper: some weights reach it.
        doubts: ``(B,)``, the share that each sentence's wrong label gets at the floor.
    """

    lower: float
    upper: float
    doubts: Tensor


def indicators(rows: Tensor) -> Tensor:
    """Give each different row a feature of its own.

    Args:
        rows: ``(B, N)``, integers.

    Returns:
        ``(B, F)``, a single 1 in each row, in the same place where the rows are equal.

    Example:
        >>> sentences = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 3, 2]])
        >>> indicators(sentences.sort(dim=1).values)   # of bags: two are equal
        tensor([[1., 0.],
                [1., 0.],
                [0., 1.]], dtype=torch.float64)
    """
    different, place = rows.unique(dim=0, return_inverse=True)
    return torch.eye(len(different), dtype=torch.float64)[place]


def doubts_bound(
    doubts: Tensor, features: Tensor, labels: Tensor, *, tolerance: float = 1e-12
) -> float:
    r"""Return a loss below which no weights go, if the doubts are balanced.

    .. math:: \sum_i \delta_i\, \phi_i = 0 \quad\text{implies}\quad
       \frac1B \sum_i \ln\big(1 + e^{-\phi_i \cdot w}\big) \ge \frac1B \sum_i \eta(\delta_i)
       \;\text{ for all } w

    Here :math:`\phi_i` are the features of a sentence, with the sign turned where the label is 0,
    and :math:`\eta(\delta)` is the entropy of the shares :math:`\delta` and :math:`1 - \delta`.

    Args:
        doubts: ``(B,)``, the :math:`\delta_i`, between 0 and 1.
        features: ``(B, F)``, before any sign is turned.
        labels: ``(B,)``, each 0 or 1.
        tolerance: how far from 0 a feature's balance may be.

    Raises:
        ValueError: a doubt is outside of 0 to 1, or the doubts are not balanced.

    Example:
        >>> bag, labels = torch.ones(3, 1), torch.tensor([1.0, 1.0, 0.0])   # three of one bag
        >>> round(doubts_bound(torch.tensor([1, 1, 2]) / 3, bag, labels), 4)
        0.6365
        >>> doubts_bound(torch.tensor([0.5, 0.5, 0.5]), bag, labels)
        Traceback (most recent call last):
        ValueError: doubts must balance in every feature; got a sum of 0.5
        >>> doubts_bound(torch.tensor([1.0, 1.0, 2.0]), bag, labels)
        Traceback (most recent call last):
        ValueError: doubts must be between 0 and 1; got 2
    """
    doubts, rows = doubts.double(), _signed(features, labels)
    outside = doubts[(doubts < 0) | (doubts > 1)]
    if len(outside) > 0:
        raise ValueError(f"doubts must be between 0 and 1; got {outside[0]:g}")
    worst = (doubts @ rows).abs().max()
    if worst > tolerance:
        rule = "doubts must balance in every feature"
        raise ValueError(f"{rule}; got a sum of {worst:g}")
    return entropy(torch.stack([doubts, 1 - doubts], dim=1)).mean().item()


def linear_floor(features: Tensor, labels: Tensor, *, steps: int = 60) -> Floor:
    r"""Find the infimum of the mean binary cross-entropy over all logits ``features @ w``.

    The loss is convex in ``w``, so Newton's method finds its way, and at each point it also
    says how to balance the doubts. What is between ``lower`` and ``upper`` is still open.

    Args:
        features: ``(B, F)``.
        labels: ``(B,)``, each 0 or 1.
        steps: of Newton's method.

    Raises:
        ValueError: there is a label besides 0 and 1, or not one for each row of features.

    Example:
        >>> bag, labels = torch.ones(3, 1), torch.tensor([1.0, 1.0, 0.0])
        >>> floor = linear_floor(bag, labels)
        >>> round(floor.upper, 4), floor.upper - floor.lower < 1e-12, floor.doubts
        (0.6365, True, tensor([0.3333, 0.3333, 0.6667], dtype=torch.float64))
        >>> linear_floor(bag, labels[:2])
        Traceback (most recent call last):
        ValueError: there must be a label for each row of features; got 2 and 3
        >>> linear_floor(bag, 2 * labels)
        Traceback (most recent call last):
        ValueError: labels must be 0 or 1; got 2
    """
    rows = _signed(features, labels)  # margins are rows @ w
    w = rows.new_zeros(rows.size(1))
    for _ in range(steps):
        step = _newton_step(rows, w)
        while _loss(rows, w + step) > _loss(rows, w):
            step = step / 2
        w = w + step
    doubts = (-rows @ w).sigmoid()
    # Where the step would take the doubts, to first order: there they are balanced.
    change = doubts * (1 - doubts) * (rows @ _newton_step(rows, w))
    doubts = (doubts - change).clamp(0, 1)
    lower = doubts_bound(doubts, features, labels)
    return Floor(lower, _loss(rows, w).item(), doubts)


def _loss(rows: Tensor, w: Tensor) -> Tensor:
    return nn.functional.softplus(-rows @ w).mean()


def _newton_step(rows: Tensor, w: Tensor) -> Tensor:
    """Solve (Hessian) step = -gradient, as a least-squares problem that may be singular."""
    margins = rows @ w
    bend = (margins.sigmoid() * (-margins).sigmoid()).sqrt()
    return (
        torch.linalg.pinv(bend[:, None] * rows, rtol=1e-12) @ (-margins / 2).exp()
    )


def _signed(features: Tensor, labels: Tensor) -> Tensor:
    """Turn the sign of a row where the label is 0, so that a margin is its product with w."""
    if len(features) != len(labels):
        rule = "there must be a label for each row of features"
        raise ValueError(f"{rule}; got {len(labels)} and {len(features)}")
    other = labels[(labels != 0) & (labels != 1)]
    if len(other) > 0:
        raise ValueError(f"labels must be 0 or 1; got {other[0]:g}")
    return (2 * labels.double() - 1)[:, None] * features.double()
