"""More than one machine: the gradient of a batch that was not cut evenly."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import (
    asked,
    compared,
    drawn,
    likely,
    numbers,
)
from selfattn_book.properties.answer import YES, Answer, equal
from selfattn_book.properties.calls import call

Gather = Callable[[Tensor, list[int]], object]
WIDTH = 4
EVEN, UNEVEN, MORE, EMPTY = [3, 3], [1, 3], [2, 5, 1], [2, 0, 6]
IDLE = "A rank without examples has the mean of nothing, and 0 times nan is nan."


def means_of(counts: Sequence[int]) -> Tensor:
    """Return what each rank brings: the mean over its examples, which of none is nan."""
    means = drawn(len(counts), WIDTH, seed=31 + sum(counts))
    means[torch.tensor(counts) == 0] = torch.nan
    return means


def gathered(gather: Gather, counts: list[int]) -> Tensor:
    """Return the gradient that an answer makes, with one number for each of a rank's."""
    got = asked(gather, means_of(counts), list(counts))
    return numbers(got, "the gradient", (WIDTH,))


def weighted(counts: Sequence[int]) -> Tensor:
    """Return the right gradient."""
    return summed(counts) / sum(counts)


def summed(counts: Sequence[int]) -> Tensor:
    """Return the sum over all examples."""
    means, shares = means_of(counts), torch.tensor(counts)[:, None]
    return (shares * means.nan_to_num()).sum(0)


def wrong(counts: Sequence[int]) -> dict[str, Tensor]:
    """Return misconceptions, each with the gradient that follows from it."""
    means, share = means_of(counts), torch.tensor(counts)[:, None]
    known = means.nan_to_num()
    turned = known / share.clamp(min=1)
    return {
        "This is the mean of the ranks' means: a small part counts as much as a large one.": (
            known.mean(0)
        ),
        "The means were added, and never divided.": known.sum(0),
        "The sum over the examples was not divided by how many there are.": summed(counts),
        "The sum over the examples is divided by the number of ranks.": summed(counts)
        / len(counts),
        "The shares sum to one already; it was divided by the number of ranks as well.": (
            weighted(counts) / len(counts)
        ),
        "The more examples a rank has, the less it counts.": (
            turned.sum(0) / (1 / share).where(share > 0, 0).sum()
        ),
        "Only the first rank was heard.": known[0],
        "Only the last rank was heard.": known[-1],
    }


def gives_one_gradient(gather: Gather) -> Answer:
    """Ask for one gradient, which it gives if it can be asked."""
    gathered(gather, EVEN)
    return YES


def averages_even_parts(gather: Gather) -> Answer:
    """Ask for the plain mean where all ranks have the same number of examples."""
    return _compared(gather, EVEN)


def weighs_uneven_parts(gather: Gather) -> Answer:
    """Ask that each example counts the same, on however many ranks."""
    first = _compared(gather, UNEVEN)
    return first if not first else _compared(gather, MORE)


def passes_over_idle_ranks(gather: Gather) -> Answer:
    """Ask for numbers where a rank has no example."""
    got = gathered(gather, EMPTY)
    if got.isnan().any():
        message = f"with counts {EMPTY} the gradient is nan."
        return Answer("mathematics", message).because((IDLE, lambda: True))
    return _compared(gather, EMPTY)


def leaves_its_input(gather: Gather) -> Answer:
    """Ask that the gradients and counts of the ranks are unchanged, also of an idle rank."""
    for kept in (UNEVEN, EMPTY):
        means = means_of(kept)
        before, counts = means.clone(), list(kept)
        numbers(call(gather, means, counts), "the gradient", (WIDTH,))
        if not equal(means, before) or counts != kept:
            return Answer("mathematics", "it changes its input; take a copy first.")
    return YES


def _compared(gather: Gather, counts: list[int]) -> Answer:
    got = gathered(gather, counts)
    message = f"is {{got}}, not {{wanted}}, with counts {counts}"
    answer = compared(got, weighted(counts), "the gradient", ("number",), message=message)
    return answer.because(*likely(got, wrong(counts)))


HALVES = "scaling-out.html#two-halves-of-a-batch-by-hand"
EXERCISES = [
    Exercise(
        "whole_gradient",
        "def whole_gradient(gradients, counts):\n    ...",
        [
            Asked("it gives one gradient", gives_one_gradient, HALVES),
            Asked("even parts give the plain mean", averages_even_parts, HALVES),
            Asked(
                "in uneven parts each example counts the same",
                weighs_uneven_parts,
                HALVES,
                points=2,
            ),
            Asked(
                "a rank without examples is passed over",
                passes_over_idle_ranks,
                "scaling-out.html#exercises",
            ),
            Asked("its input is unchanged", leaves_its_input, HALVES),
        ],
    )
]
check = checker(EXERCISES)
