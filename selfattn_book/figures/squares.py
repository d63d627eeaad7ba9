"""Square sequences, one panel a square."""

from collections.abc import Sequence
from typing import Any, cast

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
    """Draw each square sequence in a panel: its corners, numbered in their order.

    The first two corners, the source, are filled, and the others are hollow.
    Predicted corners are crosses.

    Args:
        points: ``(N, 4, 2)``.
        predicted: ``(N, 2, 2)``, predictions of the third and fourth corner.
        columns: number of panels in a row.
        names: one a panel; numbers from 1 by default.
        title: above the panels; also begins the text alternative.

    Returns:
        The axes, one a square.

    Example:
        >>> corners = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]])
        >>> (ax,) = squares_grid(corners[None], corners[None, 2:] * 0.9, title="One square")
        >>> ax.get_label()
        'One square. 1: corners (-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0);
        predicted (0.9, 0.9), (0.9, -0.9).'
    """
    walks = as_array(points)
    ends = [None] * len(walks) if predicted is None else as_array(predicted)
    names = line_names(names or [str(i + 1) for i in range(len(walks))], len(walks))
    columns = min(columns, len(walks))
    rows = -(-len(walks) // columns)
    axes = grid(rows, columns, width=1.7, height=1.85, sharex=True, sharey=True)
    for ax in axes:
        ax.set_axis_off()
    cast("DescribedFigure", axes[0].figure).suptitle(title)
    for ax, *square in zip(axes, names, walks, ends, strict=False):
        _draw_square(ax, *square)
    axes[0].set_label(sentences(title, str(axes[0].get_label()).rstrip(".")))
    return axes[: len(walks)]


def _draw_square(ax: Axes, name: str, walk: np.ndarray, predicted: np.ndarray | None) -> None:
    ax.plot(*walk.T, color=GREY, linewidth=0.8)
    ax.plot(*walk[:2].T, "o", color=BLUE, markersize=6)
    ax.plot(*walk[2:].T, "o", color=BLUE, markersize=6, fillstyle="none")
    for number, corner in enumerate(walk, 1):
        x, y = 9 * np.sign(corner)
        look: Any = {"textcoords": "offset points", "ha": "center", "va": "center"}
        ax.annotate(str(number), corner, xytext=(x, y), **look)
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
