"""Pictures of many small panels: one a head, or one a square."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.figure import (
    BLUE,
    GREY,
    ORANGE,
    DescribedFigure,
    as_array,
    in_book_style,
    panels,
    sentences,
)
from selfattn_book.plotting import heatmap


@in_book_style
def attention_grid(
    weights: Tensor | np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    row_title: str = "",
    column_title: str = "",
    title: str = "",
) -> list[Axes]:
    """Draw the weights of each head as a heat map from 0 to 1, side by side.

    Args:
        weights: ``(H, T, S)``.
        rows: one name a query.
        columns: one name a key.
        row_title: what the queries are.
        column_title: what the keys are.
        title: begins the title of each panel.

    Returns:
        The axes, one a head.

    Raises:
        ValueError: the weights have not three axes, or there are not as many names as lines.

    Example:
        >>> left, right = attention_grid(np.full((2, 1, 2), 0.5), title="Even weights")
        >>> right.get_label()
        'Even weights, head 2. Heat map, 1 rows by 2 columns. 0: 0.50, 0.50.'
        >>> left.images[0].get_clim()   # the same shades for all heads
        (0.0, 1.0)
        >>> left, right = attention_grid(np.ones((2, 1, 1)), row_title="query", column_title="key")
        >>> [(ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) for ax in (left, right)]
        [('Head 1', 'query', 'key'), ('Head 2', '', 'key')]
        >>> attention_grid(np.ones((1, 1)))
        Traceback (most recent call last):
        ValueError: weights must have shape (H, T, S); got (1, 1)
    """
    array = as_array(weights)
    if array.ndim != 3 or len(array) == 0:
        raise ValueError(f"weights must have shape (H, T, S); got {array.shape}")
    axes = panels(len(array), width=2.9, height=2.6)
    for head, ax in enumerate(axes):
        name = f"head {head + 1}"
        heatmap(
            array[head],
            rows=rows,
            columns=columns,
            title=f"{title}, {name}" if title else name.capitalize(),
            limits=(0, 1),
            row_title=row_title if head == 0 else "",
            column_title=column_title,
            ax=ax,
        )
    return axes


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

    Raises:
        ValueError: the points or the predicted ones have another shape,
            or there are not as many names as squares.

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
        >>> squares_grid(corners)
        Traceback (most recent call last):
        ValueError: points must have shape (N, 4, 2); got (4, 2)
        >>> squares_grid(corners[None], corners[None])
        Traceback (most recent call last):
        ValueError: predicted must have shape (1, 2, 2); got (1, 4, 2)
        >>> squares_grid(corners[None], names=["a", "b"])
        Traceback (most recent call last):
        ValueError: there must be one name for each of 1; got 2
    """
    walks = _checked("points", points, (-1, 4, 2))
    ends = None
    if predicted is not None:
        ends = _checked("predicted", predicted, (len(walks), 2, 2))
    names = [str(i + 1) for i in range(len(walks))] if names is None else names
    if len(names) != len(walks):
        raise ValueError(
            f"there must be one name for each of {len(walks)}; got {len(names)}"
        )
    axes = _open_grid(len(walks), columns, title)
    for i, (ax, name) in enumerate(zip(axes, names, strict=True)):
        _draw_square(ax, name, walks[i], None if ends is None else ends[i])
    first = axes[0]
    first.set_label(sentences(title, str(first.get_label()).rstrip(".")))
    return axes


def _checked(
    name: str, values: Tensor | np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    array = as_array(values)
    fits = array.ndim == 3 and array.shape[1:] == shape[1:] and len(array) > 0
    if not fits or shape[0] not in (-1, len(array)):
        size = "N" if shape[0] == -1 else shape[0]
        raise ValueError(
            f"{name} must have shape ({size}, {shape[1]}, {shape[2]}); got {array.shape}"
        )
    return array


def _open_grid(count: int, columns: int, title: str) -> list[Axes]:
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = plt.figure(
        FigureClass=DescribedFigure, figsize=(1.7 * columns, 1.85 * rows)
    )
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    axes = list(grid.flat)
    for ax in axes:
        ax.set_axis_off()
    figure.suptitle(title)
    return axes[:count]


def _draw_square(
    ax: Axes, name: str, walk: np.ndarray, predicted: np.ndarray | None
) -> None:
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
            fontsize=9,
        )
    told = f"{name}: corners {_points(walk)}"
    if predicted is not None:
        ax.plot(*predicted.T, "x", color=ORANGE, markersize=7, markeredgewidth=2)
        told += f"; predicted {_points(predicted)}"
    ax.set_aspect("equal")
    ax.margins(0.25)
    ax.set_title(name, fontsize=9)
    ax.set_label(f"{told}.")


def _points(points: np.ndarray) -> str:
    return ", ".join(f"({x:.1f}, {y:.1f})" for x, y in points)
