"""Pictures of matrices: each draws on an ``Axes``, and says in words what it drew."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Tensor

from selfattn_book.draw.canvas import number
from selfattn_book.draw.colors import on_shade, shades
from selfattn_book.draw.style import as_array, book_style, panels, sentences


@book_style
def heatmap(
    values: Tensor | np.ndarray,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
    digits: int | None = 2,
    limits: tuple[float, float] | None = None,
    row_title: str = "",
    column_title: str = "",
    verb: str = "sees",
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix as a grid of shades, with its numbers in the cells.

    Signed numbers have two colors, and zero the background's. A boolean matrix is drawn as a mask:
    filled where it is ``True``, empty elsewhere.

    Args:
        values: ``(T, S)``, numbers or booleans.
        rows: one name a row; numbers by default.
        columns: one name a column.
        title: title of the grid, which also begins the text alternative.
        digits: decimals of the numbers; ``None`` writes no numbers.
        limits: values of the palest and the deepest shade; the data's own by default.
        row_title: name of the rows.
        column_title: name of the columns.
        verb: relation of a row of a boolean matrix to the columns where it is ``True``.
        ax: axes; a new figure by default.

    Raises:
        ValueError: the values are no matrix.

    Example:
        >>> ax = heatmap(np.eye(2), rows=["a", "b"], columns=["one", "two"], title="Identity")
        >>> ax.get_label()
        'Identity. Heat map, 2 rows by 2 columns. a: 1.00, 0.00. b: 0.00, 1.00.'
        >>> heatmap(np.eye(2) > 0, verb="beats").get_label()
        'Table, 2 rows by 2 columns. 0 beats 0. 1 beats 1.'
    """
    array = as_array(values)
    if array.ndim != 2 or array.size == 0:
        rule = "values must be a matrix with a row and a column"
        raise ValueError(f"{rule}; got shape {array.shape}")
    rows, columns = (
        [str(i) for i in range(count)] if names is None else list(names)
        for names, count in zip((rows, columns), array.shape, strict=True)
    )
    ax = panels(1, width=4.2, height=3.6)[0] if ax is None else ax
    low, high = limits or _extent(array)
    y, x = (np.arange(length + 1) - 0.5 for length in array.shape)
    numbers, cmap = array.astype(float), shades(signed=low < 0)
    cells = ax.pcolormesh(x, y, numbers, cmap=cmap, vmin=low, vmax=high)
    ax.set(xlim=x[[0, -1]], ylim=y[[-1, 0]], aspect="equal")
    ax.set(title=title, xlabel=column_title, ylabel=row_title)
    _label_lines(ax, rows, columns)
    texts = _texts(array, digits)
    grounds = cells.to_rgba(numbers)
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            ax.text(j, i, text, ha="center", va="center", color=on_shade(to_hex(grounds[i, j])))
    ax.set_label(sentences(title, *_describe_matrix(array, rows, columns, texts, verb)))
    return ax


@book_style
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

    Weights are ``(H, T, S)``; queries and keys have names and titles as in ``heatmap``. The title begins
    the title of each panel.

    Example:
        >>> left, right = attention_grid(np.full((2, 1, 2), 0.5), title="Even weights")
        >>> right.get_label()
        'Even weights, head 2. Heat map, 1 rows by 2 columns. 0: 0.50, 0.50.'
    """
    array = as_array(weights)
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


def _label_lines(ax: Axes, rows: list[str], columns: list[str]) -> None:
    """Name the rows and columns; of many, only as many as can be read."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    for axis, names in ((ax.yaxis, rows), (ax.xaxis, columns)):
        step = 1 if len(names) <= 16 else -(-len(names) // 8)
        axis.set_ticks(range(0, len(names), step), names[::step])
    if max(map(len, columns), default=0) > 3:
        ax.tick_params(axis="x", labelrotation=30, labelrotation_mode="xtick")


def _texts(array: np.ndarray, digits: int | None) -> list[list[str]]:
    """Write a tick for true, a dot for false, and a number unless it is missing.

    >>> _texts(np.array([[-0.004, -0.006, np.nan]]), 2), _texts(np.array([[True, False]]), 2)
    ([['0.00', '-0.01', '']], [['✓', '·']])
    """
    if array.dtype == bool:
        return [["✓" if value else "·" for value in row] for row in array]
    if digits is None:
        return []
    return [["" if np.isnan(v) else number(v, digits) for v in row] for row in array]


def _extent(array: np.ndarray) -> tuple[float, float]:
    """Return the values of the palest and the deepest shade; signed numbers are symmetric."""
    if array.dtype == bool:
        return 0.0, 1.25
    low, high = float(np.nanmin(array)), float(np.nanmax(array))
    return (low, high) if low >= 0 else (-max(-low, high), max(-low, high))


def _describe_matrix(
    array: np.ndarray, rows: list[str], columns: list[str], texts: list[list[str]], verb: str
) -> list[str]:
    kind = "Heat map"
    if array.dtype == bool:
        kind = "Mask" if verb == "sees" else "Table"
        seen = [", ".join(np.compress(row, columns)) or "none" for row in array]
        message = [f"{name} {verb} {which}" for name, which in zip(rows, seen, strict=True)]
    elif texts and array.size <= 36:
        lines_read = [", ".join(text or "none" for text in line) for line in texts]
        message = [f"{name}: {line}" for name, line in zip(rows, lines_read, strict=True)]
    else:
        message = [f"Values from {np.nanmin(array):.2f} to {np.nanmax(array):.2f}"]
    return [f"{kind}, {array.shape[0]} rows by {array.shape[1]} columns", *message]
