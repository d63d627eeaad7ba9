"""Loss floors of linear models, each with a dual certificate that proves it.

A model's logits are sums of free numbers, one for each feature of a sentence. The proof is computed
in fractions, and logarithms to fifty digits, so it is the same on every machine.
Shape letters: ``B`` sentences, ``F`` features.
"""

import math
from collections.abc import Iterable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import NamedTuple

import torch
from torch import Tensor

from selfattn_book.measure.certificates import (
    Margins,
    Rows,
    Table,
    dual_certificate,
    exchange,
    in_sentences,
)


class Floor(NamedTuple):
    """The greatest lower bound of a mean binary cross-entropy, from both sides.

    Attributes:
        lower: lower bound, proved by the doubts.
        upper: loss that some weights approach or pass.
        doubts: dual variables, the probability of each sentence's wrong label at the floor.
    """

    lower: float
    upper: float
    doubts: list[Fraction]


def indicators(rows: Tensor) -> Tensor:
    """Return one-hot features ``(B, F)``: one feature for each different row of integers ``(B, N)``.

    Example:
        >>> sentences = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 3, 2]])
        >>> indicators(sentences.sort(dim=1).values)   # of bags: two are equal
        tensor([[1., 0.],
                [1., 0.],
                [0., 1.]], dtype=torch.float64)
    """
    different, index = rows.unique(dim=0, return_inverse=True)
    return torch.eye(len(different), dtype=torch.float64)[index]


def doubts_bound(doubts: Iterable[float | Fraction], features: Tensor, labels: Tensor) -> float:
    r"""Return the lower bound on the loss that balanced doubts prove.

    .. math:: \sum_i \delta_i\, \phi_i = 0 \quad\text{implies}\quad
       \frac1B \sum_i \ln\big(1 + e^{-\phi_i \cdot w}\big) \ge \frac1B \sum_i \eta(\delta_i)
       \;\text{ for all } w

    Here :math:`\phi_i` are the features of a sentence, negated where the label is 0,
    and :math:`\eta(\delta)` is the entropy of the probabilities :math:`\delta` and :math:`1 - \delta`.
    The sum is 0 without any rounding: a floating-point number stands for exactly itself.

    Args:
        doubts: dual variables :math:`\delta_i`, each between 0 and 1.
        features: ``(B, F)``.
        labels: ``(B,)``, each 0 or 1.

    Raises:
        ValueError: there is not a doubt for each row of features, one is outside of 0 to 1,
            or they are not balanced.

    Example:
        >>> bag, labels = torch.ones(3, 1), torch.tensor([1.0, 1.0, 0.0])   # three of one bag
        >>> third = Fraction(1, 3)
        >>> round(doubts_bound([third, third, 2 * third], bag, labels), 4)
        0.6365
    """
    exact, rows = [Fraction(doubt) for doubt in doubts], _signed(features, labels)
    if len(exact) != len(rows):
        rule = "there must be a doubt for each row of features"
        raise ValueError(f"{rule}; got {len(exact)} and {len(rows)}")
    for doubt in exact:
        if not 0 <= doubt <= 1:
            raise ValueError(f"doubts must be between 0 and 1; got {float(doubt):g}")
    for feature in zip(*rows, strict=True):
        total = sum(d * x for d, x in zip(exact, feature, strict=True))
        if total != 0:
            rule = "doubts must balance in every feature"
            raise ValueError(f"{rule}; got a sum of {float(total):g}")
    return _mean_entropy(exact)


def linear_floor(features: Tensor, labels: Tensor, *, steps: int = 200) -> Floor:
    """Find the infimum of the mean binary cross-entropy over all logits ``features @ w``.

    Sentences without a doubt in any balanced list cost nothing in the end. The others have a
    smallest loss, which Newton's method finds; its doubts are then balanced and proved.

    Args:
        features: ``(B, F)``, finite, taken as exact.
        labels: ``(B,)``, each 0 or 1.
        steps: largest number of steps; fewer if both sides are equal before.

    Raises:
        ValueError: there is a label besides 0 and 1, or not one for each row of features,
            or a feature is not finite.

    Example:
        >>> bag, labels = torch.ones(3, 1), torch.tensor([1.0, 1.0, 0.0])
        >>> lower, upper, doubts = linear_floor(bag, labels)
        >>> round(upper, 4), upper - lower, doubts_bound(doubts, bag, labels) == lower
        (0.6365, 0.0, True)
    """
    rows = _signed(features, labels)
    margins = dict.fromkeys(dual_certificate(rows), Fraction(0))
    table = in_sentences(rows, margins)
    for _ in range(steps):
        doubts = _balanced(table, margins, len(rows))
        lower = doubts_bound(doubts, features, labels)
        upper = _mean_cost(margins, len(rows))
        if lower == upper:
            break
        margins = _newton_step(table, margins)
    return Floor(lower, upper, doubts)


def _balanced(table: Table, margins: Margins, count: int) -> list[Fraction]:
    """Return the doubts of the margins, balanced by those of the basis."""
    doubts = [Fraction(0)] * count
    for i, line in table.items():
        doubts[i] = Fraction(_doubt(margins[i]))
        for j, c in line.items():
            doubts[j] -= doubts[i] * c
    possible = all(0 <= doubt <= 1 for doubt in doubts)
    return doubts if possible else [Fraction(0)] * count


def _newton_step(table: Table, margins: Margins) -> Margins:
    """Take a step of Newton's method, no margin by more than 1, so that the loss falls."""
    scales = {i: _root_curvature(margin) for i, margin in margins.items()}
    exchange(table, scales)  # so that no coefficient is large
    basis = [j for j in margins if j not in table]
    lines = table | {j: {k: Fraction(j == k) for k in basis} for j in basis}
    rows = [[lines[i][j] * scales[i] / scales[j] for j in basis] for i in margins]
    targets = [_doubt(margin) / scales[i] for i, margin in margins.items()]
    found = torch.linalg.lstsq(_float64(rows), _float64([targets]).T).solution[:, 0]
    change = {j: Fraction(x) / scales[j] for j, x in zip(basis, found.tolist(), strict=True)}
    step = {i: Fraction(0) for i in margins}
    for i, line in lines.items():
        step[i] += sum(c * change[j] for j, c in line.items())
    longest = max(Fraction(1), *(abs(x) for x in step.values()))
    return {i: margins[i] + step[i] / longest for i in margins}


def _float64(rows: Rows) -> Tensor:
    return torch.tensor([[*map(float, row)] for row in rows], dtype=torch.float64)


def _doubt(margin: Fraction) -> Fraction:
    return Fraction(1 / (1 + math.exp(margin)))


def _root_curvature(margin: Fraction) -> Fraction:
    """Return the square root of the second derivative of a cost."""
    return Fraction(1 / (2 * math.cosh(margin / 2)))


def _mean_cost(margins: Margins, count: int) -> float:
    with localcontext(prec=50):
        costs = [(1 + (-_decimal(m)).exp()).ln() for m in margins.values()]
        return float(sum(costs, Decimal(0)) / count)


def _mean_entropy(doubts: list[Fraction]) -> float:
    with localcontext(prec=50):
        probabilities = [_decimal(p) for doubt in doubts for p in (doubt, 1 - doubt) if p]
        return float(-sum((p * p.ln() for p in probabilities), Decimal(0)) / len(doubts))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


def _signed(features: Tensor, labels: Tensor) -> Rows:
    """Negate the rows with label 0, so that a margin is the product of a row with w."""
    if len(features) != len(labels):
        rule = "there must be a label for each row of features"
        raise ValueError(f"{rule}; got {len(labels)} and {len(features)}")
    other = labels[(labels != 0) & (labels != 1)]
    if len(other) > 0:
        raise ValueError(f"labels must be 0 or 1; got {other[0]:g}")
    odd = features[~features.isfinite()]
    if len(odd) > 0:
        raise ValueError(f"features must be finite; got {odd[0]:g}")
    pairs = zip(labels.tolist(), features.tolist(), strict=True)
    return [[Fraction(x if label else -x) for x in row] for label, row in pairs]
