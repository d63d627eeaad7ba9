"""Marks that several live figures draw again; `docs/live/marks.ts` has the same."""

from collections.abc import Sequence
from typing import Any

from selfattn_book.draw.canvas import Canvas, Point, number
from selfattn_book.draw.style import Numbers


def word(ax: Canvas, text: str, at: Point, role: str, **look: Any) -> None:
    """Write a word in bold."""
    ax.say(at, text, role, bold=True, **look)


def vector(ax: Canvas, values: Numbers, at: Point, role: str, **look: Any) -> None:
    """Draw a vector."""
    ax.vector(at, values, role, **look)


def bars(
    ax: Canvas,
    values: Sequence[float],
    zero: float,
    ys: Sequence[float],
    unit: float,
    role: str,
    most: float = float("inf"),
) -> None:
    """Draw numbers as bars from a zero line, each with its number; none is longer than for ``most``."""
    for y, value in zip(ys, values, strict=True):
        long = unit * max(-most, min(most, value))
        ax.hbar((zero, y), long, role)
        side, align = (6, "left") if value >= 0 else (-6, "right")
        ax.say((zero + long + side, y), number(value), role, align=align)
    ax.line([(zero, ys[0] - 16), (zero, ys[-1] + 16)])


def meter(ax: Canvas, value: float, at: Point, long: float, role: str) -> None:
    """Draw how much of a whole something is: a bar in a frame."""
    x, y = at
    ax.box((x + long / 2, y), (long, 14), role, filled=False, width=1)
    ax.hbar(at, long * value, role, thick=14)
