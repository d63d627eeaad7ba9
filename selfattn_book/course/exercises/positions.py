"""Positions: one entry of the table at a time."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import compared, near, numbers, tolerance
from selfattn_book.positions import sinusoidal_encoding
from selfattn_book.reasons.answer import YES, Answer, Likely, RefusedError
from selfattn_book.reasons.calls import call, missing
from selfattn_book.reasons.of_models import OTHER_BASE, of_table

LENGTH, EVEN, ODD = 9, 6, 7
TRIED = (4, EVEN, ODD)  # at which a mistake has to show
Entry = Callable[[int, int, int], Any]


def table_of(entry: Entry, width: int) -> Tensor:
    """Return the table that an answer fills, in the precision in which it came."""
    rows = [
        torch.stack([number_of(entry, p, column, width) for column in range(width)])
        for p in range(LENGTH)
    ]
    return torch.stack(rows)


def number_of(entry: Entry, p: int, column: int, width: int) -> Tensor:
    """Return one entry, or refuse what is several."""
    got = call(entry, p, column, width)
    if isinstance(got, tuple | list):
        raise RefusedError(missing("return one number", got))
    return numbers(got, "an entry", ())


def gives_numbers(entry: Entry) -> Answer:
    """Ask for one number per entry, at both widths."""
    table_of(entry, EVEN)
    table_of(entry, ODD)
    return YES


def begins_right(entry: Entry) -> Answer:
    """Ask for the code of position 0."""
    table = table_of(entry, EVEN)
    begin = torch.tensor([0.0, 1.0]).repeat(EVEN // 2)
    what = "at position 0, the entry"
    return compared(table[0], begin, what, ("column",)).because(
        *mistakes(entry, EVEN)
    )


def turns_in_radians(entry: Entry) -> Answer:
    """Ask that the first clock turns by one radian per step."""
    table, place = table_of(entry, EVEN), torch.arange(float(LENGTH))
    what = "of the first clock, the entry"
    hands = torch.stack([place.sin(), place.cos()], dim=1)
    no = compared(table[:, :2], hands, what, ("position", "column"))
    return no.because(*mistakes(entry, EVEN))


def has_pairs(entry: Entry) -> Answer:
    """Ask that the two columns of a clock are sine and cosine of one angle."""
    table = table_of(entry, EVEN)
    squares = table.double().square().unflatten(1, (-1, 2)).sum(-1).to(table.dtype)
    what, told = "the squares of both columns", "sum to {got}, not to {wanted}"
    one = torch.ones_like(squares)
    no = compared(squares, one, what, ("position", "clock"), told=told)
    return no.because(*mistakes(entry, EVEN))


def has_speeds(entry: Entry) -> Answer:
    """Ask for all speeds of an even width."""
    return is_the_table(entry, EVEN)


def has_speeds_of_odd_widths(entry: Entry) -> Answer:
    """Ask for all speeds of an odd width, whose last sine has no cosine."""
    return is_the_table(entry, ODD)


def is_the_table(entry: Entry, width: int) -> Answer:
    """Compare whole columns with the formula."""
    table = table_of(entry, width)
    right = sinusoidal_encoding(LENGTH, width, dtype=torch.float64)
    columns = [c for c in range(width) if not near(table[:, c], right[:, c])]
    if not columns:
        return YES
    first = f"column {columns[0]} is {table[1, columns[0]]:.3g} at position 1"
    told = f"at width {width}, columns {columns} go another way; {first}."
    return Answer("mathematics", told).because(*mistakes(entry, width))


def mistakes(entry: Entry, width: int) -> list[Likely]:
    """Return what a table may hold in the place of the formula."""
    table = table_of(entry, width)

    def fills(formula: Entry) -> bool:
        pairs = ((table_of(entry, w), table_of(formula, w)) for w in TRIED)
        return all(near(*pair) for pair in pairs)

    def is_fixed() -> bool:
        other = table_of(entry, width + 2)[:, :width]
        return near(table, other) and bool(table[:, 2].std() > 1e-3)

    def has_one_base(fits: Callable[[], bool]) -> bool:
        bases = [base_of(entry, w) for w in TRIED[:2]]
        return fits() and math.isclose(*bases, rel_tol=1e-2)

    general = [
        (said, partial(has_one_base, fits) if said == OTHER_BASE else fits)
        for said, fits in of_table(table.double(), width, tolerance(table))
    ]
    return [
        *((said, partial(fills, formula)) for said, formula in FORMULAS.items()),
        *general,
        (FIXED, is_fixed),
    ]


def base_of(entry: Entry, width: int) -> float:
    """Return the base with which the second clock has its speed."""
    sine, cosine = (number_of(entry, 1, column, width).item() for column in (2, 3))
    return math.atan2(sine, cosine) ** (-width / 2)


def angle(p: int, column: int, width: int) -> float:
    """Return where the clock of a column stands."""
    return p / 10000 ** (2 * (column // 2) / width)


def hand(angle: float, which: int) -> float:
    """Return the sine of an angle where a number is even, and else the cosine."""
    return math.sin(angle) if which % 2 == 0 else math.cos(angle)


FIXED = "All widths have the same columns: the width is written out."
# What is likely behind a table, beside what is so general that `of_table` knows it.
FORMULAS: dict[str, Entry] = {
    "The angle is taken in degrees; it is in radians.": (
        lambda p, c, width: hand(math.radians(angle(p, c, width)), c)
    ),
    "The position, and not the column, decides between sine and cosine.": (
        lambda p, c, width: hand(angle(p, c, width), p)
    ),
    "Position and column are exchanged.": (
        lambda p, c, width: hand(angle(c, p, width), p)
    ),
    "The column itself is doubled, and a pair shares 2 * (column // 2).": (
        lambda p, c, width: hand(p / 10000 ** (2 * c / width), c)
    ),
    "The columns are counted from 1, and they begin at 0.": (
        lambda p, c, width: hand(angle(p, c + 1, width), c + 1)
    ),
    "The power comes before the product: the exponent needs its brackets.": (
        lambda p, c, width: hand(p / 10000**2 * (c // 2) / width, c)
    ),
    "The position plays no part.": lambda p, c, width: hand(angle(1, c, width), c),
    "The angle has the other sign.": lambda p, c, width: hand(
        -angle(p, c, width), c
    ),
    "Every column is a sine.": lambda p, c, width: hand(angle(p, c, width), 0),
    "Every column is a cosine.": lambda p, c, width: hand(angle(p, c, width), 1),
    "The angle itself came, without its sine or cosine.": angle,
    "The angle is rounded down: `//` divides whole numbers.": (
        lambda p, c, width: hand(math.floor(angle(p, c, width)), c)
    ),
    "An odd width is made even before it divides.": (
        lambda p, c, width: hand(angle(p, c, width + width % 2), c)
    ),
    "An odd width loses its last column before it divides.": (
        lambda p, c, width: hand(angle(p, c, width - width % 2), c)
    ),
}
CLOCKS = "positions.html#clocks"
FORMULA = "positions.html#the-formula"
WIDTHS = "positions.html#odd-widths"
QUESTIONS = [
    Asked("each entry is one number", gives_numbers, FORMULA),
    Asked("position 0 has sines of 0 and cosines of 1", begins_right, FORMULA),
    Asked("the first clock turns in radians", turns_in_radians, FORMULA),
    Asked("sine and cosine of a clock have one angle", has_pairs, CLOCKS),
    Asked("each clock has its speed", has_speeds, FORMULA),
    Asked(
        "each clock has its speed at an odd width, too",
        has_speeds_of_odd_widths,
        WIDTHS,
    ),
]
EXERCISES = [
    Exercise("entry", "def entry(p, column, d_model):\n    ...", QUESTIONS)
]
check = checker(EXERCISES)
