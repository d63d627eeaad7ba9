"""Masks: a sliding window."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import tensor_of
from selfattn_book.masks import causal_mask
from selfattn_book.reasons.answer import (
    STOPS,
    YES,
    Answer,
    RefusedError,
    all_of,
)
from selfattn_book.reasons.calls import call

SIZES = ((7, 3), (5, 1), (4, 4), (3, 9))  # length and width
WindowMask = Callable[[int, int], Any]
Ask = Callable[[Tensor, int, int], Answer]


def of_each_size(ask: Ask) -> Callable[[WindowMask], Answer]:
    """Ask the masks that an answer makes of several sizes."""

    @wraps(ask)
    def asked(window_mask: WindowMask) -> Answer:
        return all_of(ask(mask_of(window_mask, *size), *size) for size in SIZES)

    return asked


def mask_of(window_mask: WindowMask, length: int, width: int) -> Tensor:
    """Return the mask that an answer makes, as a tensor or otherwise, if it may be one."""
    made = call(window_mask, length, width)
    if made is None:
        raise RefusedError(Answer("missing", "it must return a mask; got None."))
    try:
        mask = torch.as_tensor(made)
    except STOPS:  # as of a list of tensors, or a generator
        mask = tensor_of(made, "a mask")
    if mask.dtype != torch.bool:
        name = str(mask.dtype).removeprefix("torch.")
        told = f"a mask is boolean, True where a query may attend; got {name}."
        raise RefusedError(Answer("dtype", told))
    if mask.shape != (length, length):
        told = (
            f"window_mask({length}, {width}) must have shape ({length}, {length})"
        )
        raise RefusedError(Answer("shape", f"{told}; got {tuple(mask.shape)}."))
    return mask


@of_each_size
def is_a_mask(mask: Tensor, length: int, width: int) -> Answer:
    """Ask for a boolean matrix, which it is if it can be asked."""
    return YES


@of_each_size
def sees_itself(mask: Tensor, length: int, width: int) -> Answer:
    """Ask that the diagonal is seen."""
    if mask.diagonal().all():
        return YES
    no = no_of(length, width, "a query does not see itself")
    return no.because(
        ("True was taken to mean hidden.", lambda: is_window(~mask, width)),
        (
            "The newest position is left out.",
            lambda: is_window(mask | eye(mask), width),
        ),
        (
            "A query sees as many keys as the width says, and itself is not among them.",
            lambda: is_window(mask | eye(mask), width + 1),
        ),
    )


@of_each_size
def hides_the_future(mask: Tensor, length: int, width: int) -> Answer:
    """Ask that nothing above the diagonal is seen."""
    future = mask & ~causal_mask(length)
    if not future.any():
        return YES
    query, key = future.nonzero()[0].tolist()
    no = no_of(length, width, f"query {query} sees key {key}, which comes later")
    both = distance(length).abs() < width
    return no.because(
        ("True was taken to mean hidden.", lambda: is_window(~mask, width)),
        ("The window reaches to both sides.", lambda: torch.equal(mask, both)),
        (
            "Rows and columns are exchanged: a row asks.",
            lambda: is_window(mask.mT, width),
        ),
    )


@of_each_size
def has_its_width(mask: Tensor, length: int, width: int) -> Answer:
    """Ask how many keys each query sees."""
    seen, wanted = mask.sum(1), torch.arange(1, length + 1).clamp(max=width)
    if torch.equal(seen, wanted):
        return YES
    query = int((seen != wanted).nonzero()[0])
    told = f"query {query} sees {int(seen[query])} keys, not {int(wanted[query])}"
    return no_of(length, width, told).because(
        ("The width counts the query itself.", lambda: is_window(mask, width + 1)),
        ("The window is one too narrow.", lambda: is_window(mask, width - 1)),
        (
            "Nothing is ever too old: this is the causal mask.",
            lambda: is_window(mask, length),
        ),
    )


@of_each_size
def moves_along(mask: Tensor, length: int, width: int) -> Answer:
    """Ask for the right keys, query by query."""
    if is_window(mask, width):
        return YES
    query = int((mask != window(length, width)).any(1).nonzero()[0])
    no = no_of(
        length, width, f"query {query} sees other keys than those of its window"
    )
    seen = torch.arange(1, length + 1).clamp(max=width)
    still = (
        "The window does not move with the query.",
        lambda: (
            torch.equal(mask.sum(1), seen)
            and bool(mask[-1, 0])
            and not (mask & ~causal_mask(length)).any()
        ),
    )
    return no.because(still)


def no_of(length: int, width: int, told: str) -> Answer:
    """Return a no about the numbers of one mask."""
    return Answer("mathematics", f"in window_mask({length}, {width}) {told}.")


def is_window(mask: Tensor, width: int) -> bool:
    """Tell whether a mask is the window of a width."""
    return torch.equal(mask, window(len(mask), width))


def window(length: int, width: int) -> Tensor:
    """Return the right mask."""
    return (distance(length) >= 0) & (distance(length) < width)


def distance(length: int) -> Tensor:
    """Return how far each key lies before each query."""
    position = torch.arange(length)
    return position[:, None] - position


def eye(mask: Tensor) -> Tensor:
    """Return a mask in which each query sees itself alone."""
    return torch.eye(len(mask), dtype=torch.bool)


EXERCISES = [
    Exercise(
        "window_mask",
        "def window_mask(length, width):\n    ...",
        [
            Asked(
                "it is a boolean matrix",
                is_a_mask,
                "masks.html#three-words-by-hand",
            ),
            Asked("each query sees itself", sees_itself, "masks.html#the-equation"),
            Asked(
                "no query sees its future",
                hides_the_future,
                "masks.html#the-equation",
            ),
            Asked(
                "each query sees as many keys as its window has",
                has_its_width,
                "masks.html#exercises",
            ),
            Asked(
                "the window moves with the query",
                moves_along,
                "masks.html#exercises",
                points=2,
            ),
        ],
    )
]
check = checker(EXERCISES)
