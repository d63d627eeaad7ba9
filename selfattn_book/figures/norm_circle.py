"""LayerNorm of three numbers, seen along (1, 1, 1): every point moves to one circle."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_array

# Two directions of the plane that is orthogonal to (1, 1, 1).
PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]).T / np.sqrt([2.0, 6.0])
RADIUS = np.sqrt(3)  # of the circle of the outputs of a norm
ROOM = 26  # pixels around the outermost point


def norm_circle(x: Tensor, normed: Tensor, names: Sequence[str]) -> Canvas:
    """Draw where a norm moves points of three numbers, ``(N, 3)``, seen along (1, 1, 1).

    In this view two points that differ by one number, added to all entries, are one; and the norm's
    outputs are on a circle of radius √3.

    Example:
        >>> import torch
        >>> x = torch.tensor([[3.0, 1.0, -4.0], [0.5, 0.0, -0.5]])
        >>> normed = torch.nn.functional.layer_norm(x, (3,))
        >>> print(norm_circle(x, normed, ["far", "near"]).get_label())
        Points of three numbers, seen along (1, 1, 1), and a circle of radius 1.73 around the middle.
        far moves in, from distance 5.10. near moves out, from distance 0.71.
    """
    before, after = (as_array(y).astype(float) @ PLANE for y in (x, normed))
    far, ends = np.hypot(*before.T), np.hypot(*after.T)
    message = [
        f"{name} moves {'in' if away > end else 'out'}, from distance {number(away)}"
        for name, away, end in zip(names, far, ends, strict=True)
    ]
    seen = "Points of three numbers, seen along (1, 1, 1)"
    largest = np.abs(np.vstack([before, after])).max(axis=0)

    def draw(width: float) -> Canvas:
        unit = min((width / 2 - ROOM) / largest[0], 52 if width > NARROW else 40)
        high = 2 * (unit * max(largest[1], RADIUS) + ROOM)
        ax, middle = canvas(width, high + 40), np.array([width / 2, high / 2])
        ax.ring(_at(middle), unit * RADIUS, "muted", order=1)
        _radius(ax, middle, unit * RADIUS, after)
        for name, *ends in zip(names, before, after, strict=True):
            _point(ax, name, *(middle + unit * end * [1, -1] for end in ends))
        y = high + 22
        ax.disc((width / 2 - 104, y), 5, "ink")
        ax.note((width / 2 - 94, y), "before the norm", align="left")
        ax.box((width / 2 + 40, y), (9, 9), order=4)
        ax.note((width / 2 + 50, y), "after it", align="left")
        opening = f"{seen}, and a circle of radius {number(RADIUS)} around the middle"
        return ax.describe(opening, *message)

    return both_widths(draw)


def _radius(ax: Canvas, middle: np.ndarray, length: float, after: np.ndarray) -> None:
    """Draw the radius where it is furthest from all points."""
    angles = np.arange(0, 2 * np.pi, np.pi / 36)
    around = (angles[:, None] - np.arctan2(*after.T[::-1]) + np.pi) % (2 * np.pi) - np.pi
    angle = angles[np.abs(around).min(axis=1).argmax()]
    way, aside = np.array([np.cos(angle), -np.sin(angle)]), np.array([np.sin(angle), np.cos(angle)])
    ax.line([_at(middle), _at(middle + length * way)], "muted", dashed=True)
    ax.say(_at(middle + 0.55 * length * way + 13 * aside), "√3", "muted")
    ax.disc(_at(middle), 2.5, "muted")


def _point(ax: Canvas, name: str, start: np.ndarray, end: np.ndarray) -> None:
    """Draw where a point moves, and write its name where it comes from."""
    distance = float(np.hypot(*(end - start)))
    step = (end - start) / max(distance, 1e-9)
    if distance > 14:
        ax.wire([_at(start + 6 * step), _at(end - 6 * step)], "muted")
    ax.disc(_at(start), 5, "ink")
    ax.box(_at(end), (9, 9), order=4)
    ax.say(_at(start - 14 * step), name, bold=True)


def _at(point: np.ndarray) -> Point:
    return float(point[0]), float(point[1])
