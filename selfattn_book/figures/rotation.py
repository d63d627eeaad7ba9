"""A query and a key as hands of one clock, rotated by their positions."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, number
from selfattn_book.draw.scene import row, show, space
from selfattn_book.rotary import rotate

PANEL, FACE = 222, 66  # pixels: how high a clock is drawn, and its radius


def rotation(
    query: Tensor, key: Tensor, positions: Sequence[tuple[int, int]], base: float = 10000.0
) -> Axes:
    """Draw a query and a key of two numbers, rotated by their positions, on a clock for each pair.

    See :func:`~selfattn_book.rotary.rotate`; one pair rotates by one radian a step.

    Example:
        >>> one = torch.tensor([1.0, 0.0])
        >>> print(rotation(one, one, [(2, 0), (5, 3)]).get_label())
        The query at 2 and the key at 0 are 2.00 rad apart, and their score is -0.42.
        The query at 5 and the key at 3 are 2.00 rad apart, and their score is -0.42.
    """
    message, clocks = [], []
    for at in positions:
        hands = rotate(torch.stack([query, key]), torch.tensor(at), base)
        angle, start = (math.atan2(y, x) for x, y in hands.tolist())
        way, score = math.remainder(angle - start, 2 * math.pi), number(float(hands[0] @ hands[1]))
        names = [f"{role} at {p}" for role, p in zip(("query", "key"), at, strict=True)]
        message.append(
            f"The {names[0]} and the {names[1]} are {number(abs(way))} rad apart, "
            f"and their score is {score}"
        )
        clocks.append(partial(_clock, hands, names, (start, way), score))
    return show(
        lambda narrow: row(*(space(312 if narrow else 210, PANEL - 10, c) for c in clocks), gap=1),
        *message,
    )


def _clock(
    hands: Tensor,
    names: Sequence[str],
    arc: tuple[float, float],
    score: str,
    ax: Canvas,
    middle: Point,
) -> None:
    """Draw both hands on one face, the shorter angle from the key to the query, and the score."""
    x, top = middle[0], middle[1] - PANEL / 2 + 6
    y = top + 40 + FACE
    ax.say((x - 8, top + 14), names[0], "query", align="right", bold=True)
    ax.say((x + 8, top + 14), names[1], "key", align="left", bold=True)
    ax.node((x, y), "", "residual", radius=FACE)
    angles = arc[0] + arc[1] * np.linspace(0, 1, 40)
    points = [(x + 0.42 * FACE * np.cos(a), y - 0.42 * FACE * np.sin(a)) for a in angles]
    ax.line(points, "ink", width=BOLD_LINE)
    at = (x + 0.66 * FACE * np.cos(angles[20]), y - 0.66 * FACE * np.sin(angles[20]))
    ax.note(at, number(abs(arc[1])))
    longest = float(hands.norm(dim=1).max())
    for hand, role in zip(hands.flip(0), ("key", "query"), strict=True):
        along = (hand / longest * (FACE - 5)).tolist()
        tip = (x + along[0], y - along[1])
        ax.line([(x, y), tip], role, width=BOLD_LINE + 0.6)
        ax.disc(tip, 5, role)
    ax.box((x, y + FACE + 24), (112, 26), "weights", f"score {score}")
