"""Vectors in the plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.tri import Triangulation

from selfattn_book.draw.style import (
    BLUE,
    GREY,
    ORANGE,
    Numbers,
    as_array,
    book_style,
    panels,
    sentences,
)


@book_style
def vectors(
    points: Numbers,
    names: Sequence[str],
    *,
    moved: Numbers | None = None,
    hull: bool = False,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw vectors in the plane, ``(N, 2)``, as named points, and where they move to.

    ``hull`` shades the smallest convex region that holds the points, which are not on one line.

    Example:
        >>> points = np.array([[1, 2], [5, 2]])
        >>> print(vectors(points, ["a", "b"], moved=points + 1, title="Two words").get_label())
        Two words. Points in the plane. a at (1.00, 2.00) moves to (2.00, 3.00).
        b at (5.00, 2.00) moves to (6.00, 3.00).
    """
    start = as_array(points)
    ax = panels(1, width=6.2, height=3.6)[0] if ax is None else ax
    if hull:
        ax.fill(*_hull(start).T, color=BLUE, alpha=0.10, linewidth=0)
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.axvline(0, color=GREY, linewidth=0.6)
    ax.set_aspect("equal")
    ax.margins(x=0.32, y=0.22)
    ax.plot(*start.T, "o", color=BLUE, markersize=7, label="before")
    message = [f"{name} at {_point(p)}" for name, p in zip(names, start, strict=True)]
    if moved is not None:
        end = as_array(moved)
        ax.plot(*end.T, "s", color=ORANGE, markersize=6, label="after")
        for tail, head in zip(start, end, strict=True):
            arrow = {"arrowstyle": "->", "color": ORANGE, "shrinkA": 5, "shrinkB": 5}
            ax.annotate("", head, xytext=tail, arrowprops=arrow)
        ax.legend(frameon=False, loc="upper left")
        message = [f"{s} moves to {_point(p)}" for s, p in zip(message, end, strict=True)]
    for name, point in zip(names, start, strict=True):  # on the outer side
        offset, side = (9, "left") if point[0] >= start[:, 0].mean() else (-9, "right")
        look: Any = {"xytext": (offset, 0), "textcoords": "offset points", "ha": side}
        ax.annotate(name, point, va="center", **look)
    ax.set_title(title)
    ax.set_label(sentences(title, "Points in the plane", *message))
    return ax


def _point(p: np.ndarray) -> str:
    return f"({p[0]:.2f}, {p[1]:.2f})"


def _hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull, counterclockwise."""
    around = Triangulation(*points.T)
    corners = points[around.triangles[around.neighbors < 0]]  # where a side has no neighbor
    across, up = (corners - corners.mean(axis=0)).T
    return corners[np.arctan2(up, across).argsort()]
