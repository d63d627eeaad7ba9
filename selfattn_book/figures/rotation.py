"""A query and a key as hands of one clock, which turn with their positions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.rotary import rotate

PANEL, FACE = 222, 66  # pixels: how high a clock is drawn, and its radius


@dataclass
class _Turned:
    """A query and a key at two positions, and what the hands show."""

    places: tuple[int, int]
    query: Tensor
    key: Tensor

    @property
    def score(self) -> float:
        return float(self.query @ self.key)


def rotation(
    query: Tensor, key: Tensor, places: Sequence[tuple[int, int]], base: float = 10000.0
) -> Canvas:
    """Draw a query and a key of two numbers, turned by their positions, on a clock for each pair.

    Args:
        query: ``(2,)``.
        key: ``(2,)``.
        places: for each clock the positions of the query and of the key; one to three clocks.
        base: as of :func:`~selfattn_book.rotary.rotate`; one pair turns by one radian a step.

    Example:
        >>> one = torch.tensor([1.0, 0.0])
        >>> print(rotation(one, one, [(2, 0), (5, 3)]).get_label())
        The query at 2 and the key at 0 are 2.00 rad apart, and their score is -0.42.
        The query at 5 and the key at 3 are 2.00 rad apart, and their score is -0.42.
    """
    pair = torch.stack([query, key])
    drawn = [_Turned(at, *rotate(pair, torch.tensor(at), base)) for at in places]

    def draw(width: float) -> Canvas:
        across = len(drawn) if width == WIDE else 1
        room = width / across
        ax = canvas(width, PANEL * (len(drawn) if across == 1 else 1))
        for i, turned in enumerate(drawn):
            column, row = (i, 0) if across > 1 else (0, i)
            _clock(ax, (room * (column + 0.5), PANEL * row), turned)
        return ax.describe(*map(_told, drawn))

    return for_desk_and_phone(draw)


def _clock(ax: Canvas, top: tuple[float, float], turned: _Turned) -> None:
    """Draw both hands on one face, the angle between them, and the score."""
    x, y = top[0], top[1] + 40 + FACE
    sides = (("query", x - 8, "right"), ("key", x + 8, "left"))
    for (role, left, side), place in zip(sides, turned.places, strict=True):
        at = (left, top[1] + 14)
        ax.say(at, f"{role} at {place}", role, align=side, bold=True)
    ax.node((x, y), "", "residual", radius=FACE)
    _arc(ax, (x, y), turned)
    _hands(ax, (x, y), turned)
    score = f"score {number(turned.score)}"
    ax.box((x, y + FACE + 24), (112, 26), "weights", score)


def _hands(ax: Canvas, at: tuple[float, float], turned: _Turned) -> None:
    longest = max(float(v.norm()) for v in (turned.query, turned.key))
    for vector, role in ((turned.key, "key"), (turned.query, "query")):
        along = vector / longest * (FACE - 5)
        tip = (at[0] + float(along[0]), at[1] - float(along[1]))
        ax.line([at, tip], role, width=BOLD_LINE + 0.6)
        ax.disc(tip, 5, role)


def _arc(ax: Canvas, at: tuple[float, float], turned: _Turned) -> None:
    """Draw the way from the hand of the key to that of the query, the shorter one."""
    start, end = _angle(turned.key), _angle(turned.query)
    way = math.remainder(end - start, 2 * math.pi)
    angles = start + way * np.linspace(0, 1, 40)
    points = [
        (at[0] + 0.42 * FACE * math.cos(a), at[1] - 0.42 * FACE * math.sin(a)) for a in angles
    ]
    ax.line(points, "ink", width=BOLD_LINE)
    middle = angles[20]
    ax.say(
        (at[0] + 0.66 * FACE * math.cos(middle), at[1] - 0.66 * FACE * math.sin(middle)),
        number(abs(way)),
        size=SMALL,
    )


def _angle(vector: Tensor) -> float:
    return math.atan2(float(vector[1]), float(vector[0]))


def _told(turned: _Turned) -> str:
    """Say what one clock shows."""
    apart = abs(math.remainder(_angle(turned.query) - _angle(turned.key), 2 * math.pi))
    at_query, at_key = turned.places
    return (
        f"The query at {at_query} and the key at {at_key} are {number(apart)} rad apart, "
        f"and their score is {number(turned.score)}"
    )
