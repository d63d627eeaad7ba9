"""Attention with a temperature: what an answer makes of it, from very hot to very cold."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.course.numbers import (
    asked,
    compared,
    drawn,
    likely,
    near,
    numbers,
)
from selfattn_book.course.scores import factor_of, of_number
from selfattn_book.course.shares import (
    are_shares,
    is_pair,
    of_shares,
    with_logarithms,
)
from selfattn_book.reasons.answer import YES, Answer, RefusedError
from selfattn_book.reasons.calls import missing

WIDTH, S, VALUE = 7, 5, 9
HOT, COLD = 1e9, 1e-9
UNUSED = "The temperature makes no difference."
ADDED = "The temperature is added to the root, and does not multiply it."
OVER = "The weights are divided by the temperature, and not the scores."
TURNED = "What is hot is treated as cold: the temperature multiplies the scores."
LIMITED = "From some temperature on nothing changes: something limits it."
ROUNDED = "The temperature is rounded down to a whole number."
OVERFLOW = "An exponential overflows: take the largest score from its row first."
TOO_LATE = "The product passes 65504 before it is divided."
RATIOS = {
    "The scores are multiplied by the temperature.": 2.0,
    "The temperature stands under the root, beside the width.": 0.5**0.5,
    "The temperature divides twice, as of queries and of keys.": 0.25,
    ADDED: (1 + WIDTH**0.5) / (2 + WIDTH**0.5),
}
Attend = Callable[[Tensor, Tensor, Tensor, float], Any]


def question(width: int = WIDTH) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, as many of one as of the other."""
    query, key, value = drawn(3, S, width, seed=13)
    return query, key, value


def products(width: int = WIDTH) -> Tensor:
    """Return the products of these queries and keys."""
    query, key, _ = question(width)
    return query @ key.T


def contexts_of(attend: Attend, *inputs: Tensor, temperature: float = 1) -> Tensor:
    """Return the contexts that an answer computes, and nothing beside them."""
    got = asked(attend, *inputs, temperature)
    if is_pair(got):
        raise RefusedError(missing("return the contexts alone", got))
    shape = len(inputs[0]), inputs[2].size(1)
    return numbers(got, "the contexts", shape)


def weights_of(
    attend: Attend, temperature: float = 1, *, width: int = WIDTH, times: float = 1
) -> Tensor:
    """Return the weights of an answer: the contexts of values of which each has an axis.

    Args:
        attend: the answer.
        temperature: that it is given.
        width: of queries and keys.
        times: so much larger are the queries.
    """
    query, key, value = question(width)
    axes = torch.eye(S, VALUE).to(value)
    inputs = times * query, key, axes
    return contexts_of(attend, *inputs, temperature=temperature)[:, :S]


def halves_at_two(attend: Attend) -> Answer:
    """Ask what a temperature of 2 does to the scores of temperature 1, whatever they are."""
    once = with_logarithms(weights_of(attend), products())
    twice = weights_of(attend, 2)
    if are_shares(once) and not are_shares(twice):
        return are_shares(twice).because(*likely(twice, {OVER: once / 2}))
    ratio = ratio_at_two(attend)
    if math.isclose(ratio, 0.5, rel_tol=1e-2):
        return YES
    what = "at temperature 2 the scores are those of temperature 1"
    told = f"{what} times {ratio:.3g}."
    if math.isnan(ratio):
        told = (
            "no factor makes the scores of temperature 2 of those of temperature 1."
        )
    no = Answer("mathematics", told).because((UNUSED, lambda: near(twice, once)))
    return no.because(*of_number(ratio, RATIOS))


def ratio_at_two(attend: Attend) -> float:
    """Return how the scores of temperature 2 compare with those of temperature 1."""
    once = with_logarithms(weights_of(attend), products())
    return factor_of(weights_of(attend, 2), once.log())


def is_even_when_hot(attend: Attend) -> Answer:
    """Ask that all keys count alike at a very high temperature."""
    return at_temperature(attend, HOT, 1, torch.full((S, S), 1 / S))


def chooses_when_cold(attend: Attend) -> Answer:
    """Ask that the best key takes all at a very low temperature."""
    best = weights_of(attend).argmax(1)
    return at_temperature(attend, COLD, 1e-2, nn.functional.one_hot(best, S))


def at_temperature(
    attend: Attend, temperature: float, times: float, wanted: Tensor
) -> Answer:
    """Compare the weights of an extreme temperature with what they should be.

    Args:
        attend: the answer.
        temperature: that it is given.
        times: how large the queries are, so that a limit of the temperature shows.
        wanted: weights.
    """
    once, weights = weights_of(attend), weights_of(attend, temperature, times=times)
    if not are_shares(once):
        return are_shares(once).because(*of_shares(once, products()))
    what = f"at temperature {temperature:g}, the weight"
    no = compared(weights, wanted.to(weights), what, ("query", "key"))

    def at(other: float, times: float = 1) -> Tensor:
        return weights_of(attend, other, times=times)

    def is_limited() -> bool:
        same = near(weights, at(temperature**0.7, times))
        return same and near(weights.sum(1), torch.ones(len(weights)).to(weights))

    return no.because(
        (TURNED, lambda: near(at(1 / temperature, times), wanted)),
        (TURNED, lambda: math.isclose(ratio_at_two(attend), 2, rel_tol=1e-2)),
        (ROUNDED, lambda: near(at(1.7), once) and not near(at(2), once)),
        (
            OVERFLOW,
            lambda: bool(weights.isnan().any() and at(0.5).isfinite().all()),
        ),
        (OVER, lambda: near(weights * temperature, at(1, times))),
        (UNUSED, lambda: near(at(2), once)),
        (LIMITED, is_limited),
    )


def survives_16_bits(attend: Attend) -> Answer:
    """Ask for finite contexts where the undivided product passes what 16 bits can hold."""
    contexts = in_16_bits(attend, 32)
    one = torch.ones_like(contexts)
    what = "in float16, for queries and keys of entries 32 and values of 1, the context"
    no = compared(contexts, one, what, ("query", "entry"), told="is {got}")

    def stands(entry: float) -> bool:
        return bool(in_16_bits(attend, entry).isfinite().all())

    return no.because(
        (TOO_LATE, lambda: not stands(32) and stands(16)),
        (OVERFLOW, lambda: not stands(8) and stands(1)),
    )


def in_16_bits(attend: Attend, entry: float) -> Tensor:
    """Return the contexts of equal queries, keys and values, 64 wide."""
    query, key, value = (torch.full((3, 64), n).half() for n in (entry, entry, 1.0))
    return contexts_of(attend, query, key, value)
