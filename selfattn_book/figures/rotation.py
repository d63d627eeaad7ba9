"""A query and a key as hands of one clock, rotated by their positions."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, number
from selfattn_book.draw.scene import row, show, space
from selfattn_book.figures.position_clocks import hand, on_clock
from selfattn_book.rotary import rotate

PANEL, FACE = 222, 66  # pixels: how high a clock is drawn, and its radius
ROLES = ("query", "key")


def rotation(query: Tensor, key: Tensor, positions: Sequence[tuple[int, int]]) -> Canvas:
    """Draw a query and a key of two numbers, rotated by their positions, on a clock for each pair.

    See :func:`~selfattn_book.rotary.rotate`; one pair rotates by one radian a step.

    Example:
        >>> query, key = torch.tensor([1.0, 0.0]), torch.tensor([0.8, 0.6])
        >>> print(rotation(query, key, [(2, 0), (5, 3)]).get_label())
        The query at 2 and the key at 0 are 1.36 rad apart, and their score is 0.21.
        The query at 5 and the key at 3 are 1.36 rad apart, and their score is 0.21.
    """
    message, clocks = [], []
    for at in positions:
        hands = rotate(torch.stack([query, key]), torch.tensor(at), base=10000.0)
        names = [f"{role} at {p}" for role, p in zip(ROLES, at, strict=True)]
        end, start = (math.atan2(y, x) for x, y in hands.tolist())
        arc = start, math.remainder(end - start, 2 * math.pi)
        message.append(
            f"The {names[0]} and the {names[1]} are {number(abs(arc[1]))} rad apart, "
            f"and their score is {number(float(hands[0] @ hands[1]))}"
        )
        clocks.append(partial(_clock, hands, names, arc))
    return show(
        lambda narrow: row(*(space(312 if narrow else 210, PANEL - 10, c) for c in clocks), gap=1),
        *message,
    )


def _clock(
    hands: Tensor, names: Sequence[str], arc: tuple[float, float], ax: Canvas, middle: Point
) -> None:
    """Draw both hands on one face, the shorter angle from the key to the query, and the score."""
    (x, top), (start, way) = (middle[0], middle[1] - PANEL / 2 + 6), arc
    at = (x, top + 40 + FACE)
    ax.node(at, "", "residual", radius=FACE)
    points = [on_clock(at, 0.42 * FACE, start + way * part) for part in np.linspace(0, 1, 40)]
    ax.line(points, "ink", width=BOLD_LINE)
    ax.note(on_clock(at, 0.66 * FACE, start + 0.5 * way), number(abs(way)))
    longest = float(hands.norm(dim=1).max())
    angles, lengths = (start + way, start), hands.norm(dim=1) / longest * (FACE - 5)
    for i, (role, side, align) in enumerate(zip(ROLES, (-8, 8), ("right", "left"), strict=True)):
        ax.say((x + side, top + 14), names[i], role, align=align, bold=True)
        end = on_clock(at, float(lengths[i]), angles[i])
        hand(ax, at, end, role, tip=5, width=BOLD_LINE + 0.6)
    score = f"score {number(float(hands[0] @ hands[1]))}"
    ax.box((x, at[1] + FACE + 24), (112, 26), "weights", score)
