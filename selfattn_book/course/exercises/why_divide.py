"""Why divide: attention with a temperature."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import (
    asked,
    compared,
    drawn,
    likely,
    near,
    numbers,
)
from selfattn_book.course.scores import (
    factor_of,
    follows,
    is_divided,
    of_number,
    of_scores,
)
from selfattn_book.course.shares import (
    are_shares,
    is_pair,
    of_shares,
    with_logarithms,
)
from selfattn_book.reasons.answer import YES, Answer, RefusedError
from selfattn_book.reasons.calls import missing

WIDTH, S = 7, 5
HOT, COLD = 1e9, 1e-9
EXCHANGED = "Query and key are exchanged: a row belongs to a query."
UNUSED = "The temperature makes no difference."
ADDED = "The temperature is added to the root, and does not multiply it."
OVER = "The weights are divided by the temperature, and not the scores."
TURNED = "What is hot is treated as cold: the temperature multiplies the scores."
LIMITED = "From some temperature on nothing changes: something limits it."
OVERFLOW = "An exponential overflows: take the largest score from its row first."
TOO_LATE = "The product passes 65504 before it is divided."
RATIOS = {
    "The scores are multiplied by the temperature.": 2.0,
    "The temperature stands under the root, beside the width.": 0.5**0.5,
    "The temperature divides twice, as of queries and of keys.": 0.25,
    ADDED: (1 + WIDTH**0.5) / (2 + WIDTH**0.5),
}
Attend = Callable[[Tensor, Tensor, Tensor, float], Any]


def question() -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values, as many of one as of the other."""
    query, key, value = drawn(3, S, WIDTH, seed=13)
    return query, key, value


def products() -> Tensor:
    """Return the products of these queries and keys."""
    query, key, _ = question()
    return query @ key.T


def contexts_of(attend: Attend, *inputs: Tensor, temperature: float = 1) -> Tensor:
    """Return the contexts that an answer computes, and nothing beside them."""
    got = asked(attend, *inputs, temperature)
    if is_pair(got):
        raise RefusedError(missing("return the contexts alone", got))
    shape = len(inputs[0]), inputs[2].size(1)
    return numbers(got, "the contexts", shape)


def weights_of(attend: Attend, temperature: float = 1) -> Tensor:
    """Return the weights of an answer: the contexts of values of which each has an axis."""
    query, key, value = question()
    eye = torch.eye(S).to(value)
    return contexts_of(attend, query, key, eye, temperature=temperature)


def gives_contexts(attend: Attend) -> Answer:
    """Ask for a context per query, where there are fewer queries than keys."""
    query, key, value = question()
    inputs = query[:3], key, value[:, :2]

    def is_of_width(width: int) -> bool:
        got = asked(attend, *inputs, 1)
        return numbers(got, "the contexts", (3, width)).size(1) == width

    try:
        contexts_of(attend, *inputs)
    except RefusedError as refused:
        no = refused.answer.because(
            (EXCHANGED, lambda: is_exchanged(attend)),
            (
                "Weights came, and not averages of the values.",
                lambda: is_of_width(S),
            ),
            ("Keys are averaged, and not the values.", lambda: is_of_width(WIDTH)),
        )
        raise RefusedError(no) from refused
    return YES


def averages(attend: Attend) -> Answer:
    """Ask that contexts are averages of the values."""
    query, key, value = question()
    weights = weights_of(attend)
    no = are_shares(weights).because(*of_shares(weights, products()))
    if not no:
        return no
    contexts = contexts_of(attend, query, key, value)
    wanted = weights.to(value) @ value
    told = "is {got}, where its weights give {wanted}"
    return compared(contexts, wanted, "the context", ("query", "entry"), told=told)


def compares_queries_with_keys(attend: Attend) -> Answer:
    """Ask that the weights follow the products of queries and keys."""
    query, key, _ = question()
    weights = with_logarithms(weights_of(attend), products())
    unit = nn.functional.normalize
    wrong = {
        EXCHANGED: products().T,
        "Queries are compared with queries.": query @ query.T,
        "Keys are compared with keys.": key @ key.T,
        "The scores are cosines: queries and keys lost their lengths.": (
            unit(query) @ unit(key).T
        ),
    }
    return follows(factor_of(weights, products())).because(
        *of_scores(weights, wrong)
    )


def divides(attend: Attend) -> Answer:
    """Ask that temperature 1 is the usual divisor, whatever was compared."""
    factor = factor_at(attend, 1)
    others = {
        "The root is that of the number of keys, not of the width.": S**-0.5,
        ADDED: 1 / (1 + WIDTH**0.5),
    }
    return is_divided(factor, WIDTH, others) if follows(factor) else follows(factor)


def halves_at_two(attend: Attend) -> Answer:
    """Ask what a temperature of 2 does to the scores of temperature 1, whatever they are."""
    once = with_logarithms(weights_of(attend), products())
    twice = weights_of(attend, 2)
    if are_shares(once) and not are_shares(twice):
        return are_shares(twice).because(*likely(twice, {OVER: once / 2}))
    ratio = factor_of(twice, once.log())
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


def is_even_when_hot(attend: Attend) -> Answer:
    """Ask that all keys count alike at a very high temperature."""
    return at_temperature(attend, HOT, torch.full((S, S), 1 / S))


def chooses_when_cold(attend: Attend) -> Answer:
    """Ask that the best key takes all at a very low temperature."""
    best = weights_of(attend).argmax(1)
    return at_temperature(attend, COLD, nn.functional.one_hot(best, S))


def at_temperature(attend: Attend, temperature: float, wanted: Tensor) -> Answer:
    """Compare the weights of an extreme temperature with what they should be."""
    once, weights = weights_of(attend), weights_of(attend, temperature)
    if not are_shares(once):
        return are_shares(once).because(*of_shares(once, products()))
    what = f"at temperature {temperature:g}, the weight"
    no = compared(weights, wanted.to(weights), what, ("query", "key"))

    def is_as_at(other: float) -> bool:
        return near(weights, weights_of(attend, other))

    return no.because(
        (OVERFLOW, lambda: bool(weights.isnan().any())),
        (OVER, lambda: near(weights * temperature, once)),
        (UNUSED, lambda: near(weights, once)),
        (TURNED, lambda: near(weights_of(attend, 1 / temperature), wanted)),
        (LIMITED, lambda: is_as_at(temperature**0.7)),
    )


def survives_16_bits(attend: Attend) -> Answer:
    """Ask for finite contexts where the undivided product passes what 16 bits can hold."""
    contexts = in_16_bits(attend, 32)
    one = torch.ones_like(contexts)
    what = "in float16, for queries and keys of entries 32 and values of 1, the context"
    no = compared(contexts, one, what, ("query", "entry"), told="is {got}")

    def stands(entry: float) -> bool:
        return bool(in_16_bits(attend, entry).isfinite().all())

    return no.because((TOO_LATE, lambda: stands(16)), (OVERFLOW, lambda: stands(1)))


def in_16_bits(attend: Attend, entry: float) -> Tensor:
    """Return the contexts of equal queries, keys and values, 64 wide."""
    query, key, value = (torch.full((3, 64), n).half() for n in (entry, entry, 1.0))
    return contexts_of(attend, query, key, value)


def factor_at(attend: Attend, temperature: float) -> float:
    """Return by how much the products were multiplied, also if a row is that of a key."""
    weights = with_logarithms(weights_of(attend, temperature), products())
    factor = factor_of(weights, products())
    return factor if follows(factor) else factor_of(weights, products().T)


def is_exchanged(attend: Attend) -> bool:
    """Tell whether the weights are those of keys that ask."""
    return bool(follows(factor_of(weights_of(attend), products().T)))


BEGINNING = "why-divide.html#what-a-softmax-does-with-large-scores"
CODE = "why-divide.html#the-divisor-in-the-code"
ROOT = "why-divide.html#the-variance-of-a-score"
STUB = "def attend(query, key, value, temperature):\n    ..."
QUESTIONS = [
    Asked("it gives a context for each query", gives_contexts, CODE),
    Asked("the contexts are averages of the values", averages, BEGINNING),
    Asked("queries are compared with keys", compares_queries_with_keys, CODE),
    Asked("a temperature of 1 is the usual attention", divides, ROOT),
    Asked("a temperature of 2 halves the scores", halves_at_two, BEGINNING),
    Asked("what is very hot is even", is_even_when_hot, BEGINNING),
    Asked("what is very cold is a choice", chooses_when_cold, BEGINNING),
    Asked("it survives 16 bits", survives_16_bits, CODE),
]
EXERCISES = [Exercise("attend", STUB, QUESTIONS)]
check = checker(EXERCISES)
