"""Positional encoding: rotate queries and keys, and two clocks on paper."""

import math

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug
from selfattn_book.exercises.checking.numbers import normal

FORMULA = "positions.html#the-sinusoidal-positional-encoding"
AFTER = "positions-deeper.html#rotary-and-relative-positions"


def case(seed, start, *shape):
    return *normal(seed, shape), start


def take(x, pairs):
    if pairs == "neighbors":
        return x[..., 0::2], x[..., 1::2]
    return x.chunk(2, -1)


def put(a, c, pairs):
    return torch.stack([a, c], -1).flatten(-2) if pairs == "neighbors" else torch.cat([a, c], -1)


def angles(x, start, base, exponent=2.0):
    length, width = x.shape[-2:]
    place = torch.arange(start, start + length, dtype=torch.float64)
    pair = torch.arange(width // 2, dtype=torch.float64)
    return place[:, None] * base ** (-exponent * pair / width)


@factory
def turn(base, pairs, x, start, *, put_as="", exponent=2, sign=1, shift=0):
    """Return a rotation, put together from parts."""
    (a, c), by = take(x, pairs), sign * angles(x, start + shift, base, exponent)
    new = a * by.cos() - c * by.sin(), a * by.sin() + c * by.cos()
    return put(*new, put_as or pairs)


def rotate(base, pairs):
    hand = "positions.html#the-rotation-property"
    other = "halves" if pairs == "neighbors" else "neighbors"
    right = turn(base, pairs)

    def in_place(x, start):
        (a, c), by = take(x, pairs), angles(x, start, base)
        new = a * by.cos() - c * by.sin()
        return put(new, new * by.sin() + c * by.cos(), pairs)

    def added(x, start):
        by = angles(x, start, base)
        return x + put(by.sin(), by.cos(), "neighbors")

    wrong = {
        "The pairs are formed the other way: neighbors, or halves.": turn(base, other),
        "The pairs are put back at other positions than they came from.": turn(
            base, pairs, put_as=other
        ),
        "The pairs are formed the other way, and put back as they should be.": (
            turn(base, other, put_as=pairs)
        ),
        "It is rotated the other way round.": turn(base, pairs, sign=-1),
        "The base is 10000 here, not yours.": turn(10000.0, pairs),
        "Pair i has the exponent −2i/D.": turn(base, pairs, exponent=1),
        "Later pairs rotate more slowly, not faster.": turn(base, pairs, exponent=-2),
        "All pairs rotate at one speed.": turn(base, pairs, exponent=0),
        "The position of the first vector was ignored.": lambda x, start: right(x, 0),
        "Positions are counted from 0.": turn(base, pairs, shift=1),
        "The second entry was made from the first one's new value.": in_place,
        "A code was added; nothing was rotated.": added,
        "Rows and columns are exchanged.": (
            lambda x, start: right(x.mT, start).mT if x.size(-2) % 2 == 0 else x
        ),
        "These are angles: the vectors have still to be rotated.": (
            lambda x, start: angles(x, start, base)
        ),
    }
    later = case(3, 9, 3, 4), case(4, 100, 1, 6)
    questions = [
        checked("one pair of columns rotates like the hand of a clock", hand, 2, case(1, 0, 5, 2)),
        checked("each pair has its own speed", FORMULA, 3, case(2, 0, 4, 6)),
        checked("it begins at the position that is given", AFTER, 2, *later),
        checked("it works for all heads and sentences", AFTER, 1, case(5, 2, 2, 3, 5, 8)),
    ]
    return for_credit(
        "def rotate(x, start): ...",
        questions,
        right=turn(base, pairs),
        wrong=wrong,
        gate=1,
        returns="the vectors",
    )


def width_for(length, turn=2 * math.pi, last=2):
    """Return the least even width whose slowest clock goes round in so many steps."""
    width = 2
    while turn * 10000 ** (1 - last / width) < length:
        width += 2
    return width


def on_paper(numbers):
    k, length = numbers["steps"], numbers["positions"]
    degree, slower = math.radians(k), math.cos(k) + math.cos(k / 100)
    product = math.cos(k) + math.cos(k / 10)
    right = {
        "product": product,
        "distance": math.sqrt(4 - 2 * product),
        "turn": 20 * math.pi,
        "slowest": 2000 * math.pi,
        "width": width_for(length),
    }
    wrong = {
        "These are degrees; angles are in radians.": {
            "product": math.cos(degree) + math.cos(degree / 10)
        },
        "The base is 100, so the slow clock has the speed 1/10.": {"product": slower},
        "These are sines; the product leaves cosines.": {"product": math.sin(k) + math.sin(k / 10)},
        "The root is missing.": {"distance": 4 - 2 * product},
        "Each row has the squared length 2, one for each clock.": {
            "distance": abs(2 - 2 * product) ** 0.5
        },
        "The product is subtracted twice.": {"distance": math.sqrt(4 - product)},
        "A turn is 2π, not 1.": {"turn": 10, "slowest": 1000},
        "This is half a turn.": {"turn": 10 * math.pi},
        "This is the fast clock.": {"turn": 2 * math.pi},
        "The last of the D/2 clocks has the number D/2 − 1.": {"slowest": 20000 * math.pi},
        "A clock takes two columns; the width must be even.": {"width": width_for(length) - 1},
    }
    return by_hand("two_clocks", FORMULA, right, wrong, points={"width": 2})


WITHOUT_BUG = """\
def table(T, D):
    position = torch.arange(T)[:, None]
    pair = torch.arange(D // 2)
    angle = position / 10000 ** (2 * pair / D)
    rows = torch.zeros(T, D)
    rows[:, 0::2] = angle.sin()
    rows[:, 1::2] = angle.cos()
    return rows
"""
EXAMPLE = {"T": 3, "D": 6}  # all bugs show


def exercises(numbers):
    return [
        rotate(numbers["base"], numbers["pairs"]),
        on_paper(numbers),
        find_the_bug(numbers["program"], WITHOUT_BUG, FORMULA, EXAMPLE),
    ]
