"""A language model: the tokens that top-p leaves."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import asked, near, numbers
from selfattn_book.properties.answer import YES, Answer, Likely, all_of

SORTED = "The shares are sorted, and no longer stand at their tokens."
CUT_OFF = "The token that crosses the line has been cut off: it stays."
TOO_MANY = "One token too many is left: those before it had enough."
LEAST = "The least likely are left."
OWN_SHARE = "A token is left if its own share is at least p; what counts is their sum."
UNSORTED = "They were summed in the order of the vocabulary: the likeliest come first."
ALL = "Nothing has been cut off."
Nucleus = Callable[[Tensor, float], Any]
Ask = Callable[[Tensor, Tensor, float], Answer]

# Sums of these are exact in binary, so that nothing hangs on a rounding.
ROWS = (
    ((0.0625, 0.15625, 0.375, 0.25, 0.09375, 0.0625), 0.5),
    ((0.0625, 0.25, 0.1875, 0.5), 0.75),  # reached by two to the bit
    ((0.125, 0.375, 0.5), 0.1),  # the first alone has more
    ((0.125, 0.25, 0.0625, 0.5625), 1.0),
)


def of_each_row(ask: Ask) -> Callable[[Nucleus], Answer]:
    """Ask what an answer makes of several distributions."""

    @wraps(ask)
    def asked_of_all(nucleus: Nucleus) -> Answer:
        return all_of(ask(left(nucleus, row, p), row, p) for row, p in rows())

    return asked_of_all


def rows() -> list[tuple[Tensor, float]]:
    """Return the distributions that an answer is asked about, and how much is to be left."""
    return [(torch.tensor(row), p) for row, p in ROWS]


def left(nucleus: Nucleus, row: Tensor, p: float) -> Tensor:
    """Return what an answer leaves of a distribution."""
    return numbers(asked(nucleus, row, p), "what is left", tuple(row.shape))


@of_each_row
def is_a_row(got: Tensor, row: Tensor, p: float) -> Answer:
    """Ask for one number per token, which it is if it can be asked."""
    return YES


@of_each_row
def leaves_the_likely(got: Tensor, row: Tensor, p: float) -> Answer:
    """Ask which tokens are left, whatever their shares."""
    wanted = nucleus(row, p) > 0
    if torch.equal(got != 0, wanted):
        return YES
    message = f"{_named(got != 0)} are left, not {_named(wanted)}"
    return no_of(row, p, message).because(*of_tokens(got, row, p))


@of_each_row
def sums_to_one(got: Tensor, row: Tensor, p: float) -> Answer:
    """Ask that what is left is shared out anew."""
    total = float(got.sum())
    if abs(total - 1) < 1e-4:
        return YES
    as_it_was = row * (got != 0)
    kept = (
        "What is left must be divided by its sum.",
        lambda: near(got, as_it_was),
    )
    scores = ("These are logits or logarithms, not shares.", lambda: total < 0)
    return no_of(row, p, f"it sums to {total:.3g}").because(kept, scores)


@of_each_row
def keeps_proportions(got: Tensor, row: Tensor, p: float) -> Answer:
    """Ask for the shares themselves."""
    wanted = nucleus(row, p)
    if near(got, wanted):
        return YES
    token = int((got - wanted).abs().argmax())
    message = f"token {token} has {float(got[token]):.3g}, not {float(wanted[token]):.3g}"
    again = (got != 0) & (wanted > 0)
    softened = torch.where(again, row, -torch.inf).softmax(-1)
    even = again / again.sum()
    return no_of(row, p, message).because(
        (
            "A softmax of probabilities is no longer in proportion.",
            lambda: near(got, softened),
        ),
        ("All that are left have become equally likely.", lambda: near(got, even)),
        *of_tokens(got, row, p),
    )


def of_tokens(got: Tensor, row: Tensor, p: float) -> list[Likely]:
    """Return what may have led to other tokens."""
    order, right = row.argsort(descending=True), nucleus(row, p)
    fewest = int((right > 0).sum())
    in_order, in_vocabulary = right[order], row.cumsum(0) - row < p

    def kept(tokens: Tensor) -> bool:
        return torch.equal(got != 0, torch.isin(torch.arange(len(row)), tokens))

    tests: list[Likely] = [
        (
            SORTED,
            lambda: torch.equal(got != 0, in_order != 0) or near(got, in_order),
        ),
        (CUT_OFF, lambda: kept(order[: fewest - 1])),
        (TOO_MANY, lambda: fewest < len(row) and kept(order[: fewest + 1])),
        (LEAST, lambda: kept(_least(row, p))),
        (OWN_SHARE, lambda: torch.equal(got != 0, row >= p)),
        (UNSORTED, lambda: torch.equal(got != 0, in_vocabulary)),
        (ALL, lambda: bool((got != 0).all())),
    ]
    return tests


def _least(row: Tensor, p: float) -> Tensor:
    order = row.argsort()
    return order[: int((row[order].cumsum(0) < p).sum()) + 1]


def nucleus(shares: Tensor, p: float) -> Tensor:
    """Return the right answer."""
    order = shares.argsort(descending=True)
    before = shares[order].cumsum(0) - shares[order]
    kept = torch.zeros_like(shares)
    kept[order[before < p]] = shares[order[before < p]]
    return kept / kept.sum()


def no_of(row: Tensor, p: float, message: str) -> Answer:
    """Return a no about the numbers of one distribution."""
    shares = ", ".join(f"{share:.3g}" for share in row.tolist())
    return Answer("mathematics", f"of [{shares}] with p = {p}, {message}.")


def _named(mask: Tensor) -> str:
    tokens = mask.nonzero()[:, 0].tolist()
    return f"tokens {', '.join(map(str, tokens))}" if tokens else "no tokens"


CODE = "language-model.html#it-writes"
EXERCISES = [
    Exercise(
        "nucleus",
        "def nucleus(shares, p):\n    ...",
        [
            Asked("it gives a share for each token", is_a_row, CODE),
            Asked("the right tokens are left", leaves_the_likely, CODE, points=2),
            Asked("what is left sums to one", sums_to_one, CODE),
            Asked("what is left keeps its proportions", keeps_proportions, CODE),
        ],
    )
]
check = checker(EXERCISES)
