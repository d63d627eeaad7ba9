"""One entry at a time: right answers of many kinds pass, and each wrong one is named."""

import math
import re
from decimal import Decimal

import numpy as np
import pytest
import torch

from selfattn_book.positions import sinusoidal_encoding
from tests.course.answers import report, said


def angle(p, column, d_model):
    return p / 10000 ** (2 * (column // 2) / d_model)


def turned(angle, column):
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


def entry(p, column, d_model):
    return turned(angle(p, column, d_model), column)


def halves(p, column, d_model):
    """Put all sines on the left and all cosines on the right."""
    clocks = (d_model + 1) // 2
    pair, second = column % clocks, column >= clocks
    return entry(p, 2 * pair + second, d_model)


def as_complex(p, column, d_model):
    hand = np.exp(1j * p * 10000.0 ** (-(column - column % 2) / d_model))
    return (hand.imag, hand.real)[column % 2]


RIGHT = {
    "entry": {
        "decimals": lambda p, c, width: Decimal(entry(p, c, width)),
        "by math": entry,
        "32 bits": lambda p, c, d: np.float32(entry(p, c, d)),
        "16 bits": lambda p, c, d: np.float16(entry(p, c, d)),
        "a tensor": lambda p, c, d: torch.tensor(entry(p, c, d)),
        "of the table": lambda p, c, d: sinusoidal_encoding(9, d)[p, c].float(),
        "a turned sine": lambda p, c, d: math.sin(
            angle(p, c, d) + c % 2 * math.pi / 2
        ),
        "a complex number": as_complex,
        "by logarithms": lambda p, c, d: turned(
            p * math.exp(-math.log(10000) * (c - c % 2) / d), c
        ),
    }
}
WRONG = {
    "entry": {
        "the column doubled": (
            lambda p, c, width: turned(p / 10000 ** (2 * c / width), c),
            "The column itself is doubled",
        ),
        "no brackets": (
            lambda p, c, width: turned(p / 10000**2 * (c // 2) / width, c),
            "the exponent needs its brackets",
        ),
        "columns from 1": (
            lambda p, c, width: turned(angle(p, c + 1, width), c + 1),
            "The columns are counted from 1",
        ),
        "no position": (
            lambda p, c, width: turned(angle(1, c, width), c),
            "The position plays no part",
        ),
        "other sign": (
            lambda p, c, width: turned(-angle(p, c, width), c),
            "has the other sign",
        ),
        "a fixed width": (
            lambda p, c, width: turned(angle(p, c, 512), c),
            "^(?!.*The base).*the width is written out",
        ),
        "the even width": (
            lambda p, c, width: turned(angle(p, c, 6), c),
            "^(?!.*loses its last column).*the width is written out",
        ),
        "one too narrow": (
            lambda p, c, width: turned(angle(p, c, width - 1), c),
            "^(?!.*(The base|loses its last column)).*go another way",
        ),
        "exchanged waves": (
            lambda p, c, d: entry(p, c ^ 1, d),
            "Sines and cosines are exchanged",
        ),
        "halves": (halves, "halves instead of pairs"),
        "from 1": (lambda p, c, d: entry(p + 1, c, d), "positions begin at 1"),
        "by position": (
            lambda p, c, d: turned(angle(p, c, d), p),
            "The position, and not the column",
        ),
        "degrees": (
            lambda p, c, d: turned(math.radians(angle(p, c, d)), c),
            "in degrees",
        ),
        "own speeds": (
            lambda p, c, d: turned(p / 10000 ** (c / d), c),
            "Each column has a speed of its own",
        ),
        "no 2": (lambda p, c, d: turned(p / 10000 ** (c // 2 / d), c), "is i / D"),
        "2 twice": (
            lambda p, c, d: turned(p / 10000 ** (4 * (c // 2) / d), c),
            "the 2 is counted twice",
        ),
        "multiplied": (
            lambda p, c, d: turned(p * 10000 ** (c // 2 * 2 / d), c),
            "multiplied, not divided",
        ),
        "another base": (
            lambda p, c, d: turned(p / 1000 ** (c // 2 * 2 / d), c),
            "base is not 10000",
        ),
        "one speed": (lambda p, c, d: turned(p, c), "at one speed"),
        "to a whole 1": (
            lambda p, c, d: turned(p / 10000 ** (c // 2 / (d // 2 - 1)), c),
            r"D/2 - 1",
        ),
        "made even": (lambda p, c, d: entry(p, c, d + d % 2), "width is made even"),
        "cut": (lambda p, c, d: entry(p, c, d - d % 2), "loses its last column"),
        "arguments": (lambda c, p, d: entry(p, c, d), "column are exchanged"),
        "sines": (
            lambda p, c, d: math.sin(angle(p, c, d)),
            "Every column is a sine",
        ),
        "cosines": (
            lambda p, c, d: math.cos(angle(p, c, d)),
            "Every column is a cosine",
        ),
        "the angle": (angle, "The angle itself came"),
        "whole numbers": (
            lambda p, c, d: turned(p // 10000 ** (2 * (c // 2) / d), c),
            "rounded down",
        ),
        "a pair": (
            lambda p, c, d: (math.sin(angle(p, c, d)), math.cos(angle(p, c, d))),
            "missing: it must return one number; got 2 values",
        ),
        "nothing": (
            lambda p, c, d: None,
            "missing: it must return an entry; got None",
        ),
        "the width alone": (lambda p, d: 0.0, "exception: TypeError"),
        "text": (lambda p, c, d: f"{entry(p, c, d):.4f}", "missing: .* type str"),
        "a name": (lambda p, c, d: sin(p), "NameError"),  # noqa: F821
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["entry"])
def test_what_is_right_passes(kind):
    assert said(report("positions", RIGHT["entry"][kind], "entry")) == ""


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["entry"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["entry"][kind]
    found = report("positions", answer, "entry")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [("made even", 5), ("no 2", 4), ("own speeds", 2), ("degrees", 3)],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["entry"][kind]
    found = report("positions", answer, "entry")
    assert (found.points, found.possible) == (points, 6)
