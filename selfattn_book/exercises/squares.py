"""Training on squares: the corner that follows, by geometry, in padded sources."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import asked, compared, near, numbers
from selfattn_book.experiments.seeding import moved
from selfattn_book.experiments.squares import (
    NOISE,
    last_corners,
    square_sequences,
)
from selfattn_book.properties.answer import YES, Answer, Likely, all_of

COUNT, FEW = 2000, 7
ABOVE = 0.5  # a mean squared error that a right corner with its noise stays below
NextCorner = Callable[[Tensor, Tensor], Any]


def returns_corners(next_corner: NextCorner) -> Answer:
    """Ask for one corner for each source, also of few sources, whose corners stay the same."""
    source, mask, _ = sources()
    came = asked(next_corner, source[:FEW], mask[:FEW])
    few = numbers(came, f"the corners of {FEW} sources", (FEW, 1, 2))
    every = corners(next_corner)[:FEW]
    once, again = (x.nan_to_num(nan=7.0) for x in (every, few))  # asked below
    message = "moves by {gap} when other sources are left out"
    return compared(again, once, "the corner", ("source",), message=message)


def ignores_padding(next_corner: NextCorner) -> Answer:
    """Ask with another padding."""
    source, mask, _ = sources()
    other = source.masked_fill(~mask.view(-1, 3, 1), 9.0)
    before = corners(next_corner)
    after = numbers(asked(next_corner, other, mask), "the corners", (COUNT, 1, 2))
    message = "moves by {gap} when another number stands in the padding"
    once, again = (x.nan_to_num(nan=7.0) for x in (before, after))  # asked below
    no = compared(again, once, "the corner", ("source",), message=message)
    end = "It looks at the end of the padded source, not at the last corners given."
    seen = mask[:, 0, 0].sum(1)
    is_moved = (again != once).flatten(1).any(1)
    return no.because((end, lambda: not is_moved[seen == 3].any()))


def says_the_mean(next_corner: NextCorner) -> Answer:
    """Ask what is said after one corner, where two may follow."""
    (first, *_), found, error = after_corners(next_corner, 1)
    if error < 1 + NOISE:
        return YES
    message = f"after one corner the mean squared error per coordinate is {error:.3g}"
    no = Answer("mathematics", f"{message}, and {1 + NOISE**2:.3g} is possible.")
    return no.because(
        (
            "A mean over no corner is not a number.",
            lambda: bool(found.isnan().any()),
        ),
        (
            "It says the opposite corner, and only the two neighbours are possible.",
            lambda: same_corner(found, -first),
        ),
        (
            "It says the corner that it was given, and the next one is another.",
            lambda: same_corner(found, first),
        ),
        (
            "It says one of the two neighbours; their mean is nearer to both on average.",
            lambda: bool(((found.sign() * first.sign()).sum(-1) == 0).all()),
        ),
    )


def knows_the_corner(count: int) -> Callable[[NextCorner], Answer]:
    """Return what asks for the corner after two or three that were given."""

    def ask(next_corner: NextCorner) -> Answer:
        given, found, error = after_corners(next_corner, count)
        if error < ABOVE:
            return YES
        message = (
            f"after {WORDS[count]} corners the mean squared error per coordinate is {error:.3g}"
        )
        no = Answer("mathematics", f"{message}, and {NOISE**2:.3g} is possible.")
        return no.because(
            (
                "It counts from the start of the source: with two corners that is right.",
                lambda: (
                    count == 3
                    and same_corner(found, -given[0])
                    and bool(knows_the_corner(2)(next_corner))
                ),
            ),
            *of_corners(given, found),
        )

    return ask


def of_corners(given: Sequence[Tensor], found: Tensor) -> list[Likely]:
    """Return what can be behind a wrong corner after two or three."""
    last, before = given[-1], given[-2]
    return [
        (
            "It goes on in a straight line, where a square has a turn.",
            lambda: near(found, 2 * last - before),
        ),
        (
            "It says the corner two before itself, and not the one opposite to it.",
            lambda: same_corner(found, before),
        ),
        ("It says the last corner again.", lambda: same_corner(found, last)),
        (
            "It says the corner opposite to the last; it lies opposite to the one before that.",
            lambda: same_corner(found, -last),
        ),
        (
            "It says the mean of all corners, as if nothing was known of the direction.",
            lambda: bool((found.abs() < ABOVE).all()),
        ),
        ("It is not a number.", lambda: bool(found.isnan().any())),
    ]


def leaves_the_noise(next_corner: NextCorner) -> Answer:
    """Ask that the noise of the source does not come along."""
    return all_of(_noise_after(next_corner, count) for count in (2, 3))


def _noise_after(next_corner: NextCorner, count: int) -> Answer:
    given, found, error = after_corners(next_corner, count)
    if error < 1.2 * NOISE**2:
        return YES
    message = f"after {WORDS[count]} corners the mean squared error per coordinate is {error:.3g}"
    no = Answer("mathematics", f"{message}, and {NOISE**2:.3g} is possible.")
    return no.because(
        (
            "The noise of the corner two before comes along: only its signs matter.",
            lambda: error < ABOVE and near(found, -given[-2]),
        ),
        (
            "The noise of all given corners comes along: only their signs matter.",
            lambda: error < ABOVE and near(found, given[0] - given[-2] + given[-1]),
        ),
    )


WORDS = {2: "two", 3: "three"}


def corners(next_corner: NextCorner) -> Tensor:
    """Return the corners that an answer gives for all sources."""
    source, mask, _ = sources()
    return numbers(asked(next_corner, source, mask), "the corners", (COUNT, 1, 2))


def sources() -> tuple[Tensor, Tensor, Tensor]:
    """Return padded sources, their masks, and the corners that follow."""
    return _drawn(moved(7), torch.get_default_dtype())


@cache
def _drawn(seed: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    squares = square_sequences(COUNT, seed=seed, variable_length=True)
    source, _, mask, target = last_corners(squares)[:]
    return source.to(dtype), mask, target.to(dtype)


def after_corners(next_corner: NextCorner, count: int) -> tuple[Sequence[Tensor], Tensor, float]:
    """Return what was given, what is said, and its error, where so many corners were given."""
    source, mask, target = sources()
    rows = mask.sum((1, 2, 3)) == count
    found = corners(next_corner)[rows, 0]
    error = (found.double() - target[rows, 0]).square().mean().item()
    return source[rows, :count].unbind(1), found, error


def same_corner(found: Tensor, corner: Tensor) -> bool:
    """Tell whether the same corners are meant, with noise or without."""
    return torch.equal(found.sign(), corner.sign().to(found))


PLACE = "squares.html#how-well-can-anything-do"
EXERCISES = [
    Exercise(
        "next_corner",
        "def next_corner(source, mask):\n    ...",
        [
            Asked(
                "it says one corner for each source",
                returns_corners,
                "squares.html#exercises",
            ),
            Asked(
                "it does not look at padding",
                ignores_padding,
                "squares.html#exercises",
            ),
            Asked(
                "after one corner it says what is best on average",
                says_the_mean,
                "squares.html#what-the-height-of-a-plateau-says",
            ),
            Asked("after two corners it knows the next", knows_the_corner(2), PLACE),
            Asked("after three corners it knows the next", knows_the_corner(3), PLACE),
            Asked(
                "the noise of the source does not come along",
                leaves_the_noise,
                PLACE,
            ),
        ],
    )
]
check = checker(EXERCISES)
