"""Positions as the hands of clocks, with the waves that the hands write while they turn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    LINE,
    Point,
    box,
    canvas,
    disc,
    for_desk_and_phone,
    line,
    listed,
    node,
    say,
    tell,
    vector,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array, line_names

FINE = 12  # points of a wave from one position to the next


@dataclass
class _Places:
    """Sizes in pixels."""

    left: float  # the room for the numbers of the positions
    row: float
    face: float  # the radius of a clock
    swing: float  # of a wave, to each side
    cell: float  # the width of a number in the code
    text: float


DESK = _Places(74, 30, 12, 40, 46, 14)
PHONE = _Places(24, 24, 9, 20, 35, 12)


def clocks(angles: Tensor, names: Sequence[str], *, row: int = 1) -> Axes:
    r"""Draw each position as a row of clocks, and along the rows the waves of their hands.

    A hand turns counter-clockwise and starts at the right, so that its tip lies at the cosine across
    and the sine up. One position is marked, and its code written below.

    Args:
        angles: ``(T, C)``, of the hands of C clocks at T positions, in radians;
            T is 2 to 12, and C at most 4.
        names: one per clock.
        row: the position that is marked.

    Returns:
        The axes.

    Raises:
        ValueError: the clocks or the positions are too few or too many, there are not as many names
            as clocks, or no such position.

    Example:
        >>> ax = clocks(torch.pi / 2 * torch.arange(3.0)[:, None], ["quarters"])
        >>> print(ax.get_label())
        Positions 0 to 2 on 1 clocks, one position below the other. The hand of quarters turns by
        1.57 rad per step. Position 0 is (0.00, 1.00). Position 1 is (1.00, 0.00).
        Position 2 is (0.00, -1.00).
        >>> clocks(torch.zeros(2, 5), list("abcde"))
        Traceback (most recent call last):
        ValueError: angles must have shape (T, C), with T from 2 to 12 and C from 1 to 4; got (2, 5)
        >>> clocks(torch.zeros(2, 1), ["a"], row=2)
        Traceback (most recent call last):
        ValueError: row must be one of the positions 0 to 1; got 2
    """
    if (
        angles.dim() != 2
        or not 2 <= len(angles) <= 12
        or not 1 <= angles.size(1) <= 4
    ):
        rule = (
            "angles must have shape (T, C), with T from 2 to 12 and C from 1 to 4"
        )
        raise ValueError(f"{rule}; got {tuple(angles.shape)}")
    names = line_names(names, angles.size(1))
    if row not in range(len(angles)):
        rule = f"row must be one of the positions 0 to {len(angles) - 1}"
        raise ValueError(f"{rule}; got {row}")
    pairs = torch.stack([angles.sin(), angles.cos()], dim=2)  # (T, C, 2)
    speeds = [f"{speed:.3g}" for speed in (angles[1] - angles[0]).tolist()]
    told = [
        f"The hand of {name} turns by {speed} rad per step"
        for name, speed in zip(names, speeds, strict=True)
    ]
    told += [
        f"Position {p} is ({listed(c.flatten())})" for p, c in enumerate(pairs)
    ]

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE
        high = at.row * len(angles)
        room = (width - at.left) / len(names)
        ax = canvas(width, high + (142 if width == WIDE else 180))
        first = 88 if width == WIDE else 102
        rows = [first + at.row * p for p in range(len(angles))]
        _legend(ax, width)
        middle = (width / 2, rows[row])
        box(ax, middle, (width - 2, at.row - 2), width=1, order=1)
        for p, y in enumerate(rows):
            says = f"position {p}" if width == WIDE and p in (0, row) else f"{p}"
            say(
                ax, (at.left - 8, y), says, align="right", size=SMALL, bold=p == row
            )
        for c, name in enumerate(names):
            left = at.left + c * room
            unit = "rad per step" if width == WIDE else "rad"
            _head(
                ax, (left + room / 2, rows[0] - 42), name, f"{speeds[c]} {unit}", at
            )
            _dials(ax, at, (left + at.face + 4, rows), angles[:, c])
            zero = left + (2 * at.face + 8 + room) / 2
            _waves(ax, at, (zero, rows), angles[:, c])
            cells = (
                left + room / 2 - at.cell,
                ax.get_ylim()[0] - 46 + 2 * (width != WIDE),
            )
            vector(
                ax,
                cells,
                pairs[row, c],
                "ink",
                cell=(at.cell, 26),
                text_size=at.text,
            )
        _code(ax, at, width, row)
        opening = f"Positions 0 to {len(angles) - 1} on {len(names)} clocks"
        return tell(ax, f"{opening}, one position below the other", *told)

    return for_desk_and_phone(draw)


def _legend(ax: Axes, width: float) -> None:
    """Say what the two waves are, above all."""
    sine, cosine = (
        "sine: how high the tip of the hand is",
        "cosine: how far to the right it is",
    )
    ends = [(10, sine, False), (320 if width == WIDE else 10, cosine, True)]
    for number_of, (left, says, dashed) in enumerate(ends):
        y = 12 + (0 if width == WIDE else 17 * number_of)
        line(ax, [(left, y), (left + 28, y)], _role(dashed), width=2, dashed=dashed)
        say(ax, (left + 36, y), says, align="left", size=SMALL)


def _role(dashed: bool) -> str:
    return "muted" if dashed else "ink"


def _head(ax: Axes, at: Point, name: str, speed: str, places: _Places) -> None:
    say(ax, at, name, bold=True, size=places.text)
    say(ax, (at[0], at[1] + 16), speed, "muted", size=12)


def _dials(
    ax: Axes, at: _Places, place: tuple[float, Sequence[float]], angles: Tensor
) -> None:
    x, rows = place
    for y, angle in zip(rows, angles.tolist(), strict=True):
        node(ax, (x, y), "", "road", radius=at.face)
        tip = (x + at.face * np.cos(angle), y - at.face * np.sin(angle))
        line(ax, [(x, y), tip], "ink", width=2)
        disc(ax, tip, 2.5, "ink")


def _waves(
    ax: Axes, at: _Places, place: tuple[float, Sequence[float]], angles: Tensor
) -> None:
    """Draw both coordinates of the tip as waves that run down the page, with a dot at each position."""
    zero, rows = place
    line(ax, [(zero, rows[0] - at.row / 2), (zero, rows[-1] + at.row / 2)], "road")
    steps = np.linspace(0, len(angles) - 1, FINE * (len(angles) - 1) + 1)
    between = np.interp(steps, np.arange(len(angles)), as_array(angles))
    for function, dashed in ((np.cos, True), (np.sin, False)):
        points: list[Point] = [
            (
                zero + at.swing * float(function(angle)),
                rows[0] + at.row * float(step),
            )
            for step, angle in zip(steps, between, strict=True)
        ]
        line(ax, points, _role(dashed), width=LINE, dashed=dashed)
        for x, y in points[::FINE]:
            disc(ax, (x, y), 2.5, _role(dashed))


def _code(ax: Axes, at: _Places, width: float, row: int) -> None:
    """Name the code of the marked position; on a phone, above it."""
    end = ax.get_ylim()[0]
    sides = "sine and cosine of each clock, side by side"
    if width == WIDE:
        say(
            ax, (at.left - 8, end - 46), f"code of {row}", align="right", size=SMALL
        )
        say(
            ax,
            (at.left + (width - at.left) / 2, end - 16),
            sides,
            "muted",
            size=SMALL,
        )
    else:
        says = f"code of {row}: {sides}"
        say(ax, (8, end - 72), says, align="left", size=12)
