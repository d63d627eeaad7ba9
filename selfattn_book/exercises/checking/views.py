"""Views of results: what questions compare of them."""

from typing import Any

from torch import Tensor

Pair = tuple[Tensor, Tensor]


def first(results: tuple[Tensor, ...], *case: Any) -> Tensor:
    """View the first of several results."""
    return results[0]


def second(results: tuple[Tensor, ...], *case: Any) -> Tensor:
    """View the second of several results, as the weights beside the contexts."""
    return results[1]


def row_sums(pair: Pair, *case: Any) -> Tensor:
    """View the sum of each row of weights; NaN where a weight is negative."""
    return pair[1].double().sqrt().square().sum(-1)


def score_direction(weights: Tensor) -> Tensor:
    """Return the centered logarithms of weights, at length 1: the same for every divisor."""
    scores = weights.double().log()
    scores = scores - scores.mean(-1, keepdim=True)
    return scores / scores.norm()


def compared(pair: Pair, *case: Any) -> Tensor:
    """View what the scores compare, whatever they are divided by."""
    return score_direction(pair[1])
