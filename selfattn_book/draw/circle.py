"""LayerNorm of three numbers, seen along (1, 1, 1): every point moves to one circle."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from selfattn_book.draw.canvas import (
    Point,
    box,
    canvas,
    disc,
    for_desk_and_phone,
    line,
    number,
    say,
    tell,
    wire,
)
from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import POINT, SMALL
from selfattn_book.draw.style import line_names

ACROSS = np.array([1.0, -1.0, 0.0]) / np.sqrt(
    2
)  # the plane that (1, 1, 1) stands on
UP = np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
ROOM = 26  # pixels around the outermost point


def norm_circle(x: Tensor, normed: Tensor, names: Sequence[str]) -> Axes:
    r"""Draw where a norm moves points of three numbers, looked at along (1, 1, 1).

    In this view two points that differ by one number, added to all entries, are one; and the norm's
    outputs lie on a circle:

    .. math:: \lVert \operatorname{LayerNorm}(x) \rVert = \sqrt 3

    Args:
        x: ``(N, 3)``; N is 1 to 9.
        normed: ``(N, 3)``, what the norm makes of it.
        names: one per point.

    Returns:
        The axes.

    Raises:
        ValueError: there are no points or too many, they do not have three numbers, the outputs have
            another shape or do not lie on the circle, or there are not as many names as points.

    Example:
        >>> import torch
        >>> x = torch.tensor([[3.0, 1.0, -4.0], [0.5, 0.0, -0.5]])
        >>> normed = torch.nn.functional.layer_norm(x, (3,))
        >>> print(norm_circle(x, normed, ["far", "near"]).get_label())
        Points of three numbers, seen along (1, 1, 1), and a circle of radius 1.73 around the middle.
        far moves in, from distance 5.10. near moves out, from distance 0.71.
        >>> norm_circle(x, 2 * normed, ["far", "near"])
        Traceback (most recent call last):
        ValueError: what is normed must lie at distance √3 from the middle; got distances 3.46 to 3.46
        >>> norm_circle(x[:, :2], normed, ["far", "near"])
        Traceback (most recent call last):
        ValueError: x and normed must have shape (N, 3), with N from 1 to 9; got (2, 2) and (2, 3)
    """
    if (
        x.shape != normed.shape
        or x.dim() != 2
        or x.size(1) != 3
        or not 1 <= len(x) <= 9
    ):
        rule = "x and normed must have shape (N, 3), with N from 1 to 9"
        raise ValueError(f"{rule}; got {tuple(x.shape)} and {tuple(normed.shape)}")
    names = line_names(names, len(x))
    plane = np.stack([ACROSS, UP], axis=1)
    before, after = (y.detach().cpu().double().numpy() @ plane for y in (x, normed))
    far, ends = np.hypot(*before.T), np.hypot(*after.T)
    if np.abs(ends - np.sqrt(3)).max() > 0.02:
        rule = "what is normed must lie at distance √3 from the middle"
        found = f"{number(ends.min())} to {number(ends.max())}"
        raise ValueError(f"{rule}; got distances {found}")
    told = [
        f"{name} moves {'in' if away > end else 'out'}, from distance {number(away)}"
        for name, away, end in zip(names, far, ends, strict=True)
    ]
    seen = "Points of three numbers, seen along (1, 1, 1)"
    opening = (
        f"{seen}, and a circle of radius {number(np.sqrt(3))} around the middle"
    )

    def draw(width: float) -> Axes:
        return tell(_draw(width, before, after, names), opening, *told)

    return for_desk_and_phone(draw)


def _draw(
    width: float, before: np.ndarray, after: np.ndarray, names: Sequence[str]
) -> Axes:
    largest = np.abs(np.vstack([before, after])).max(axis=0)
    unit = min((width / 2 - ROOM) / largest[0], 52 if width > NARROW else 40)
    high = 2 * (unit * max(largest[1], np.sqrt(3)) + ROOM)
    ax = canvas(width, high + 40)
    middle = (width / 2, high / 2)
    look = {"facecolor": "none", "edgecolor": light("muted"), "zorder": 1}
    ax.add_patch(Circle(middle, unit * np.sqrt(3), linewidth=1.6 / POINT, **look))
    _radius(ax, middle, unit, after)
    for name, start, end in zip(names, before, after, strict=True):
        _point(ax, name, *(_place(p, middle, unit) for p in (start, end)))
    y = high + 22
    disc(ax, (middle[0] - 104, y), 5, "ink")
    say(ax, (middle[0] - 94, y), "before the norm", align="left", size=SMALL)
    box(ax, (middle[0] + 40, y), (9, 9), order=4)
    say(ax, (middle[0] + 50, y), "after it", align="left", size=SMALL)
    return ax


def _place(point: np.ndarray, middle: Point, unit: float) -> Point:
    return middle[0] + unit * float(point[0]), middle[1] - unit * float(point[1])


def _radius(ax: Axes, middle: Point, unit: float, after: np.ndarray) -> None:
    """Draw the radius where it is furthest from all points."""
    turns = np.arange(0, 2 * np.pi, np.pi / 36)
    taken = np.arctan2(after[:, 1], after[:, 0])
    apart = np.abs((turns[:, None] - taken + np.pi) % (2 * np.pi) - np.pi).min(
        axis=1
    )
    turn = turns[apart.argmax()]
    way = np.array([np.cos(turn), -np.sin(turn)])
    tip = np.array(middle) + unit * np.sqrt(3) * way
    line(ax, [middle, (tip[0], tip[1])], "muted", dashed=True)
    beside = (
        np.array(middle)
        + 0.55 * unit * np.sqrt(3) * way
        + 13 * np.array([-way[1], way[0]])
    )
    say(ax, (beside[0], beside[1]), "√3", "muted")
    disc(ax, middle, 2.5, "muted")


def _point(ax: Axes, name: str, start: Point, end: Point) -> None:
    """Draw the way of a point, and write its name where it comes from."""
    way = np.subtract(end, start)
    step = way / max(float(np.hypot(*way)), 1e-9)
    if np.hypot(*way) > 14:
        tail = np.add(start, 6 * step)
        tip = np.subtract(end, 6 * step)
        wire(ax, [(tail[0], tail[1]), (tip[0], tip[1])], "muted")
    disc(ax, start, 5, "ink")
    box(ax, end, (9, 9), order=4)
    behind = np.subtract(start, 14 * step)
    say(ax, (behind[0], behind[1]), name, bold=True)
