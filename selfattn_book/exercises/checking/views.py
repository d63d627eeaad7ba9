"""Views of results: what questions compare of them."""

from typing import Any

from torch import Tensor

from selfattn_book.exercises.checking.exercise import factory
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.exercises.checking.results import Program

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


@factory
def input_after(program: Program, *case: Any) -> Any:
    """Return the program that returns its first input after a call."""
    tensor_of(program(*case), "a result")
    return case[0]


@factory
def calls(program: Program, model: Any, *case: Any) -> int:
    """Return the program that counts how often a model is called, by its ``calls``."""
    before: int = model.calls
    tensor_of(program(model, *case), "a result")
    return model.calls - before
