"""Pictures of matrices: each draws on an ``Axes``, and says in words what it drew."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from torch import Tensor

from selfattn_book.draw.colors import on_shade, shades
from selfattn_book.draw.style import (
    as_array,
    as_matrix,
    in_book_style,
    line_names,
    panels,
    sentences,
)


@in_book_style
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

    Numbers with signs are drawn in two colours, and zero as the ground.
    A boolean matrix is drawn as a mask: filled where it is ``True``, empty elsewhere.

    Args:
        values: ``(T, S)``, numbers or booleans.
        rows: one name a row.
        columns: one name a column.
        title: above the grid; also begins the text alternative.
        digits: how many to write in each cell; ``None`` writes no numbers.
        limits: values of the palest and the deepest shade; the data's own when left out.
        row_title: what the rows are.
        column_title: what the columns are.
        verb: what a row of a boolean matrix does to the columns where it is ``True``.
        ax: where to draw; a new figure when left out.

    Returns:
        The axes.

    Raises:
        ValueError: the values are no matrix, or there are not as many names as lines.

    Example:
        >>> ax = heatmap(np.eye(2), rows=["a", "b"], columns=["one", "two"], title="Identity")
        >>> ax.get_label()
        'Identity. Heat map, 2 rows by 2 columns. a: 1.00, 0.00. b: 0.00, 1.00.'
        >>> ax.get_title(), [name.get_text() for name in ax.get_yticklabels()]
        ('Identity', ['a', 'b'])
        >>> ax.get_xticklabels()[0].get_rotation(), ax.spines["left"].get_visible()
        (0.0, False)
        >>> [text.get_text() for text in ax.texts] == ["1.00", "0.00", "0.00", "1.00"]
        True
        >>> [text.get_position() for text in ax.texts]
        [(0, 0), (1, 0), (0, 1), (1, 1)]
        >>> scores = np.array([[5.0, np.nan, 4.0], [1.0, 3.3, 3.0]])   # one is missing
        >>> ax = heatmap(scores, digits=0, row_title="query", column_title="key")
        >>> ax.get_label(), ax.get_ylabel(), ax.get_xlabel(), ax.collections[0].get_clim()
        ('Heat map, 2 rows by 3 columns. 0: 5, none, 4. 1: 1, 3, 3.', 'query', 'key', (1.0, 5.0))
        >>> [text.get_color() for text in ax.texts][:3]   # one that can be read on its cell
        ['#ffffff', '#000000', '#ffffff']
        >>> heatmap(np.array([[-0.001]]), ax=ax) is ax, ax.texts[-1].get_text()[0]   # no sign
        (True, '0')
        >>> ax = heatmap(scores > 4.5)
        >>> ax.get_label(), [text.get_text() for text in ax.texts], ax.collections[0].get_clim()
        ('Mask, 2 rows by 3 columns. 0 sees 0. 1 sees none.', ['✓', '·', '·', '·', '·', '·'],
        (0.0, 1.25))
        >>> heatmap(scores > 3, verb="beats").get_label()
        'Table, 2 rows by 3 columns. 0 beats 0, 2. 1 beats 1.'
        >>> ax = heatmap(np.ones((16, 41)), columns=["long"] * 41, limits=(0, 2))
        >>> ax.get_label(), ax.get_xticks(), len(ax.get_yticks())   # some names of many
        ('Heat map, 16 rows by 41 columns. Values from 1.00 to 1.00.',
        array([ 0,  6, 12, 18, 24, 30, 36]), 16)
        >>> ax.collections[0].get_clim(), ax.get_xticklabels()[0].get_rotation()
        ((0.0, 2.0), 30.0)
        >>> len(heatmap(scores, digits=None).texts), len(ax.figure.axes)
        (0, 1)
    """
    array = as_matrix(values)
    rows, columns = (line_names(rows, array.shape[0]), line_names(columns, array.shape[1]))
    ax = panels(1, width=4.2, height=3.6)[0] if ax is None else ax
    is_mask = array.dtype == bool
    low, high = limits or _extent(array)
    grounds = _draw_cells(ax, array, low, high)
    ax.set_title(title)
    ax.set_xlabel(column_title)
    ax.set_ylabel(row_title)
    _label_lines(ax, rows, columns)
    texts = _mask_texts(array) if is_mask else _number_texts(array, digits)
    _write_cells(ax, texts, grounds)
    ax.set_label(_describe_matrix(title, array, (rows, columns), texts, verb))
    return ax


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
        >>> left.collections[0].get_clim()   # the same shades for all heads
        (0.0, 1.0)
        >>> left, right = attention_grid(np.ones((2, 1, 1)), row_title="query", column_title="key")
        >>> [(ax.get_title(), ax.get_ylabel(), ax.get_xlabel()) for ax in (left, right)]
        [('Head 1', 'query', 'key'), ('Head 2', '', 'key')]
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


def _label_lines(ax: Axes, rows: list[str], columns: list[str]) -> None:
    """Name the rows and columns; of many, only as many as can be read."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    for axis, names in ((ax.yaxis, rows), (ax.xaxis, columns)):
        step = 1 if len(names) <= 16 else -(-len(names) // 8)
        axis.set_ticks(range(0, len(names), step), names[::step])
    if max(map(len, columns), default=0) > 3:
        ax.tick_params(axis="x", labelrotation=30, labelrotation_mode="xtick")


def _number_texts(array: np.ndarray, digits: int | None) -> list[list[str]]:
    if digits is None:
        return []
    return [[_number(value, digits) for value in row] for row in array]


def _number(value: float, digits: int) -> str:
    """Write a number; what rounds to zero has no sign.

    >>> _number(-0.004, 2), _number(-0.006, 2), _number(float("nan"), 2)
    ('0.00', '-0.01', '')
    """
    text = "" if np.isnan(value) else f"{value:.{digits}f}"
    return text.lstrip("-") if text and float(text) == 0 else text


def _mask_texts(array: np.ndarray) -> list[list[str]]:
    return [["✓" if value else "·" for value in row] for row in array]


def _extent(array: np.ndarray) -> tuple[float, float]:
    """Return what the palest and the deepest shade stand for; with signs, as much below zero."""
    if array.dtype == bool:
        return 0.0, 1.25
    low, high = float(np.nanmin(array)), float(np.nanmax(array))
    return (low, high) if low >= 0 else (-max(-low, high), max(-low, high))


def _draw_cells(ax: Axes, array: np.ndarray, low: float, high: float) -> np.ndarray:
    """Draw a square for each number, and return their colours."""
    y, x = (np.arange(length + 1) - 0.5 for length in array.shape)
    cmap = shades(signed=low < 0)
    array = array.astype(float)
    cells = ax.pcolormesh(x, y, array, cmap=cmap, vmin=low, vmax=high)
    ax.set(xlim=x[[0, -1]], ylim=y[[-1, 0]], aspect="equal")
    return cells.to_rgba(array)


def _write_cells(ax: Axes, texts: list[list[str]], grounds: np.ndarray) -> None:
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            color = on_shade(to_hex(grounds[i, j]))
            ax.text(j, i, text, ha="center", va="center", color=color)


def _describe_matrix(
    title: str,
    array: np.ndarray,
    names: tuple[list[str], list[str]],
    texts: list[list[str]],
    verb: str,
) -> str:
    rows, columns = names
    kind = "Heat map"
    if array.dtype == bool:
        kind = "Mask" if verb == "sees" else "Table"
    size = f"{kind}, {array.shape[0]} rows by {array.shape[1]} columns"
    if array.dtype == bool:
        seen = [", ".join(np.compress(row, columns)) or "none" for row in array]
        message = [f"{name} {verb} {which}" for name, which in zip(rows, seen, strict=True)]
    elif texts and array.size <= 36:
        lines_read = [", ".join(text or "none" for text in line) for line in texts]
        message = [f"{name}: {line}" for name, line in zip(rows, lines_read, strict=True)]
    else:
        message = [f"Values from {np.nanmin(array):.2f} to {np.nanmax(array):.2f}"]
    return sentences(title, size, *message)
