"""Positions as the hands of clocks, whose tips have sines and cosines as coordinates."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from selfattn_book.draw.canvas import LINE, Canvas, Point, listed
from selfattn_book.draw.scene import Node, cells, column, label, note, show, slot, space
from selfattn_book.draw.scene import row as in_row
from selfattn_book.draw.style import as_array

FINE = 12  # points of a wave from one position to the next
WAVES = {
    "sine: how high the tip of the hand is": "ink",
    "cosine: how far to the right it is": "muted",
}


def clocks(angles: Tensor, names: Sequence[str], *, row: int = 1) -> Canvas:
    """Draw each position as a row of clocks, and the sines and cosines of their hands as waves.

    A hand rotates counterclockwise and starts at the right; its angles are ``(T, C)``, for C clocks
    at T positions. The encoding of the marked position ``row`` is written below.

    Example:
        >>> print(clocks(torch.pi / 2 * torch.arange(3.0)[:, None], ["quarters"]).get_label())
        Positions 0 to 2 on 1 clocks, one position below the other. The hand of quarters rotates by
        1.57 rad per step. Position 0 is (0.00, 1.00). Position 1 is (1.00, 0.00).
        Position 2 is (0.00, -1.00).
    """
    count, pairs = len(angles), torch.stack([angles.sin(), angles.cos()], dim=2)
    speeds = [f"{speed:.3g}" for speed in (angles[1] - angles[0]).tolist()]
    hands = zip(names, speeds, strict=True)

    def build(narrow: bool) -> Node:
        left, step, cell, size = (18, 24, 35, 12) if narrow else (70, 30, 46, 14)
        wide = ((304 if narrow else 632) - left) / len(names)
        numbers = space(left, count * step, partial(_numbers, count, row, step, left))
        columns = [column(space(left, 40), numbers, space(0, 26), gap=8)]
        for name, speed, hand, code in zip(names, speeds, angles.T, pairs[row], strict=True):
            unit = f"{speed} {'rad' if narrow else 'rad per step'}"
            parts = label(name, bold=True, size=size), label(unit, "muted", size=12)
            waves = space(wide, count * step, partial(_clock, as_array(hand), wide, step))
            values = cells(code, "ink", cell=(cell, 26), text_size=size)
            columns.append(column(slot(column(*parts, gap=6), wide), waves, values, gap=8))
        strokes = [
            in_row(space(28, 8, partial(_stroke, role)), note(t)) for t, role in WAVES.items()
        ]
        text = note(f"encoding of {row}: sine, then cosine, of each clock", "muted")
        return column(in_row(*strokes, gap=12, align=0), in_row(*columns, gap=0, align=1), text)

    return show(
        build,
        f"Positions 0 to {count - 1} on {len(names)} clocks, one position below the other",
        *(f"The hand of {name} rotates by {speed} rad per step" for name, speed in hands),
        *(f"Position {p} is ({listed(code.flatten())})" for p, code in enumerate(pairs)),
    )


def _numbers(count: int, marked: int, step: float, wide: float, ax: Canvas, at: Point) -> None:
    """Write the numbers of the positions, and mark one of them in all columns."""
    width = ax.get_xlim()[1]
    for p in range(count):
        y = at[1] + (p + 0.5 - count / 2) * step
        text = f"position {p}" if wide > 60 and p in (0, marked) else f"{p}"
        ax.note((at[0] + wide / 2 - 8, y), text, align="right", bold=p == marked)
        if p == marked:
            ax.box((width / 2, y), (width - 2, step - 2), width=1, order=1)


def _stroke(role: str, ax: Canvas, at: Point) -> None:
    ends = [(at[0] - 14, at[1]), (at[0] + 14, at[1])]
    ax.line(ends, role, width=2, dashed=role == "muted")


def _clock(angles: np.ndarray, wide: float, step: float, ax: Canvas, at: Point) -> None:
    """Draw one clock at every position, and both coordinates of its tip as waves down the page."""
    face, swing, count = step / 2 - 3, 40 if step > 24 else 20, len(angles)
    left, top = at[0] - wide / 2, at[1] - (count - 1) / 2 * step
    for p, angle in enumerate(angles):
        middle = (left + face + 4, top + p * step)
        ax.node(middle, "", "residual", radius=face)
        hand(ax, middle, on_clock(middle, face, angle), width=2, tip=2.5)
    zero = left + (2 * face + 8 + wide) / 2
    ax.line([(zero, top - step / 2), (zero, top + (count - 0.5) * step)], "residual")
    steps = np.linspace(0, count - 1, FINE * (count - 1) + 1)
    between, ys = np.interp(steps, np.arange(count), angles), top + step * steps
    for function, role in ((np.cos, "muted"), (np.sin, "ink")):
        xs = zero + swing * function(between)
        points: list[Point] = list(zip(xs.tolist(), ys.tolist(), strict=True))
        ax.line(points, role, width=LINE, dashed=role == "muted")
        for point in points[::FINE]:
            ax.disc(point, 2.5, role)


def hand(ax: Canvas, at: Point, end: Point, role: str = "ink", *, tip: float, **look: Any) -> None:
    """Draw the hand of a clock, with its tip as a disc."""
    ax.line([at, end], role, **look)
    ax.disc(end, tip, role)


def on_clock(at: Point, radius: float, angle: float) -> Point:
    """Return the point at an angle, counterclockwise from the right, on a circle."""
    return at[0] + radius * float(np.cos(angle)), at[1] - radius * float(np.sin(angle))
