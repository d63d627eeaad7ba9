"""Pictures of vectors in the plane, and of angles: each says in words what it drew."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from selfattn_book.draw.style import (
    BLUE,
    GREY,
    NOTE,
    ORANGE,
    DescribedFigure,
    as_array,
    as_matrix,
    as_vector,
    grid,
    in_book_style,
    line_names,
    panels,
    sentences,
)


@in_book_style
def vectors(
    points: Tensor | np.ndarray,
    names: Sequence[str],
    *,
    moved: Tensor | np.ndarray | None = None,
    hull: bool = False,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw vectors in the plane as named points, and where they move to.

    Args:
        points: ``(N, 2)``.
        names: one a point.
        moved: ``(N, 2)``, the end of an arrow from each point.
        hull: shade the smallest convex region that holds the points.
        title: above the picture; also begins the text alternative.
        ax: where to draw; a new figure when left out.

    Example:
        >>> ax = vectors(np.array([[1.0, 0.0]]), ["word"], title="One word")
        >>> ax.get_label()
        'One word. Points in the plane. word at (1.00, 0.00).'
        >>> ax.get_title(), len(ax.figure.axes)
        ('One word', 1)
        >>> points = np.array([[1, 2], [5, 2], [5, 5], [1, 5], [3, 2], [2, 3], [3, 4]])
        >>> ax = vectors(points, list("abcdefg"), moved=points + 1, hull=True)
        >>> ax.patches[0].get_xy()   # the hull has four corners; the others lie inside
        array([[1., 2.],
               [5., 2.],
               [5., 5.],
               [1., 5.],
               [1., 2.]])
        >>> across, up, before, after = ax.lines   # the two axes, then the points
        >>> across.get_ydata(), up.get_xdata(), ax.get_aspect()
        ([0, 0], [0, 0], 1.0)
        >>> np.array_equal(before.get_xydata(), points)
        True
        >>> np.array_equal(after.get_xydata(), points + 1)
        True
        >>> names = [text for text in ax.texts if text.get_text()]   # the others are arrows
        >>> len(ax.texts), " ".join(f"{name.get_text()} {name.get_ha()}" for name in names)
        (14, 'a right b left c left d right e left f right g left')
        >>> print(ax.get_label())
        Points in the plane. a at (1.00, 2.00) moves to (2.00, 3.00).
        b at (5.00, 2.00) moves to (6.00, 3.00). ...
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['before', 'after']
        >>> bare = vectors(points, list("abcdefg"))
        >>> len(bare.patches), vectors(points, list("gfedcba"), ax=bare) is bare
        (0, True)
    """
    start = as_matrix(points)
    names = line_names(names, len(start))
    ax = panels(1, width=6.2, height=3.6)[0] if ax is None else ax
    if hull:
        ax.fill(*_hull(start).T, color=BLUE, alpha=0.10, linewidth=0)
    _axes_through_origin(ax)
    ax.plot(*start.T, "o", color=BLUE, markersize=7, label="before")
    message = [f"{name} at {_point(p)}" for name, p in zip(names, start, strict=True)]
    if moved is not None:
        end = _ends(moved, start)
        _arrows(ax, start, end)
        message = [f"{s} moves to {_point(p)}" for s, p in zip(message, end, strict=True)]
    _name_points(ax, start, names)
    ax.set_title(title)
    ax.set_label(sentences(title, "Points in the plane", *message))
    return ax


@in_book_style
def dials(
    angles: Tensor | np.ndarray, names: Sequence[str], *, title: str = "", rows: int = 1
) -> list[Axes]:
    """Draw one clock face an angle, with a hand that turns counter-clockwise from the right.

    Args:
        angles: ``(N,)``, in radians.
        names: one a dial.
        title: above the dials; also begins the text alternative.
        rows: in how many rows.

    Returns:
        The axes, one a dial.

    Example:
        >>> (ax,) = dials(np.array([0.0]), ["start"])
        >>> ax.get_label()
        'start: hand at (1.00, 0.00).'
        >>> len(ax.figure.axes)
        1
        >>> axes = dials(np.arange(3) * np.pi / 2, ["east", "north", "west"], title="Turns", rows=2)
        >>> print(*[ax.get_label() for ax in axes])
        Turns. east: hand at (1.00, 0.00). north: hand at (0.00, 1.00). west: hand at (-1.00, 0.00).
        >>> north, empty = axes[1], axes[0].figure.axes[3]
        >>> north.get_title(), north.figure.get_suptitle(), empty.axison
        ('north', 'Turns', False)
        >>> [line.get_xydata().round(2).tolist() for line in north.lines]   # a hand and its tip
        [[[0.0, 0.0], [0.0, 1.0]], [[0.0, 1.0]]]
        >>> face = north.patches[0]
        >>> face.center, face.radius, face.get_fill(), north.axison, north.get_aspect()
        ((0, 0), 1.0, False, False, 1.0)
        >>> north.get_xlim() == north.get_ylim() == (-1.15, 1.15)
        True
    """
    turns = as_vector("angles", angles)
    names = line_names(names, len(turns))
    columns = -(-len(turns) // rows)
    axes = grid(rows, columns, width=1.1, height=1.35)
    for ax, angle, name in zip(axes, turns, names, strict=False):
        _draw_dial(ax, angle, name)
    for ax in axes[len(turns) :]:
        ax.set_axis_off()
    first = axes[0]
    figure = cast("DescribedFigure", first.figure)
    figure.suptitle(title)
    figure.together = True
    first.set_label(sentences(title, str(first.get_label()).rstrip(".")))
    return axes[: len(turns)]


def _draw_dial(ax: Axes, angle: float, name: str) -> None:
    ax.add_patch(Circle((0, 0), 1, fill=False, edgecolor=GREY))
    hand = np.array([np.cos(angle), np.sin(angle)])
    ax.plot([0, hand[0]], [0, hand[1]], color=BLUE, linewidth=2)
    ax.plot(*hand, "o", color=BLUE, markersize=4)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    ax.set_title(name, fontsize=NOTE)
    ax.set_label(f"{name}: hand at {_point(hand)}.")


def _ends(moved: Tensor | np.ndarray, start: np.ndarray) -> np.ndarray:
    end = as_array(moved)
    return end


def _point(p: np.ndarray) -> str:
    return f"({p[0]:.2f}, {p[1]:.2f})"


def _name_points(ax: Axes, points: np.ndarray, names: list[str]) -> None:
    """Write each name on the outer side of its point."""
    middle = points.mean(axis=0)[0]
    for name, point in zip(names, points, strict=True):
        offset, side = (9, "left") if point[0] >= middle else (-9, "right")
        style: Any = {"xytext": (offset, 0), "textcoords": "offset points"}
        ax.annotate(name, point, ha=side, va="center", **style)


def _axes_through_origin(ax: Axes) -> None:
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.axvline(0, color=GREY, linewidth=0.6)
    ax.set_aspect("equal")
    ax.margins(x=0.32, y=0.22)


def _arrows(ax: Axes, start: np.ndarray, end: np.ndarray) -> None:
    ax.plot(*end.T, "s", color=ORANGE, markersize=6, label="after")
    for tail, head in zip(start, end, strict=True):
        style = {"arrowstyle": "->", "color": ORANGE, "shrinkA": 5, "shrinkB": 5}
        ax.annotate("", head, xytext=tail, arrowprops=style)
    ax.legend(frameon=False, loc="upper left")


def _hull(points: np.ndarray) -> np.ndarray:
    """Walk around the points, and keep those at which the walk turns left (monotone chain)."""
    ordered = sorted(map(tuple, points))

    def half(walk: list[tuple[float, float]]) -> list[tuple[float, float]]:
        kept: list[tuple[float, float]] = []
        for p in walk:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], p) <= 0:
                kept.pop()
            kept.append(p)
        return kept[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
