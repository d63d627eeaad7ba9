"""The attention in today's models: a sliding window with sinks."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.masks import causal_mask
from selfattn_book.properties.answer import (
    STOPS,
    YES,
    Answer,
    RefusedError,
    all_of,
)
from selfattn_book.properties.calls import call

# Length, width and sinks; the last two have no sinks, and more than there are keys.
SIZES = ((11, 3, 2), (7, 1, 1), (5, 5, 2), (7, 3, 0), (3, 2, 5))
StreamingMask = Callable[[int, int, int], Any]
Size = tuple[int, int, int]
Ask = Callable[[Tensor, Size], Answer]


def of_each_size(ask: Ask) -> Callable[[StreamingMask], Answer]:
    """Ask the masks that an answer makes of several sizes."""

    @wraps(ask)
    def asked(streaming_mask: StreamingMask) -> Answer:
        return all_of(ask(mask_of(streaming_mask, size), size) for size in SIZES)

    return asked


def mask_of(streaming_mask: StreamingMask, size: Size) -> Tensor:
    """Return the mask that an answer makes, as a tensor or otherwise, if it may be one."""
    made = call(streaming_mask, *size)
    if made is None:
        raise RefusedError(Answer("missing", "it must return a mask; got None."))
    try:
        mask = torch.as_tensor(made)
    except STOPS:  # as of a list of tensors, or a generator
        mask = tensor_of(made, "a mask")
    if mask.dtype != torch.bool:
        name = str(mask.dtype).removeprefix("torch.")
        message = f"a mask is boolean, True where a query may attend; got {name}."
        raise RefusedError(Answer("dtype", message))
    if mask.shape != (size[0], size[0]):
        message = f"{named(size)} must have shape ({size[0]}, {size[0]})"
        raise RefusedError(Answer("shape", f"{message}; got {tuple(mask.shape)}."))
    return mask


@of_each_size
def is_a_mask(mask: Tensor, size: Size) -> Answer:
    """Ask for a boolean matrix, which it is if it can be asked."""
    return YES


@of_each_size
def hides_the_future(mask: Tensor, size: Size) -> Answer:
    """Ask that nothing above the diagonal is seen."""
    future = mask & ~causal_mask(size[0])
    if not future.any():
        return YES
    query, key = future.nonzero()[0].tolist()
    message = f"query {query} sees key {key}, which comes later"
    return no_of(mask, size, message)


@of_each_size
def sees_the_window(mask: Tensor, size: Size) -> Answer:
    """Ask that itself and the positions before it are seen, and nothing older but the sinks."""
    return alike(mask, size, ~is_sink(size))


@of_each_size
def sees_the_sinks(mask: Tensor, size: Size) -> Answer:
    """Ask that the first positions are seen, however far away."""
    return alike(mask, size, is_sink(size))


def alike(mask: Tensor, size: Size, where: Tensor) -> Answer:
    """Ask for the right mask in some columns."""
    wrong = (mask != streaming(*size)) & where
    if not wrong.any():
        return YES
    query, key = wrong.nonzero()[0].tolist()
    verb = "sees" if mask[query, key] else "does not see"
    return no_of(mask, size, f"query {query} {verb} key {key}")


def no_of(mask: Tensor, size: Size, message: str) -> Answer:
    """Return a no about the numbers of one mask, with the misconception behind it."""
    length, width, sinks = size
    past, near, first = causal_mask(length), window(length, width), is_sink(size)
    named_ = {
        "True was taken to mean hidden.": ~streaming(*size),
        "Rows and columns are exchanged: a row asks.": streaming(*size).mT,
        "A sink is seen by queries that come before it.": near | first,
        "The sinks are missing: this is the window alone.": near,
        "The window is missing: these are the sinks alone.": past & first,
        "Nothing is ever too old: this is the causal mask.": past,
        "The sinks are counted as part of the window.": (
            window(length, max(width - sinks, 1)) | past & first
        ),
        "The width counts the query itself.": window(length, width + 1) | past & first,
        "The window is one too narrow.": window(length, width - 1) | past & first,
        "There is one sink too many.": streaming(length, width, sinks + 1),
        "There is one sink too few.": streaming(length, width, max(sinks - 1, 0)),
    }
    return Answer("mathematics", f"in {named(size)} {message}.").because(
        *((name, lambda other=other: torch.equal(mask, other)) for name, other in named_.items())
    )


def named(size: Size) -> str:
    """Write the call that makes a mask."""
    return f"streaming_mask{size}"


def is_sink(size: Size) -> Tensor:
    """Return which columns are sinks."""
    return torch.arange(size[0]) < size[2]


def window(length: int, width: int) -> Tensor:
    """Return the window without sinks."""
    position = torch.arange(length)
    distance = position[:, None] - position
    return (distance >= 0) & (distance < width)


def streaming(length: int, width: int, sinks: int) -> Tensor:
    """Return the right mask."""
    first = torch.arange(length) < sinks
    return window(length, width) | causal_mask(length) & first


EXERCISES = [
    Exercise(
        "streaming_mask",
        "def streaming_mask(length, width, sinks):\n    ...",
        [
            Asked(
                "it is a boolean matrix",
                is_a_mask,
                "masks.html#three-words-by-hand",
            ),
            Asked(
                "no query sees its future",
                hides_the_future,
                "modern.html#not-every-key",
            ),
            Asked(
                "each query sees its window",
                sees_the_window,
                "modern.html#not-every-key",
            ),
            Asked(
                "each query sees the sinks",
                sees_the_sinks,
                "modern.html#not-every-key",
                points=2,
            ),
        ],
    )
]
check = checker(EXERCISES)
