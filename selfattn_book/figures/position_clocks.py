"""Positions as the hands of clocks, whose tips have sines and cosines as coordinates."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from selfattn_book.draw.canvas import LINE, Canvas, Point, listed
from selfattn_book.draw.scene import Node, column, label, note, show, slot, space
from selfattn_book.draw.scene import row as in_row
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array

FINE = 12  # points of a wave from one position to the next
SINE, COSINE = "sine: how high the tip of the hand is", "cosine: how far to the right it is"
CODE = "sine and cosine of each clock, side by side"


def clocks(angles: Tensor, names: Sequence[str], *, row: int = 1) -> Canvas:
    r"""Draw each position as a row of clocks, and the sines and cosines of their hands as waves.

    A hand rotates counterclockwise and starts at the right. One position is marked, and its encoding
    is written below.

    Args:
        angles: ``(T, C)``, angles of the hands of C clocks at T positions, in radians.
        names: names of the clocks.
        row: marked position.

    Example:
        >>> ax = clocks(torch.pi / 2 * torch.arange(3.0)[:, None], ["quarters"])
        >>> print(ax.get_label())
        Positions 0 to 2 on 1 clocks, one position below the other. The hand of quarters rotates by
        1.57 rad per step. Position 0 is (0.00, 1.00). Position 1 is (1.00, 0.00).
        Position 2 is (0.00, -1.00).
    """
    count, pairs = len(angles), torch.stack([angles.sin(), angles.cos()], dim=2)
    speeds = [f"{speed:.3g}" for speed in (angles[1] - angles[0]).tolist()]
    hands = zip(names, speeds, strict=True)
    message = [
        f"Positions 0 to {count - 1} on {len(names)} clocks, one position below the other",
        *(f"The hand of {name} rotates by {speed} rad per step" for name, speed in hands),
        *(f"Position {p} is ({listed(code.flatten())})" for p, code in enumerate(pairs)),
    ]

    def build(narrow: bool) -> Node:
        left, step = (18, 24) if narrow else (70, 30)
        wide = ((304 if narrow else 632) - left) / len(names)
        unit, size = ("rad", 12) if narrow else ("rad per step", 14)
        numbers = space(left, count * step, partial(_numbers, count, row, left, narrow))
        columns = [column(space(left, 40), numbers, space(0, 26), gap=8)]
        for name, speed, hand, code in zip(names, speeds, angles.T, pairs[row], strict=True):
            parts = label(name, bold=True, size=size), label(f"{speed} {unit}", "muted", size=12)
            waves = space(wide, count * step, partial(_clock, hand, wide, narrow))
            cell = (35, 26) if narrow else (46, 26)
            values = space(2 * cell[0], 26, partial(_code, code, cell))
            columns.append(column(slot(column(*parts, gap=6), wide), waves, values, gap=8))
        marked = space(0, 0, lambda ax, _: _mark(ax, numbers, row, narrow))
        body = in_row(*columns, gap=0, align=1)
        text = f"code of {row}: {CODE}"
        return column(_legend(), marked, body, note(text, "muted"), gap=8)

    return show(build, *message)


def _numbers(count: int, marked: int, wide: float, narrow: bool, ax: Canvas, at: Point) -> None:
    """Write the numbers of the positions."""
    step = 24 if narrow else 30
    for p in range(count):
        y = at[1] + (p + 0.5 - count / 2) * step
        text = f"position {p}" if not narrow and p in (0, marked) else f"{p}"
        ax.note((at[0] + wide / 2 - 8, y), text, align="right", bold=p == marked)


def _mark(ax: Canvas, numbers: Node, marked: int, narrow: bool) -> None:
    """Mark one position in all columns."""
    step, width = (24, 312) if narrow else (30, 640)
    y = numbers.top + (marked + 0.5) * step
    ax.box((width / 2, y), (width - 2, step - 2), width=1, order=1)


def _legend() -> Node:
    """Explain the two waves."""
    nodes = []
    for text, dashed in ((SINE, False), (COSINE, True)):
        stroke = partial(_stroke, dashed)
        nodes.append(in_row(space(28, 8, stroke), note(text)))
    return in_row(*nodes, gap=12, align=0)


def _stroke(dashed: bool, ax: Canvas, at: Point) -> None:
    ax.line([(at[0] - 14, at[1]), (at[0] + 14, at[1])], _role(dashed), width=2, dashed=dashed)


def _role(dashed: bool) -> str:
    return "muted" if dashed else "ink"


def _clock(angles: Tensor, wide: float, narrow: bool, ax: Canvas, at: Point) -> None:
    """Draw one clock at every position, and both coordinates of its tip as waves down the page."""
    step, face, swing = (24, 9, 20) if narrow else (30, 12, 40)
    left, top = at[0] - wide / 2, at[1] - (len(angles) - 1) / 2 * step
    for p, angle in enumerate(angles.tolist()):
        _hand(ax, (left + face + 4, top + p * step), face, angle)
    zero = left + (2 * face + 8 + wide) / 2
    ax.line([(zero, top - step / 2), (zero, top + (len(angles) - 0.5) * step)], "residual")
    steps = np.linspace(0, len(angles) - 1, FINE * (len(angles) - 1) + 1)
    between = np.interp(steps, np.arange(len(angles)), as_array(angles))
    for function, dashed in ((np.cos, True), (np.sin, False)):
        xs, ys = zero + swing * function(between), top + step * steps
        points: list[Point] = list(zip(xs.tolist(), ys.tolist(), strict=True))
        ax.line(points, _role(dashed), width=LINE, dashed=dashed)
        for point in points[::FINE]:
            ax.disc(point, 2.5, _role(dashed))


def _hand(ax: Canvas, at: Point, face: float, angle: float) -> None:
    """Draw a small clock."""
    ax.node(at, "", "residual", radius=face)
    tip = _tip(at, face, angle)
    ax.line([at, tip], "ink", width=2)
    ax.disc(tip, 2.5, "ink")


def _tip(at: Point, radius: float, angle: float) -> Point:
    return at[0] + radius * float(np.cos(angle)), at[1] - radius * float(np.sin(angle))


def _code(code: Tensor, cell: Point, ax: Canvas, at: Point) -> None:
    size = SMALL - 1 if cell[0] < 40 else 14
    ax.vector((at[0] - cell[0], at[1]), code, "ink", cell=cell, text_size=size)


def shifts(codes: Tensor, which: Sequence[int], starts: Sequence[int], steps: int) -> Canvas:
    """Draw the rotation of some clocks over a number of steps, from several positions.

    Args:
        codes: ``(T, D)``, sine and cosine of D/2 clocks side by side, for T positions.
        which: indices of the clocks.
        starts: first positions, one for each row.
        steps: number of steps.

    Example:
        >>> angles = torch.arange(6.0)[:, None] * torch.tensor([1.0, 0.1])
        >>> codes = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
        >>> print(shifts(codes, [0, 1], [0, 2], 3).get_label())
        The rotation over 3 steps. From position 0 to 3: clock 0 by 3.00 rad, clock 1 by 0.30 rad.
        From position 2 to 5: clock 0 by 3.00 rad, clock 1 by 0.30 rad.
    """
    pairs = codes.unflatten(1, (-1, 2))[:, list(which)]
    angles = torch.atan2(pairs[..., 0], pairs[..., 1])
    opening = f"The rotation over {steps} step{'s' * (steps != 1)}"

    def build(narrow: bool) -> Node:
        face, left = (30, 0) if narrow else (42, 120)
        wide = ((304 if narrow else 630) - left) / len(which)
        heads = [slot(note(f"clock {c}", bold=True), wide) for c in which]
        lines: list[Node] = [in_row(space(left), *heads, gap=0)]
        for start in starts:
            ends = list(zip(angles[start].tolist(), angles[start + steps].tolist(), strict=True))
            turns = [(b - a) % (2 * np.pi) for a, b in ends]
            each = [f"clock {c} by {turn:.2f} rad" for c, turn in zip(which, turns, strict=True)]
            alt = f"From position {start} to {start + steps}: {', '.join(each)}"
            dials = [space(wide, 2 * face + 34, partial(_turn, face, pair)) for pair in ends]
            name = note(f"positions {start} to {start + steps}")
            if narrow:
                lines.append(column(name, in_row(*dials, gap=0), gap=0, align=0, alt=alt))
            else:
                lines.append(in_row(slot(name, left), *dials, gap=0, alt=alt))
        return column(*lines, gap=6)

    return show(build, opening)


def _turn(face: float, ends: tuple[float, float], ax: Canvas, middle: Point) -> None:
    """Draw a clock: a dashed hand before the steps, a solid one after them, and the arc between."""
    at = (middle[0], middle[1] - 8)
    ax.node(at, "", "residual", radius=face)
    start, end = ends
    turn = (end - start) % (2 * np.pi)
    arc = [_tip(at, 0.5 * face, start + turn * share) for share in np.linspace(0, 1, 40)]
    ax.line(arc, "query", width=3)
    for angle, dashed in ((start, True), (end, False)):
        tip = _tip(at, face, angle)
        ax.line([at, tip], _role(dashed), width=1.4 if dashed else 2.4, dashed=dashed)
        ax.disc(tip, 3 if dashed else 4.5, _role(dashed))
    ax.note((at[0], at[1] + face + 16), f"{turn:.2f} rad", "query")
