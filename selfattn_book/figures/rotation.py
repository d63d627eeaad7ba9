"""A query and a key as hands of one clock, rotated by their positions."""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, number
from selfattn_book.draw.live import begin, live
from selfattn_book.draw.scene import row, show, space
from selfattn_book.figures.position_clocks import hand, on_clock
from selfattn_book.rotary import rotate

PANEL, FACE = 222, 66  # pixels: how high a clock is drawn, and its radius
ROLES = ("query", "key")


def rotation(
    query: Tensor,
    key: Tensor,
    positions: tuple[int, int],
    shift: int,
    *,
    pair: int = 0,
    base: float = 10000.0,
    dimension: int = 16,
) -> Canvas:
    """Draw a pair of entries of a query and a key, rotated by their positions, on three clocks.

    On the second clock both are ``shift`` positions later, and on the third the query alone. See
    :func:`~selfattn_book.rotary.rotate`; pair 0 of any dimension rotates by one radian a position.

    Example:
        >>> one = torch.tensor([1.0, 0.0])
        >>> print(rotation(one, one, (2, 0), 3).get_label())
        The query at 2 and the key at 0 are 2.00 rad apart, and their score is -0.42.
        The query at 5 and the key at 3 are 2.00 rad apart, and their score is -0.42.
        The query at 5 and the key at 0 are 1.28 rad apart, and their score is 0.28.
    """
    (p, s), message, clocks = positions, [], []
    frequency = base ** (-2 * pair / dimension)
    for i, at in enumerate([(p, s), (p + shift, s + shift), (p + shift, s)]):
        vectors, angles = torch.stack([query, key]).double(), frequency * torch.tensor(at).double()
        hands = rotate(vectors, angles)
        end, start = (math.atan2(y, x) for x, y in hands.tolist())
        arc = [start, math.remainder(end - start, 2 * math.pi)]
        score = number(float(hands[0] @ hands[1]))
        message.append(
            f"The query at {at[0]} and the key at {at[1]} are {number(abs(arc[1]))} rad apart, "
            f"and their score is {score}"
        )
        value = {"at": at, "arc": arc, "lengths": hands.norm(dim=1).tolist(), "score": score}
        clocks.append(partial(_face, f"clock{i}", value))
    ax = show(
        lambda narrow: row(*(space(312 if narrow else 210, PANEL - 10, c) for c in clocks), gap=1),
        *message,
    )
    state = {"query": query, "key": key, "positions": positions, "shift": shift}
    return begin(ax, "rope", **state, pair=pair, base=math.log10(base), dimension=dimension)


def _face(name: str, value: dict[str, Any], ax: Canvas, middle: Point) -> None:
    """Draw a clock without hands, and its hands for a live figure."""
    ax.node((middle[0], middle[1] - PANEL / 2 + 46 + FACE), "", "residual", radius=FACE)
    live(ax, _clock, name, value, at=middle, high=PANEL, face=FACE)


def _clock(ax: Canvas, value: dict[str, Any], at: Point, high: float, face: float) -> None:
    """Draw both hands, the shorter angle from the key to the query, and the score."""
    (x, top), (start, way) = (at[0], at[1] - high / 2 + 6), value["arc"]
    middle = (x, top + 40 + face)
    points = [on_clock(middle, 0.42 * face, start + way * part) for part in np.linspace(0, 1, 40)]
    ax.line(points, "ink", width=BOLD_LINE)
    ax.note(on_clock(middle, 0.66 * face, start + 0.5 * way), number(abs(way)))
    longest = max(*value["lengths"], 1e-9)
    sides, angles = ((-8, "right"), (8, "left")), (start + way, start)
    for i, (role, (side, align)) in enumerate(zip(ROLES, sides, strict=True)):
        text = f"{role} at {value['at'][i]}"
        ax.say((x + side, top + 14), text, role, align=align, bold=True)
        end = on_clock(middle, value["lengths"][i] / longest * (face - 5), angles[i])
        hand(ax, middle, end, role, tip=5, width=BOLD_LINE + 0.6)
    ax.box((x, middle[1] + face + 24), (112, 26), "weights", f"score {value['score']}")
