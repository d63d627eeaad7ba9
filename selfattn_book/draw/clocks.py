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


def shifts(
    codes: Tensor, which: Sequence[int], starts: Sequence[int], steps: int
) -> Axes:
    """Draw how far the hands of some clocks turn on the way of some steps, from two positions or more.

    Args:
        codes: ``(T, D)``, sine and cosine of D/2 clocks side by side, for T positions.
        which: the clocks that are drawn, at most 4.
        starts: the positions from which the steps are taken, a row for each, at most 3.
        steps: how many.

    Returns:
        The axes.

    Raises:
        ValueError: a clock or a position is not among the codes, or too many are wanted.

    Example:
        >>> angles = torch.arange(6.0)[:, None] * torch.tensor([1.0, 0.1])
        >>> codes = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
        >>> print(shifts(codes, [0, 1], [0, 2], 3).get_label())
        The way of 3 steps. From position 0 to 3, clock 0 turns by 3.00 rad, clock 1 by 0.30 rad.
        From position 2 to 5, clock 0 turns by 3.00 rad, clock 1 by 0.30 rad.
        >>> shifts(codes, [2], [0], 3)
        Traceback (most recent call last):
        ValueError: which must name 1 to 4 of the clocks 0 to 1; got [2]
        >>> shifts(codes, [0], [0, 3], 3)
        Traceback (most recent call last):
        ValueError: starts must be 1 to 3 positions, with 3 steps to go up to 5; got [0, 3]
    """
    drawn = _check_steps(codes, which, starts, steps)

    def draw(width: float) -> Axes:
        at = STEPS_ON_DESK if width == WIDE else STEPS_ON_PHONE
        ax = canvas(width, at.top(len(drawn.starts)))
        room = (width - at.left - 6) / len(drawn.which)
        middles = [at.left + room * (c + 0.5) for c in range(len(drawn.which))]
        _name_clocks(ax, at, middles, drawn.which)
        for r, ends in enumerate(drawn.ways):
            _name_way(ax, at, r, ends)
            for x, hand in zip(middles, drawn.hands(ends), strict=True):
                _turn(ax, (x, at.middle(r)), at.face, hand)
        return tell(ax, *_told_of_steps(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _RowsOfSteps:
    """Sizes in pixels of the rows of clocks, one for each position from which steps are taken."""

    left: float  # where the clocks begin; on a desk, what is before is for the names of the rows
    above: float  # what is free over a clock; on a phone, for the name of the row
    face: float  # the radius of a clock
    row: float
    first: float = 32  # how far down the first row begins

    def top(self, r: int) -> float:
        return self.first + self.row * r

    def middle(self, r: int) -> float:
        """Return how far down the middles of the clocks of a row are."""
        return self.top(r) + self.above + self.face


STEPS_ON_DESK = _RowsOfSteps(126, 4, 42, 130)
STEPS_ON_PHONE = _RowsOfSteps(6, 26, 30, 126)


@dataclass
class _Steps:
    """What is drawn: the hands of some clocks, and the steps on the way of which they turn."""

    angles: Tensor  # (T, clocks), of the clocks that are drawn
    which: list[int]
    starts: list[int]
    count: int

    @property
    def ways(self) -> list[tuple[int, int]]:
        """The positions before the steps and after them."""
        return [(start, start + self.count) for start in self.starts]

    def hands(self, ends: tuple[int, int]) -> list[tuple[float, float]]:
        """Return the angles of each hand before the steps and after them."""
        before, after = (self.angles[position].tolist() for position in ends)
        return list(zip(before, after, strict=True))


def _check_steps(
    codes: Tensor, which: Sequence[int], starts: Sequence[int], steps: int
) -> _Steps:
    """Refuse clocks and positions that are not among the codes, and read the angles of the hands."""
    which, starts = list(which), list(starts)
    length, clocks_there = len(codes), codes.size(1) // 2
    if not 1 <= len(which) <= 4 or not set(which) <= set(range(clocks_there)):
        rule = f"which must name 1 to 4 of the clocks 0 to {clocks_there - 1}"
        raise ValueError(f"{rule}; got {which}")
    if not 1 <= len(starts) <= 3 or not set(starts) <= set(range(length - steps)):
        rule = f"starts must be 1 to 3 positions, with {steps} steps to go up to {length - 1}"
        raise ValueError(f"{rule}; got {starts}")
    pairs = codes.unflatten(1, (-1, 2))[:, which]
    angles = torch.atan2(pairs[..., 0], pairs[..., 1])
    return _Steps(angles, which, starts, steps)


def _told_of_steps(drawn: _Steps) -> list[str]:
    """Say how far each clock turns, from each of the positions."""
    told = [f"The way of {drawn.count} step{'s' * (drawn.count != 1)}"]
    for start, end in drawn.ways:
        turns = _turns(drawn.angles[start], drawn.angles[end])
        parts = [
            f"clock {c} by {turn:.2f} rad"
            for c, turn in zip(drawn.which, turns, strict=True)
        ]
        # The verb of the first clock goes for those that follow it.
        parts[0] = parts[0].replace(" by ", " turns by ", 1)
        told.append(f"From position {start} to {end}, {', '.join(parts)}")
    return told


def _name_clocks(
    ax: Axes, at: _RowsOfSteps, middles: Sequence[float], which: Sequence[int]
) -> None:
    """Name the clocks above their columns, and the column of positions where there is one."""
    for x, clock in zip(middles, which, strict=True):
        say(ax, (x, 12), f"clock {clock}", bold=True, size=SMALL)
    if at is STEPS_ON_DESK:
        say(ax, (at.left - 16, 12), "positions", align="right", size=SMALL)


def _name_way(ax: Axes, at: _RowsOfSteps, r: int, ends: tuple[int, int]) -> None:
    """Name a row beside its clocks; on a phone, where there is no room beside, above them."""
    way = f"from {ends[0]} to {ends[1]}"
    if at is STEPS_ON_DESK:
        beside = (at.left - 16, at.middle(r))
        say(ax, beside, way, align="right", size=SMALL)
    else:
        above = (at.left, at.top(r) + 8)
        say(ax, above, f"positions {way}", align="left", size=SMALL)


def _turns(start: Tensor, end: Tensor) -> list[float]:
    """Return how far the hands have gone counter-clockwise, below one full turn."""
    turns = ((end - start) % (2 * torch.pi)).tolist()
    return [float(turn) for turn in turns]


def _turn(ax: Axes, at: Point, face: float, ends: tuple[float, float]) -> None:
    """Draw one clock: a dashed hand before the steps, a full one after them, and the way between."""
    x, y = at
    node(ax, at, "", "road", radius=face)
    start, end = ends
    turn = (end - start) % (2 * np.pi)
    along = start + turn * np.linspace(0, 1, 40)
    arc = [(x + 0.5 * face * np.cos(a), y - 0.5 * face * np.sin(a)) for a in along]
    line(ax, arc, "query", width=3)
    for angle, dashed in ((start, True), (end, False)):
        tip = (x + face * np.cos(angle), y - face * np.sin(angle))
        line(
            ax,
            [at, tip],
            _role(dashed),
            width=1.4 if dashed else 2.4,
            dashed=dashed,
        )
        disc(ax, tip, 3 if dashed else 4.5, _role(dashed))
    say(ax, (x, y + face + 16), f"{turn:.2f} rad", "query", size=SMALL)


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
