"""Autoregressive decoding step by step: each output is the next input, and the KV cache grows."""

from typing import Any

import numpy as np

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import Numbers, as_array

PITCH, TOP = 96, 74  # pixels from one step to the next, and to the middle of the first


def decoding_steps(points: Numbers, weights: Numbers, *, given: int = 1) -> Canvas:
    """Draw decoding step by step, with the KV cache; new keys and values are filled.

    The points ``(T + 1, 2)`` are the given ones, then the predicted ones; ``weights`` is ``(T,
    T)``.

    Example:
        >>> points = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
        >>> print(decoding_steps(points, np.eye(3), given=2).get_label())
        Autoregressive decoding; each output is the next input.
        Step 1: (-1.00, -1.00), (-1.00, 1.00) go in, there are 2 keys with weights 0.00, 1.00,
        and (1.00, 1.00) comes out.
        Step 2: (1.00, 1.00) goes in, there are 3 keys with weights 0.00, 0.00, 1.00,
        and (1.00, -1.00) comes out.
    """
    chain, table = as_array(points), as_array(weights)
    unit = float(np.abs(chain).max()) or 1.0
    steps, message = range(given - 1, len(table)), []
    for step, t in enumerate(steps, start=1):
        new = chain[:given] if step == 1 else chain[t : t + 1]
        message.append(
            f"Step {step}: {', '.join(f'({listed(p)})' for p in new)} "
            f"{'go' if len(new) > 1 else 'goes'} in, there are {t + 1} keys with weights "
            f"{listed(table[t, : t + 1])}, and ({listed(chain[t + 1])}) comes out"
        )

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        half, left, right = (22, 24, 288) if narrow else (32, 44, 594)
        first, end = (54, 256) if narrow else (104, 532)
        wide = (end - first) / len(table)
        ax = canvas(width, TOP + PITCH * len(steps) - 56)
        heads = ("in" if narrow else "input", "keys and values", "out" if narrow else "output")
        middles = left + 2 * narrow, (first + right - half - 10) / 2, right
        for x, text in zip(middles, heads, strict=True):
            ax.say((x, 16), text, "muted", bold=True)
        for step, t in enumerate(steps):
            y, new = TOP + PITCH * step, 1 if step else given
            _paper(ax, (left, y), half, chain[: t + 1] / unit, new, "query")
            ax.wire([(left + half, y), (first, y)], "query", width=2)
            ax.wire([(end - 6, y), (right - half, y)], "context", width=2)
            for s in range(len(table)):
                corner, weight = (first + s * wide, y), float(table[t, s])
                if s <= t:
                    _column(ax, corner, wide - 6, s + 1, weight, s > t - new, narrow=narrow)
                    continue
                for down in (-8, 16):
                    empty: Any = {"filled": False, "dashed": True, "width": 1}
                    middle = (corner[0] + wide / 2 - 3, y + down)
                    ax.box(middle, (wide - 6, 20), "residual", **empty)
            _paper(ax, (right, y), half, chain[: t + 2] / unit, t + 2, "context")
            if t + 1 < len(table):
                back = [(right, y + half), (right, y + 44), (left, y + 44)]
                ax.wire([*back, (left, y + PITCH - half)], "context", width=2)
        if not narrow:
            ax.note((first, TOP - 42), "weights", "weights", align="left")
        return ax.describe("Autoregressive decoding; each output is the next input", *message)

    return both_widths(draw)


def _column(
    ax: Canvas, corner: Point, wide: float, s: int, weight: float, fresh: bool, *, narrow: bool
) -> None:
    """Draw a key and a value, new or kept, and the weight on them."""
    left, y = corner
    for down, role in ((-8, "key"), (16, "value")):
        text = f"{role[0] if narrow else role + ' '}{s}"
        look: Any = {"filled": fresh, "bold": fresh, "width": BOLD_LINE if fresh else 1}
        ax.box((left + wide / 2, y + down), (wide, 20), role, text, text_size=13, **look)
    length = (wide if narrow else wide - 34) * weight
    ax.hbar((left, y - 26), length, "weights", thick=7)
    at = (left, y - 38) if narrow else (left + length + 4, y - 26)
    ax.note(at, number(weight), "weights", align="left")


def _paper(ax: Canvas, at: Point, half: float, points: np.ndarray, new: int, role: str) -> None:
    """Draw the last points in a square around the origin, the very last in the color of its role."""
    ax.box(at, (2 * half, 2 * half), "residual", filled=False, width=1)
    places = [(at[0] + 0.72 * half * x, at[1] - 0.72 * half * y) for x, y in points[-new:]]
    if len(places) > 1:
        ax.wire(places, "muted", head=False)
    for place in places[:-1]:
        ax.disc(place, 3, "muted" if role == "context" else role)
    ax.disc(places[-1], 5, role)
