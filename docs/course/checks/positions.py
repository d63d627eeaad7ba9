"""Sine and cosine positions: turn queries and keys, and two clocks on paper."""

import math
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.asking import Function, agrees, gives
from selfattn_book.course.exercise import Asked, Exercise

Case = tuple[Tensor, int]


def case(seed: int, start: int, *shape: int) -> Case:
    """Return vectors, and where the first one stands."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64), start


def take(x: Tensor, pairs: str) -> tuple[Tensor, Tensor]:
    """Return both entries of all pairs."""
    if pairs == "neighbours":
        return x[..., 0::2], x[..., 1::2]
    a, c = x.chunk(2, -1)
    return a, c


def put(a: Tensor, c: Tensor, pairs: str) -> Tensor:
    """Put pairs back in their places."""
    return (
        torch.stack([a, c], -1).flatten(-2)
        if pairs == "neighbours"
        else torch.cat([a, c], -1)
    )


def angles(x: Tensor, start: int, base: float, exponent: float = 2.0) -> Tensor:
    """Return by how much each pair at each position is turned."""
    length, width = x.shape[-2:]
    place = torch.arange(start, start + length, dtype=torch.float64)
    pair = torch.arange(width // 2, dtype=torch.float64)
    return place[:, None] * base ** (-exponent * pair / width)


def turn(
    base: float,
    pairs: str,
    put_as: str = "",
    *,
    exponent: float = 2.0,
    sign: float = 1.0,
    shift: int = 0,
) -> Function:
    """Return a rotation, put together from parts."""

    def rotate(x: Tensor, start: int) -> Tensor:
        (a, c), by = take(x, pairs), sign * angles(x, start + shift, base, exponent)
        new = a * by.cos() - c * by.sin(), a * by.sin() + c * by.cos()
        return put(*new, put_as or pairs)

    return rotate


def mistakes(base: float, pairs: str) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    other = "halves" if pairs == "neighbours" else "neighbours"
    right = turn(base, pairs)

    def in_place(x: Tensor, start: int) -> Tensor:
        (a, c), by = take(x, pairs), angles(x, start, base)
        new = a * by.cos() - c * by.sin()
        return put(new, new * by.sin() + c * by.cos(), pairs)

    def by_columns(x: Tensor, start: int) -> Tensor:
        return right(x.mT, start).mT if x.size(-2) % 2 == 0 else x

    def added(x: Tensor, start: int) -> Tensor:
        by = angles(x, start, base)
        return x + put(by.sin(), by.cos(), "neighbours")

    return [
        (
            "The pairs are formed the other way: neighbours, or halves.",
            turn(base, other),
        ),
        (
            "The pairs are put back in other places than they came from.",
            turn(base, pairs, other),
        ),
        (
            "The pairs are put back in other places than they came from.",
            turn(base, other, pairs),
        ),
        ("It is turned the other way round.", turn(base, pairs, sign=-1.0)),
        ("The base is 10000 here, not yours.", turn(10000.0, pairs)),
        ("Pair i has the exponent −2i/D.", turn(base, pairs, exponent=1.0)),
        (
            "Later pairs turn more slowly, not faster.",
            turn(base, pairs, exponent=-2.0),
        ),
        ("All pairs turn at one speed.", turn(base, pairs, exponent=0.0)),
        (
            "Where the first vector stands was ignored.",
            lambda x, start: right(x, 0),
        ),
        ("Positions are counted from 0.", turn(base, pairs, shift=1)),
        ("The second entry was made from the first one's new value.", in_place),
        ("A code was added; nothing was turned.", added),
        ("Rows and columns are exchanged.", by_columns),
    ]


def asks(base: float, pairs: str) -> list[Asked]:
    """Return what is asked of a rotation."""
    right, wrong = turn(base, pairs), mistakes(base, pairs)
    shift, after = (
        "positions.html#a-shift-is-a-rotation",
        "positions.html#what-came-after",
    )
    asked = [
        (
            "one pair of columns turns like the hand of a clock",
            [case(1, 0, 5, 2)],
            shift,
            2,
        ),
        (
            "each pair has its own speed",
            [case(2, 0, 4, 6)],
            "positions.html#the-formula",
            3,
        ),
        (
            "it begins where it is told to",
            [case(3, 9, 3, 4), case(4, 100, 1, 6)],
            after,
            2,
        ),
        (
            "it does so for all heads and sentences",
            [case(5, 2, 2, 3, 5, 8)],
            after,
            1,
        ),
    ]
    return [
        Asked(told, agrees(right, cases, *wrong), section, points)
        for told, cases, section, points in asked
    ]


def width_for(places: int, turn: float = 2 * math.pi, last: int = 2) -> int:
    """Return the least even width whose slowest clock goes round in so many steps."""
    width = 2
    while turn * 10000 ** (1 - last / width) < places:
        width += 2
    return width


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of two clocks."""
    k, places = numbers["steps"], numbers["places"]
    product = math.cos(k) + math.cos(k / 10)
    degrees = math.cos(math.radians(k)) + math.cos(math.radians(k / 10))
    wanted = {
        "product": product,
        "distance": math.sqrt(4 - 2 * product),
        "turn": 20 * math.pi,
        "slowest": 2000 * math.pi,
        "width": width_for(places),
    }
    wrong: dict[str, dict[str, Any]] = {
        "product": {
            "These are degrees; angles are in radians.": degrees,
            "The base is 100, so the slow clock has the speed 1/10.": math.cos(k)
            + math.cos(k / 100),
            "These are sines; the product leaves cosines.": math.sin(k)
            + math.sin(k / 10),
        },
        "distance": {
            "The root is missing.": 4 - 2 * product,
            "Each row has the squared length 2, one for each clock.": math.sqrt(
                abs(2 - 2 * product)
            ),
            "The product is subtracted twice.": math.sqrt(4 - product),
        },
        "turn": {
            "A turn is 2π, not 1.": 10,
            "This is half a turn.": 10 * math.pi,
            "This is the fast clock.": 2 * math.pi,
        },
        "slowest": {
            "The last of the D/2 clocks has the number D/2 − 1.": 20000 * math.pi,
            "A turn is 2π, not 1.": 1000,
        },
        "width": {
            "A clock takes two columns; an even width is asked for.": width_for(
                places
            )
            - 1
        },
    }
    formula = "positions.html#the-formula"
    return gives(wanted, wrong, formula, points={"width": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise(
            "rotate",
            "def rotate(x, start): ...",
            asks(numbers["base"], numbers["pairs"]),
        ),
        Exercise("two_clocks", "def two_clocks(): ...", on_paper(numbers)),
    ]
