"""What an answer's scores were before the softmax, read off its weights."""

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from selfattn_book.course.numbers import near
from selfattn_book.reasons.answer import YES, Answer, Likely
from selfattn_book.reasons.of_attention import BY_THE_WIDTH, MULTIPLIED, NOT_DIVIDED


def factor_of(weights: Tensor, products: Tensor) -> float:
    """Return by how much products were multiplied before the softmax; ``nan`` if it took others.

    Args:
        weights: above zero, ``(T, S)``. Rows that do not sum to one are read as shares
            all the same, and columns that do, as the softmax of a column.
        products: of each query with each key, ``(T, S)``.

    Example:
        >>> products = torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]])
        >>> factor_of((products / 2).softmax(-1), products)
        0.5
        >>> factor_of(products.square().softmax(-1), products)
        nan
    """
    if _is_one(weights.sum(0)) and not _is_one(weights.sum(1)):
        weights, products = weights.T, products.T
    free = weights.double() / weights.double().sum(-1, keepdim=True)
    products = products.double()
    factor = slope(_centred(free.log()), _centred(products))
    is_it = near(free.to(weights.dtype), (factor * products).softmax(-1))
    return factor.item() if is_it else math.nan


def of_scores(weights: Tensor, wrong: Mapping[str, Tensor]) -> list[Likely]:
    """Return sentences beside the question whether the weights are a softmax of their scores.

    Args:
        weights: above zero, ``(T, S)``.
        wrong: sentences beside the scores that they explain, up to a factor.
    """

    def fit(scores: Tensor) -> bool:
        return abs(factor_of(weights, scores)) > 1e-3

    return [(said, partial(fit, scores)) for said, scores in wrong.items()]


def of_factor(
    factor: float, width: int, others: Mapping[str, float]
) -> list[Likely]:
    """Return what can be behind a factor that is not one by the root of the width.

    Args:
        factor: as :func:`factor_of` measures it.
        width: of queries and keys.
        others: sentences beside the factors that they explain.
    """
    wrong = {
        NOT_DIVIDED: 1.0,
        BY_THE_WIDTH: 1 / width,
        MULTIPLIED: width**0.5,
        "The root was taken twice.": width**-0.25,
        **others,
    }
    return of_number(factor, wrong)


def of_number(got: float, wrong: Mapping[str, float]) -> list[Likely]:
    """Return sentences beside the question whether a number that was measured is theirs.

    Example:
        >>> no = Answer("mathematics", "it is 2.01.")
        >>> no.because(*of_number(2.01, {"It was doubled.": 2.0}))
        no: it is 2.01. It was doubled.
    """
    return [
        (said, partial(math.isclose, got, number, rel_tol=1e-2))
        for said, number in wrong.items()
    ]


def follows(factor: float) -> Answer:
    """Ask that more goes where the product of query and key is larger.

    Example:
        >>> follows(0.5), follows(-1)
        (yes, no: the larger the product of query and key, the smaller is the weight.)
        >>> follows(math.nan).kind, follows(0).reason
        ('mathematics', 'the weights are all equal, whatever query and key are.')
    """
    if factor > 1e-3:
        return YES
    if math.isnan(factor):
        told = "no factor makes the weights a softmax of the products of queries and keys."
    elif factor < -1e-3:
        told = "the larger the product of query and key, the smaller is the weight."
    else:
        told = "the weights are all equal, whatever query and key are."
    return Answer("mathematics", told)


def is_divided(factor: float, width: int, others: Mapping[str, float]) -> Answer:
    """Ask that the products are divided by the root of the width.

    Example:
        >>> is_divided(0.5, 4, {}), is_divided(0.25, 4, {}).reason
        (yes, 'at width 4 the scores are the products of queries and keys times 0.25.')
    """
    if math.isclose(factor, width**-0.5, rel_tol=1e-2):
        return YES
    times = f"the scores are the products of queries and keys times {factor:.3g}"
    no = Answer("mathematics", f"at width {width} {times}.")
    return no.because(*of_factor(factor, width, others))


def slope(numbers: Tensor, products: Tensor) -> Tensor:
    """Return the factor that brings products nearest to numbers."""
    return (numbers * products).sum() / products.square().sum()


def _centred(table: Tensor) -> Tensor:
    return table - table.mean(-1, keepdim=True)


def _is_one(sums: Tensor) -> bool:
    return near(sums, torch.ones_like(sums))
