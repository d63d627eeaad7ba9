"""Pictures of square sequences, one panel a square."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.style import (
    BLUE,
    GREY,
    NOTE,
    ORANGE,
    DescribedFigure,
    as_array,
    grid,
    in_book_style,
    line_names,
    sentences,
)


@in_book_style
def squares_grid(
    points: Tensor | np.ndarray,
    predicted: Tensor | np.ndarray | None = None,
    *,
    columns: int = 5,
    names: Sequence[str] | None = None,
    title: str = "",
) -> list[Axes]:
    """Draw each square sequence in a panel: its corners, numbered in the order of the walk.

    The first two corners are filled, for they are the source, and the others are hollow.
    Predicted corners are crosses.

    Args:
        points: ``(N, 4, 2)``.
        predicted: ``(N, 2, 2)``, what a model says of the third and fourth corner.
        columns: how many panels in a row.
        names: one a panel; numbers from 1 when left out.
        title: above the panels; also begins the text alternative.

    Returns:
        The axes, one a square.

    Example:
        >>> corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
        >>> (ax,) = squares_grid(corners[None], corners[None, 2:] * 0.9, title="One square")
        >>> ax.get_label()
        'One square. 1: corners (-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0);
        predicted (0.9, 0.9), (0.9, -0.9).'
        >>> ax.get_title(), ax.figure.get_suptitle(), ax.get_aspect(), ax.axison
        ('1', 'One square', 1.0, False)
        >>> [text.get_text() for text in ax.texts], np.array_equal(ax.texts[3].xy, corners[3])
        (['1', '2', '3', '4'], True)
        >>> for line in ax.lines:   # the walk, the source, the target, what is predicted
        ...     print(line.get_marker(), line.get_fillstyle(), line.get_xydata().tolist())
        None full [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]
        o full [[-1.0, -1.0], [-1.0, 1.0]]
        o none [[1.0, 1.0], [1.0, -1.0]]
        x full [[0.9, 0.9], [0.9, -0.9]]
        >>> axes = squares_grid(np.stack([corners] * 7), names=list("abcdefg"))
        >>> len(axes[0].lines), [ax.get_title() for ax in axes]
        (3, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
        >>> axes[0].get_subplotspec().get_gridspec().get_geometry(), axes[0].figure.axes[9].axison
        ((2, 5), False)
    """
    walks = as_array(points)
    ends = None if predicted is None else as_array(predicted)
    names = [str(i + 1) for i in range(len(walks))] if names is None else names
    names = line_names(names, len(walks))
    axes = _open_grid(len(walks), columns, title)
    for i, (ax, name) in enumerate(zip(axes, names, strict=True)):
        _draw_square(ax, name, walks[i], None if ends is None else ends[i])
    first = axes[0]
    first.set_label(sentences(title, str(first.get_label()).rstrip(".")))
    return axes


def _open_grid(count: int, columns: int, title: str) -> list[Axes]:
    columns = min(columns, count)
    rows = -(-count // columns)
    axes = grid(rows, columns, width=1.7, height=1.85, sharex=True, sharey=True)
    for ax in axes:
        ax.set_axis_off()
    cast("DescribedFigure", axes[0].figure).suptitle(title)
    return axes[:count]


def _draw_square(ax: Axes, name: str, walk: np.ndarray, predicted: np.ndarray | None) -> None:
    ax.plot(*walk.T, color=GREY, linewidth=0.8)
    ax.plot(*walk[:2].T, "o", color=BLUE, markersize=6)
    ax.plot(*walk[2:].T, "o", color=BLUE, markersize=6, fillstyle="none")
    for number, corner in enumerate(walk, 1):
        ax.annotate(
            str(number),
            corner,
            xytext=tuple(9 * np.sign(corner)),
            textcoords="offset points",
            ha="center",
            va="center",
        )
    message = f"{name}: corners {_points(walk)}"
    if predicted is not None:
        ax.plot(*predicted.T, "x", color=ORANGE, markersize=7, markeredgewidth=2)
        message += f"; predicted {_points(predicted)}"
    ax.set_aspect("equal")
    ax.margins(0.25)
    ax.set_title(name, fontsize=NOTE)
    ax.set_label(f"{message}.")


def _points(points: np.ndarray) -> str:
    return ", ".join(f"({x:.1f}, {y:.1f})" for x, y in points)
