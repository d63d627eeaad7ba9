"""Contexts and weights that an answer gives back, and what its scores were before the softmax."""

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor

from selfattn_book.course.numbers import compared, near, numbers
from selfattn_book.reasons.answer import YES, Answer, Likely, RefusedError
from selfattn_book.reasons.calls import missing
from selfattn_book.reasons.of_attention import (
    ALONG_QUERIES,
    BY_THE_WIDTH,
    MULTIPLIED,
    NOT_DIVIDED,
)

ONE_SOFTMAX = (
    "One softmax was taken over the whole table, where each row has its own."
)
NO_SUM = "The exponentials are not divided by the sum of their row."
NO_SOFTMAX = "These are scores: the softmax is missing."
NO_EXPONENTIAL = (
    "The scores themselves were shared out: their exponentials come first."
)
NOT_ITSELF = "The diagonal is left out, and a word attends to itself as well."
MASKED = "Later keys are hidden, and no mask was asked for."
ONE_KEY = "Each query takes one key alone, which is an argmax and no softmax."


def pair(got: object) -> tuple[object, object]:
    """Return the two things that came, or refuse what is not two.

    Example:
        >>> pair(([[1.0]], [[1.0]]))
        ([[1.0]], [[1.0]])
        >>> pair(torch.ones(2, 3))
        Traceback (most recent call last):
        selfattn_book.reasons.answer.RefusedError: no: it must return contexts and weights;
        got one tensor of shape (2, 3).
    """
    if isinstance(got, tuple | list) and len(got) == 2:
        return got[0], got[1]
    raise RefusedError(missing("return contexts and weights", got))


def weights_of(got: object, shape: tuple[int, int]) -> Tensor:
    """Return the weights that came, a row for each query."""
    first, second = pair(got)
    exchanged = "Contexts come first, and then weights."
    return _numbers(second, "the weights", shape, {exchanged: (first, shape)})


def contexts_of(got: object, shape: tuple[int, int]) -> Tensor:
    """Return the contexts that came, also where they came alone."""
    what = "the contexts"
    if not isinstance(got, tuple | list) or len(got) != 2:
        return _numbers(got, what, shape, {})
    first, second = got
    signs = {
        "Contexts come first, and then weights.": (second, shape),
        "Rows and columns are exchanged: a row belongs to a query.": (
            first,
            shape[::-1],
        ),
    }
    return _numbers(first, what, shape, signs)


def _numbers(
    got: object,
    what: str,
    shape: tuple[int, int],
    signs: Mapping[str, tuple[object, tuple[int, int]]],
) -> Tensor:
    """Return numbers, or refuse them for what another shape speaks for."""

    def is_there(held: object, shape: tuple[int, int]) -> bool:
        return numbers(held, what, shape).shape == shape

    try:
        return numbers(got, what, shape)
    except RefusedError as refused:
        reasons = [(said, partial(is_there, *sign)) for said, sign in signs.items()]
        raise RefusedError(refused.answer.because(*reasons)) from refused


def are_shares(weights: Tensor) -> Answer:
    """Ask that each row of weights sums to one, and that none is zero.

    Example:
        >>> are_shares(torch.tensor([[0.5, 0.5], [1.0, 1.0]]))
        no: the weights of query 1 sum to 2.
        >>> are_shares(torch.tensor([[0.5, 0.5], [0.0, 1.0]]))
        no: the weight of key 0 of query 1 is 0, and an exponential is above 0.
    """
    sums = weights.double().sum(-1).to(weights.dtype)
    one = torch.ones_like(sums)
    no = compared(sums, one, "the weights", ("query",), told="sum to {got}")
    if not no or (weights > 0).all():
        return no
    query, key = (int(i) for i in (~(weights > 0)).nonzero()[0])
    got = f"the weight of key {key} of query {query} is {weights[query, key]:.3g}"
    return Answer("mathematics", f"{got}, and an exponential is above 0.")


def of_shares(weights: Tensor, products: Tensor) -> list[Likely]:
    """Return what can be behind rows that are no shares.

    Args:
        weights: that came, ``(T, S)``.
        products: of each query with each key, ``(T, S)``.
    """
    products = products.to(weights)
    logs = weights.double().log().to(weights.dtype)
    row_sums = products.sum(-1, keepdim=True)

    def is_one(sums: Tensor) -> bool:
        return near(sums, torch.ones_like(sums))

    return [
        (ONE_SOFTMAX, lambda: len(weights) > 1 and is_one(weights.sum())),
        (NO_SOFTMAX, lambda: near(weights, _slope(weights, products) * products)),
        (NO_EXPONENTIAL, lambda: near(weights * row_sums, products)),
        (ALONG_QUERIES, lambda: is_one(weights.sum(0))),
        (NO_SUM, lambda: near(logs, _slope(logs, products) * products)),
        (ONE_KEY, lambda: bool((weights.amax(-1) == 1).all())),
        (NOT_ITSELF, lambda: not weights.diagonal().any()),
        (MASKED, lambda: not weights.triu(1).any()),
    ]


def factor_of(weights: Tensor, products: Tensor) -> float:
    """Return by how much products were multiplied before the softmax; ``nan`` if it took others.

    Args:
        weights: above zero, ``(T, S)``; their rows need not sum to one.
        products: of each query with each key, ``(T, S)``.

    Example:
        >>> products = torch.tensor([[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]])
        >>> factor_of((products / 2).softmax(-1), products)
        0.5
        >>> factor_of(products.square().softmax(-1), products)
        nan
    """
    free = weights.double() / weights.double().sum(-1, keepdim=True)
    products = products.double()
    factor = _slope(_centred(free.log()), _centred(products))
    is_it = near(free.to(weights.dtype), (factor * products).softmax(-1))
    return factor.item() if is_it else math.nan


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
    return [
        (said, partial(math.isclose, factor, number, rel_tol=1e-2))
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


def _slope(numbers: Tensor, products: Tensor) -> Tensor:
    """Return the factor that brings products nearest to numbers."""
    return (numbers * products).sum() / products.square().sum()


def _centred(table: Tensor) -> Tensor:
    return table - table.mean(-1, keepdim=True)
