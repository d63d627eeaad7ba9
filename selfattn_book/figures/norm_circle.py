"""LayerNorm of three numbers, seen along (1, 1, 1): every point moves to one circle."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.patches import Circle
from torch import Tensor

from selfattn_book.draw.canvas import (
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import POINT
from selfattn_book.draw.style import line_names

# Two directions of the plane that (1, 1, 1) stands on.
ACROSS = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
UP = np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
RADIUS = np.sqrt(3)  # of the circle that the outputs of a norm lie on
ROOM = 26  # pixels around the outermost point


def norm_circle(x: Tensor, normed: Tensor, names: Sequence[str]) -> Canvas:
    r"""Draw where a norm moves points of three numbers, looked at along (1, 1, 1).

    In this view two points that differ by one number, added to all entries, are one; and the norm's
    outputs lie on a circle:

    .. math:: \lVert \operatorname{LayerNorm}(x) \rVert = \sqrt 3

    Args:
        x: ``(N, 3)``; N is 1 to 9.
        normed: ``(N, 3)``, what the norm makes of it.
        names: one per point.

    Example:
        >>> import torch
        >>> x = torch.tensor([[3.0, 1.0, -4.0], [0.5, 0.0, -0.5]])
        >>> normed = torch.nn.functional.layer_norm(x, (3,))
        >>> print(norm_circle(x, normed, ["far", "near"]).get_label())
        Points of three numbers, seen along (1, 1, 1), and a circle of radius 1.73 around the middle.
        far moves in, from distance 5.10. near moves out, from distance 0.71.
    """
    drawn = _project(x, normed, names)

    def draw(width: float) -> Canvas:
        return _draw(width, drawn).describe(*_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """What is drawn: the points before and after the norm, as one sees them along (1, 1, 1)."""

    before: np.ndarray
    after: np.ndarray
    names: list[str]


@dataclass
class _View:
    """How the plane lies on the sheet."""

    middle: Point
    unit: float  # pixels of a length of 1

    def place(self, point: np.ndarray) -> Point:
        """Return where a point of the plane lies on the sheet, whose y goes down."""
        across, up = self.unit * float(point[0]), self.unit * float(point[1])
        return self.middle[0] + across, self.middle[1] - up


def _project(x: Tensor, normed: Tensor, names: Sequence[str]) -> _Drawn:
    """Project the points along (1, 1, 1)."""
    names = line_names(names, len(x))
    plane = np.stack([ACROSS, UP], axis=1)
    before, after = (y.detach().cpu().double().numpy() @ plane for y in (x, normed))
    return _Drawn(before, after, names)


def _told(drawn: _Drawn) -> list[str]:
    """Say what is drawn."""
    far, ends = np.hypot(*drawn.before.T), np.hypot(*drawn.after.T)
    seen = "Points of three numbers, seen along (1, 1, 1)"
    return [
        f"{seen}, and a circle of radius {number(RADIUS)} around the middle",
        *(
            f"{name} moves {'in' if away > end else 'out'}, from distance {number(away)}"
            for name, away, end in zip(drawn.names, far, ends, strict=True)
        ),
    ]


def _draw(width: float, drawn: _Drawn) -> Canvas:
    largest = np.abs(np.vstack([drawn.before, drawn.after])).max(axis=0)
    unit = min((width / 2 - ROOM) / largest[0], 52 if width > NARROW else 40)
    high = 2 * (unit * max(largest[1], RADIUS) + ROOM)
    view = _View((width / 2, high / 2), unit)
    ax = canvas(width, high + 40)
    _circle(ax, view)
    _radius(ax, view, drawn.after)
    for name, start, end in zip(drawn.names, drawn.before, drawn.after, strict=True):
        _point(ax, name, view.place(start), view.place(end))
    _legend(ax, width / 2, high + 22)
    return ax


def _circle(ax: Canvas, view: _View) -> None:
    look = {"facecolor": "none", "edgecolor": light("muted"), "zorder": 1}
    width = 1.6 / POINT
    ax.add_patch(Circle(view.middle, view.unit * RADIUS, linewidth=width, **look))


def _radius(ax: Canvas, view: _View, after: np.ndarray) -> None:
    """Draw the radius where it is furthest from all points."""
    turns = np.arange(0, 2 * np.pi, np.pi / 36)
    taken = np.arctan2(after[:, 1], after[:, 0])
    around = (turns[:, None] - taken + np.pi) % (2 * np.pi) - np.pi
    turn = turns[np.abs(around).min(axis=1).argmax()]
    way = np.array([np.cos(turn), -np.sin(turn)])
    tip = np.array(view.middle) + view.unit * RADIUS * way
    ax.line([view.middle, (tip[0], tip[1])], "muted", dashed=True)
    aside = 13 * np.array([-way[1], way[0]])
    beside = np.array(view.middle) + 0.55 * view.unit * RADIUS * way + aside
    ax.say((beside[0], beside[1]), "√3", "muted")
    ax.disc(view.middle, 2.5, "muted")


def _point(ax: Canvas, name: str, start: Point, end: Point) -> None:
    """Draw the way of a point, and write its name where it comes from."""
    way = np.subtract(end, start)
    step = way / max(float(np.hypot(*way)), 1e-9)
    if np.hypot(*way) > 14:
        tail = np.add(start, 6 * step)
        tip = np.subtract(end, 6 * step)
        ax.wire([(tail[0], tail[1]), (tip[0], tip[1])], "muted")
    ax.disc(start, 5, "ink")
    ax.box(end, (9, 9), order=4)
    behind = np.subtract(start, 14 * step)
    ax.say((behind[0], behind[1]), name, bold=True)


def _legend(ax: Canvas, middle: float, y: float) -> None:
    """Say which mark is which, below the points."""
    ax.disc((middle - 104, y), 5, "ink")
    ax.note((middle - 94, y), "before the norm", align="left")
    ax.box((middle + 40, y), (9, 9), order=4)
    ax.note((middle + 50, y), "after it", align="left")
