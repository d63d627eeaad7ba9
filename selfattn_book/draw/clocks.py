"""Positions as the hands of clocks, with the waves that the hands write while they turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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

    first: float  # how far down the first position is
    left: float  # the room for the numbers of the positions
    row: float
    face: float  # the radius of a clock
    swing: float  # of a wave, to each side
    cell: float  # the width of a number in the code
    text: float


DESK = _Places(88, 74, 30, 12, 40, 46, 14)
PHONE = _Places(102, 24, 24, 9, 20, 35, 12)


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
    drawn = _check(angles, names, row)

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE
        count, names = drawn.angles.shape[0], drawn.names
        ax = canvas(width, at.row * count + (142 if at is DESK else 180))
        rows = [at.first + at.row * p for p in range(count)]
        _legend(ax, width)
        box(ax, (width / 2, rows[row]), (width - 2, at.row - 2), width=1, order=1)
        for p, y in enumerate(rows):
            says = f"position {p}" if at is DESK and p in (0, row) else f"{p}"
            look: dict[str, Any] = {
                "align": "right",
                "size": SMALL,
                "bold": p == row,
            }
            say(ax, (at.left - 8, y), says, **look)
        room = (width - at.left) / len(names)
        for c in range(len(names)):
            _clock(ax, at, (at.left + c * room, room), rows, drawn=drawn, c=c)
        _code(ax, at, width, row)
        return tell(ax, *_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """What is drawn: the angles of clocks at positions, and which position is marked."""

    angles: Tensor
    names: list[str]
    row: int

    @property
    def pairs(self) -> Tensor:
        """Sine and cosine, ``(T, C, 2)``."""
        return torch.stack([self.angles.sin(), self.angles.cos()], dim=2)

    @property
    def speeds(self) -> list[str]:
        turns = (self.angles[1] - self.angles[0]).tolist()
        return [f"{turn:.3g}" for turn in turns]


def _check(angles: Tensor, names: Sequence[str], row: int) -> _Drawn:
    """Refuse what does not fit into the drawing."""
    is_table = angles.dim() == 2
    if not (is_table and 2 <= len(angles) <= 12 and 1 <= angles.size(1) <= 4):
        rule = (
            "angles must have shape (T, C), with T from 2 to 12 and C from 1 to 4"
        )
        raise ValueError(f"{rule}; got {tuple(angles.shape)}")
    if row not in range(len(angles)):
        rule = f"row must be one of the positions 0 to {len(angles) - 1}"
        raise ValueError(f"{rule}; got {row}")
    return _Drawn(angles, line_names(names, angles.size(1)), row)


def _told(drawn: _Drawn) -> list[str]:
    """Say what is drawn."""
    count, clocks = drawn.angles.shape
    opening = f"Positions 0 to {count - 1} on {clocks} clocks"
    return [
        f"{opening}, one position below the other",
        *(
            f"The hand of {name} turns by {speed} rad per step"
            for name, speed in zip(drawn.names, drawn.speeds, strict=True)
        ),
        *(
            f"Position {p} is ({listed(code.flatten())})"
            for p, code in enumerate(drawn.pairs)
        ),
    ]


def _clock(
    ax: Axes,
    at: _Places,
    span: Point,
    rows: Sequence[float],
    *,
    drawn: _Drawn,
    c: int,
) -> None:
    """Draw one clock at every position, its waves, and its numbers in the code of the marked one."""
    (left, room), angles = span, drawn.angles[:, c]
    unit = "rad per step" if at is DESK else "rad"
    head, speed = (left + room / 2, rows[0] - 42), f"{drawn.speeds[c]} {unit}"
    say(ax, head, drawn.names[c], bold=True, size=at.text)
    say(ax, (head[0], head[1] + 16), speed, "muted", size=12)
    _dials(ax, at, (left + at.face + 4, rows), angles)
    _waves(ax, at, (left + (2 * at.face + 8 + room) / 2, rows), angles)
    low = ax.get_ylim()[0] - 46 + 2 * (at is PHONE)
    code: dict[str, Any] = {"cell": (at.cell, 26), "text_size": at.text}
    vector(ax, (head[0] - at.cell, low), drawn.pairs[drawn.row, c], "ink", **code)


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
