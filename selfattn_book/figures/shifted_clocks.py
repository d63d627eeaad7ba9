"""The clocks of a positional encoding, rotated over some steps from two positions, and their waves."""

import math
from functools import partial
from typing import Any

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.live import begin, live
from selfattn_book.figures.position_clocks import hand, on_clock

LAST = 40  # position at the right end of the waves
TOP = 40  # pixels
# Pixels: the height of all clocks, the middles of both columns, the largest radius, the left end of the
# waves, and from one position to the next. On a phone a clock's name is above it.
DESK = {"high": 296, "dials": (158, 288), "most": 30, "left": 396, "unit": 6, "desk": True}
PHONE = {"high": 344, "dials": (22, 101), "most": 18, "left": 168, "unit": 3.4, "desk": False}


def shifted_clocks(dimension: int, position: int, steps: int, *, base: float = 10000.0) -> Canvas:
    """Draw how the clocks of an even dimension rotate over some steps, from 0 and from a position.

    Beside each clock are the waves of both coordinates of its tip, at the positions 0 to 40.

    Example:
        >>> print(shifted_clocks(4, 5, 3).get_label())
        The 2 clocks of dimension 4 with base 10000, over 3 steps.
        Clock 0 has a full turn in 6.3 steps: from position 0 to 3 it rotates by 3.000 rad,
        and from 5 to 8 by 3.000 rad.
        Clock 1 has a full turn in 628.3 steps: from position 0 to 3 it rotates by 0.030 rad,
        and from 5 to 8 by 0.030 rad.
    """
    count, power = dimension // 2, math.log10(base)
    speeds = [10.0 ** (-power * i / count) for i in range(count)]
    starts = [0, position]
    shown = {"speeds": speeds, "starts": starts, "steps": steps}
    message = [
        f"The {count} clocks of dimension {dimension} with base {base:.0f}, over {steps} steps"
    ]
    for i, speed in enumerate(speeds):
        ways = [number((start + steps) * speed - start * speed, 3) for start in starts]
        message.append(
            f"Clock {i} has a full turn in {number(math.tau / speed, 1)} steps: "
            f"from position 0 to {steps} it rotates by {ways[0]} rad, "
            f"and from {position} to {position + steps} by {ways[1]} rad"
        )

    def draw(width: float) -> Canvas:
        at: dict[str, Any] = DESK if width == WIDE else PHONE
        ax = canvas(width, TOP + at["high"] + 34)
        _axis(ax, at)
        live(ax, _clocks, "clocks", shown, at=at, top=TOP)
        return ax.describe(*message)

    state = {"position": position, "steps": steps, "base": power, "dimension": dimension}
    return begin(both_widths(draw), "clocks", **state)


def _axis(ax: Canvas, at: dict[str, Any]) -> None:
    """Name the waves, and number the positions below them."""
    left, unit, y = at["left"], at["unit"], TOP + at["high"] + 8
    for role, text, x in (("ink", "sine", left), ("muted", "cosine", left + 18 * unit)):
        ax.line([(x, 14), (x + 20, 14)], role, width=2, dashed=role == "muted")
        ax.note((x + 26, 14), text, align="left")
    ax.line([(left, y), (left + unit * LAST, y)])
    for p in range(0, LAST + 1, 10):
        ax.line([(left + unit * p, y), (left + unit * p, y + 4)])
        ax.note((left + unit * p, y + 14), f"{p}")
    ax.note((left - 14, y + 14), "position", "muted", align="right")
    if at["desk"]:
        ax.note((0, 14), "positions", "muted", align="left")


def _clocks(ax: Canvas, shown: dict[str, Any], at: dict[str, Any], top: float) -> None:
    """Draw each clock twice, before and after the steps, and its waves with these steps marked."""
    starts, steps, speeds = shown["starts"], shown["steps"], shown["speeds"]
    pitch, head = at["high"] / len(speeds), 0 if at["desk"] else 16
    for x, start in zip(at["dials"], starts, strict=True):
        ax.note((x + 14, 14), f"{start} to {start + steps}", bold=True)
    for p, dashed in ((starts[1], True), (starts[1] + steps, False)):
        x = at["left"] + at["unit"] * p
        line = [(x, top), (x, top + at["high"] + 8)]
        ax.line(line, "muted" if dashed else "ink", dashed=dashed)
    for i, speed in enumerate(speeds):
        y = top + (i + 0.5) * pitch + head / 2
        face = min(at["most"], (pitch - head) / 2 - 3)
        turn = f"{number(math.tau / speed, 0)} steps a turn"
        if at["desk"]:
            ax.note((0, y - 8), f"clock {i}", align="left", bold=True)
            ax.note((0, y + 8), turn, "muted", align="left")
        else:
            ax.note((4, y - face - 9), f"clock {i}: {turn}", align="left")
        for x, start in zip(at["dials"], starts, strict=True):
            angles = start * speed, (start + steps) * speed
            _dial(ax, (x, y), face, *angles, unit=" rad" if at["desk"] else "")
        wave = partial(_wave, speed, (at["left"], y), at["unit"], face)
        ax.line(wave(0, LAST, ahead=math.pi / 2), "muted", dashed=True)
        ax.line(wave(0, LAST))
        for start in starts:
            ax.line(wave(start, start + steps), "query", width=3)


def _dial(ax: Canvas, at: Point, face: float, start: float, end: float, *, unit: str) -> None:
    """Draw a clock: a dashed hand before the steps, a solid one after them, the angle between them.

    An angle of more than a turn winds outward.
    """
    ax.ring(at, face, "residual")
    parts = [(end - start) * k / 39 for k in range(40)]
    arc = [on_clock(at, (0.4 + 0.025 * a) * face, start + a) for a in parts]
    ax.line(arc, "query", width=min(BOLD_LINE, face / 8))
    tip = min(4.0, 2 + face / 15)
    hand(ax, at, on_clock(at, face, start), "muted", tip=tip - 1, width=1.4, dashed=True)
    hand(ax, at, on_clock(at, face, end), tip=tip, width=min(BOLD_LINE, face / 8))
    ax.note((at[0] + face + 7, at[1]), number(end - start, 3) + unit, "query", align="left")


def _wave(
    speed: float, at: Point, unit: float, swing: float, first: float, last: float, ahead: float = 0
) -> list[Point]:
    """Return the sine of a hand from one position to another, with 16 points to a turn or more."""
    count = 3 + math.ceil(16 * speed * (last - first) / math.tau)
    steps = [first + (last - first) * k / count for k in range(count + 1)]
    return [(at[0] + unit * p, at[1] - swing * math.sin(speed * p + ahead)) for p in steps]
