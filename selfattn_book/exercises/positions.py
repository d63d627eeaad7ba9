"""Positional encoding: one entry of the table of sines and cosines."""

import math

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.properties.answer import RefusedError
from selfattn_book.properties.calls import missing

LENGTH, SIX = 9, [(6,)]


@factory
def table(entry, d_model):
    """Return the program that fills a table of a dimension with an answer's entries."""
    cells = [number(entry(p, c, d_model)) for p in range(LENGTH) for c in range(d_model)]
    return torch.stack(cells).view(LENGTH, d_model)


def number(got):
    if isinstance(got, tuple | list):
        raise RefusedError(missing("return one number", got))
    return tensor_of(got, "an entry")


def hand(angle, which):
    """Return the sine of an angle for an even number, and else the cosine."""
    return math.sin(angle) if which % 2 == 0 else math.cos(angle)


def angle(p, column, d_model):
    return p / 10000 ** (2 * (column // 2) / d_model)


def entry(p, column, d_model):
    return hand(angle(p, column, d_model), column)


def powered(power, base=10000):
    return lambda p, column, d: hand(p / base ** power(column, d), column)


def halves(p, column, d_model):
    """Put all sines first, and then all cosines."""
    clocks = (d_model + 1) // 2
    return entry(p, 2 * (column % clocks) + (column >= clocks), d_model)


def usual(column, d_model):
    return 2 * (column // 2) / d_model


WRONG = {
    "Sines and cosines are exchanged.": lambda p, c, d: hand(angle(p, c, d), c + 1),
    "All sines come first, and then all cosines: halves instead of pairs.": halves,
    "The positions begin at 1, not at 0.": lambda p, c, d: entry(p + 1, c, d),
    "Nothing is divided: all columns rotate at one speed.": lambda p, c, d: hand(p, c),
    "The exponent is i / D, not 2i / D.": powered(lambda c, d: c // 2 / d),
    "The exponent is 4i / D: the 2 is counted twice.": powered(lambda c, d: 4 * (c // 2) / d),
    "Each column has a different speed, but two columns share one.": powered(lambda c, d: c / d),
    "The exponent is i / (D/2 - 1), up to a whole 1, not 2i / D.": (
        powered(lambda c, d: c // 2 / max(d // 2 - 1, 1))
    ),
    "The position is multiplied, not divided.": powered(lambda c, d: -usual(c, d)),
    "The angle is taken in degrees; it is in radians.": (
        lambda p, c, d: hand(math.radians(angle(p, c, d)), c)
    ),
    "The position, not the column, decides between sine and cosine.": (
        lambda p, c, d: hand(angle(p, c, d), p)
    ),
    "Position and column are exchanged.": lambda p, c, d: entry(c, p, d),
    "The column itself is doubled, and a pair shares 2 * (column // 2).": (
        powered(lambda c, d: 2 * c / d)
    ),
    "The columns are counted from 1, and they begin at 0.": lambda p, c, d: entry(p, c + 1, d),
    "The power comes before the product: the exponent needs its brackets.": (
        lambda p, c, d: hand(p / 10000**2 * (c // 2) / d, c)
    ),
    "The position has no effect.": lambda p, c, d: entry(1, c, d),
    "The angle has the other sign.": lambda p, c, d: hand(-angle(p, c, d), c),
    "Every column is a sine.": lambda p, c, d: math.sin(angle(p, c, d)),
    "Every column is a cosine.": lambda p, c, d: math.cos(angle(p, c, d)),
    "This is the angle itself, without its sine or cosine.": angle,
    "The angle is rounded down: `//` divides whole numbers.": (
        lambda p, c, d: hand(math.floor(angle(p, c, d)), c)
    ),
    "An odd dimension is made even before it divides.": lambda p, c, d: entry(p, c, d + d % 2),
    "An odd dimension loses its last column before it divides.": (
        lambda p, c, d: entry(p, c, d - d % 2)
    ),
    "The dimension is one too small.": lambda p, c, d: entry(p, c, d - 1),
    **{
        f"The base is {base}, not 10000.": powered(usual, base)
        for base in (10, 1000, 100_000)  # 100 is i / D
    },
    **{
        f"The dimension {d_model} is written out: it must be that of the table.": (
            lambda p, c, d, d_model=d_model: entry(p, c, d_model)
        )
        for d_model in (6, 8, 512)
    },
}
FORMULA = "positions.html#the-sinusoidal-positional-encoding"
CLOCKS = "positions.html#clocks"
ODD = "positions-deeper.html#odd-dimensions"
QUESTIONS = [
    Question("each entry is one number", FORMULA, view=form),
    Question(
        "position 0 has sines of 0 and cosines of 1", FORMULA, 1, lambda table, d: table[0], SIX
    ),
    Question(
        "the angle of the first clock is in radians", FORMULA, 1, lambda table, d: table[:, :2], SIX
    ),
    Question(
        "sine and cosine of a clock have one angle",
        CLOCKS,
        view=lambda table, d: table.double().square().unflatten(1, (-1, 2)).sum(-1),
        cases=SIX,
    ),
    Question("each clock has its speed", FORMULA, cases=SIX),
    checked("each clock has its speed at an odd dimension as well", ODD, 1, (7,)),
]
EXERCISE = Exercise(
    "def entry(p, column, d_model):\n    ...",
    QUESTIONS,
    right=entry,
    wrong=WRONG,
    cases=[(4,), (6,), (7,)],
    unusual={
        "a shifted sine": lambda p, c, d: math.sin(angle(p, c, d) + c % 2 * math.pi / 2),
        "logarithms": lambda p, c, d: hand(p * math.exp(-math.log(10000) * usual(c, d)), c),
        "16 bits": lambda p, c, d: torch.tensor(entry(p, c, d)).half(),
    },
    returns="the table",
    via=table,
)
check = EXERCISE.check
