"""Contexts and weights that an answer gives back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import torch
from torch import Tensor

from selfattn_book.course.numbers import compared, likely, near, numbers
from selfattn_book.course.scores import factor_of, slope
from selfattn_book.reasons.answer import Answer, Likely, RefusedError
from selfattn_book.reasons.calls import missing
from selfattn_book.reasons.of_attention import ALONG_QUERIES

Shape = tuple[int, ...]
Signs = Mapping[str, tuple[object, Shape]]

EXCHANGED = "Contexts come first, and then weights."
ON_ITS_SIDE = "Rows and columns are exchanged: a row belongs to a query."
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
ITSELF_ALONE = "Each word attends to itself alone."
LOGARITHMS = "These are the logarithms of shares, as of `log_softmax`."
MULTIPLIED_LATE = (
    "Something multiplies the weights behind the softmax, where a row sums to one."
)
INPUT_ADDED = "The word itself is added to the average."
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
    if not is_pair(got):
        raise RefusedError(missing("return contexts and weights", got))
    first, second = cast(Sequence[object], got)
    return first, second


def is_pair(got: object) -> bool:
    """Tell whether two things came.

    Example:
        >>> is_pair(([[1.0]], [[1.0]])), is_pair(torch.ones(2, 3))
        (True, False)
    """
    return isinstance(got, tuple | list) and len(got) == 2


def weights_of(
    got: object, shape: Shape, others: Mapping[str, Shape] = {}
) -> Tensor:
    """Return the weights that came, a row for each query.

    Args:
        got: from an answer.
        shape: that they must have.
        others: sentences beside the shapes that they explain.
    """
    first, second = pair(got)
    signs: Signs = {said: (second, shape) for said, shape in others.items()}
    return _numbers(
        second, "the weights", shape, {EXCHANGED: (first, shape), **signs}
    )


def contexts_of(
    got: object, shape: Shape, others: Mapping[str, Shape] = {}
) -> Tensor:
    """Return the contexts that came, also where they came alone; as :func:`weights_of`."""
    first, second = pair(got) if is_pair(got) else (got, None)
    signs: Signs = {said: (first, shape) for said, shape in others.items()}
    turned = {EXCHANGED: (second, shape), ON_ITS_SIDE: (first, shape[::-1])}
    return _numbers(first, "the contexts", shape, {**turned, **signs})


def averages(got: object, values: Tensor, right: Tensor) -> Answer:
    """Ask that contexts are averages of values, with the weights that came beside them.

    Args:
        got: from an answer.
        values: ``(S, E)``.
        right: contexts, ``(T, E)``; asked for where no weights came.
    """
    what, axes = "the context", ("query", "entry")
    contexts = contexts_of(got, tuple(right.shape))
    if not is_pair(got):
        return compared(contexts, right, what, axes)
    weights = weights_of(got, (len(right), len(values))).to(values)
    told = "is {got}, where the weights that came give {wanted}"
    no = compared(contexts, weights @ values, what, axes, told=told)
    wrong = {"The contexts are right; the weights beside them are others.": right}
    if len(right) == len(values):
        wrong |= {
            "The weights were read along a column, where those of a query are a row.": (
                weights.T @ values
            ),
            "The values came back as they were.": values,
            INPUT_ADDED: weights @ values + values,
        }
    return no.because(*likely(contexts, wrong))


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


def with_logarithms(weights: Tensor, products: Tensor) -> Tensor:
    """Return weights that are above zero, or refuse them as shares."""
    if not (weights > 0).all():
        no = are_shares(weights)
        raise RefusedError(no.because(*of_shares(weights, products)))
    return weights


def of_shares(weights: Tensor, products: Tensor) -> list[Likely]:
    """Return what can be behind rows that are no shares.

    Args:
        weights: that came, ``(T, S)``.
        products: of each query with each key, ``(T, S)``.
    """
    products = products.to(weights)
    row_sums, several = products.sum(-1, keepdim=True), len(weights) > 1

    def is_one(sums: Tensor) -> bool:
        return near(sums, torch.ones_like(sums))

    return [
        (ONE_SOFTMAX, lambda: several and is_one(weights.sum())),
        (NO_EXPONENTIAL, lambda: near(weights * row_sums, products)),
        (NO_SOFTMAX, lambda: near(weights, slope(weights, products) * products)),
        (LOGARITHMS, lambda: is_one(weights.exp().sum(-1))),
        (ITSELF_ALONE, lambda: several and near(weights, torch.eye(len(weights)))),
        (ALONG_QUERIES, lambda: is_one(weights.sum(0))),
        (NO_SUM, lambda: are_exponentials(weights, products)),
        (MULTIPLIED_LATE, lambda: several and share_a_factor(weights, products)),
        (ONE_KEY, lambda: is_one(weights.amax(-1))),
        (NOT_ITSELF, lambda: several and not weights.diagonal().any()),
        (MASKED, lambda: several and not weights.triu(1).any()),
    ]


def are_exponentials(weights: Tensor, products: Tensor) -> bool:
    """Tell whether the logarithms of weights go with the products: nobody divided by a sum."""
    logs = weights.double().log().to(weights.dtype)
    return bool((weights > 0).all()) and near(
        logs, slope(logs, products) * products
    )


def share_a_factor(weights: Tensor, products: Tensor) -> bool:
    """Tell whether all rows sum to one number, and are a softmax of the products but for that."""
    sums = weights.sum(-1)
    is_one_number = near(sums, sums.mean().expand_as(sums))
    return is_one_number and factor_of(weights, products) > 1e-3


def _numbers(got: object, what: str, shape: Shape, signs: Signs) -> Tensor:
    """Return numbers, or refuse them for what another shape speaks for."""

    def is_there(held: object, shape: Shape) -> bool:
        return numbers(held, what, shape).shape == shape

    try:
        return numbers(got, what, shape)
    except RefusedError as refused:
        reasons = [(said, partial(is_there, *sign)) for said, sign in signs.items()]
        raise RefusedError(refused.answer.because(*reasons)) from refused
