"""Pictures of curves: single ones, and bands of many seeds with the floors that they cannot leave."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book.figure import (
    COLORS,
    DASHES,
    INK,
    MARKERS,
    as_array,
    as_vector,
    in_book_style,
    panels,
    sentences,
)


@in_book_style
def lines(
    x: ArrayLike | Tensor,
    curves: Mapping[str, ArrayLike | Tensor],
    *,
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    log: bool = False,
    markers: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over one x axis, each with its own colour and dash.

    Args:
        x: ``(N,)``.
        curves: a name and ``(N,)`` values each.
        title: above the picture; also begins the text alternative.
        x_title: what the x axis is.
        y_title: what the y axis is.
        log: draw the y axis in powers of ten.
        markers: mark each value.
        ax: where to draw; a new figure when left out.

    Returns:
        The axes.

    Raises:
        ValueError: ``x`` is no vector, there are no curves or more than four,
            or one has not the length of ``x``.

    Example:
        >>> ax = lines(np.arange(3), {"squares": np.arange(3) ** 2}, title="Growth")
        >>> ax.get_label()
        'Growth. Curves over 0 to 2. squares: from 0 to 4, least 0, greatest 4.'
        >>> ax.get_title(), ax.lines[0].get_xydata().tolist(), ax.get_legend()
        ('Growth', [[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]], None)
        >>> ax.get_yscale(), ax.lines[0].get_marker()
        ('linear', '')
        >>> len(ax.figure.axes)
        1
        >>> both = {"up": [1, 10], "down": [10, 1]}
        >>> ax = lines([0, 5], both, x_title="time", y_title="size", log=True, markers=True)
        >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()
        ('time', 'size', 'log')
        >>> [(line.get_linestyle(), line.get_marker()) for line in ax.lines]
        [('-', 'o'), ('--', 's')]
        >>> [text.get_text() for text in ax.get_legend().get_texts()]
        ['up', 'down']
        >>> lines([0, 5], {"also up": [2, 20]}, ax=ax) is ax, len(ax.lines)   # into the same
        (True, 3)
        >>> lines([0, 5], {"up": [1, 2, 3]})
        Traceback (most recent call last):
        ValueError: up must have shape (2,); got (3,)
        >>> lines([0, 5], {})
        Traceback (most recent call last):
        ValueError: there must be 1 to 4 curves; got 0
    """
    xs = as_vector("x", x)
    ys = {name: as_array(values) for name, values in curves.items()}
    _check_count(ys)
    for name, values in ys.items():
        _check_shape(name, values, xs.shape)
    ax = panels(1, width=6.0, height=3.4)[0] if ax is None else ax
    shapes = MARKERS if markers else [""] * len(MARKERS)
    for look, shape, (name, values) in zip(
        _looks(), shapes, ys.items(), strict=False
    ):
        ax.plot(xs, values, label=name, marker=shape, markersize=5, **look)
    _finish(ax, title, x_title, y_title, log=log, legend=len(ys) > 1)
    told = [f"{name}: {_course(values)}" for name, values in ys.items()]
    ax.set_label(sentences(title, f"Curves over {_extent(xs)}", *told))
    return ax


@in_book_style
def bands(
    curves: Mapping[str, ArrayLike | Tensor],
    *,
    floors: Mapping[str, float] | None = None,
    x: ArrayLike | Tensor | None = None,
    title: str = "",
    x_title: str = "step",
    y_title: str = "loss",
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the same experiment for many seeds: all between the least and the greatest is shaded.

    Inside its band, a curve marks the median of the seeds.

    Args:
        curves: a name and ``(N, seeds)`` values each.
        floors: a name and a height each, drawn as straight lines.
        x: ``(N,)``; 0, 1, 2, ... when left out.
        title: above the picture; also begins the text alternative.
        x_title: what the x axis is.
        y_title: what the y axis is.
        log: draw the y axis in powers of ten.
        ax: where to draw; a new figure when left out.

    Returns:
        The axes.

    Raises:
        ValueError: ``x`` is no vector, there are no curves or more than four,
            or one is no matrix of one row per ``x``.

    Example:
        >>> losses = np.array([[2.0, 4.0, 3.0], [1.0, 3.0, 1.0]])
        >>> ax = bands({"model": losses}, floors={"no guess": 0.5}, title="Two steps")
        >>> ax.get_label()
        'Two steps. Bands over 0 to 1. model, 3 seeds: median from 3 to 1,
        at the end between 1 and 3. A line at 0.5: no guess.'
        >>> median, floor = (line.get_xydata().tolist() for line in ax.lines)
        >>> median, floor, [(text.get_text(), text.xy) for text in ax.texts]
        ([[0.0, 3.0], [1.0, 1.0]], [[0.0, 0.5], [1.0, 0.5]], [('no guess', (1, 0.5))])
        >>> ax.collections[0].get_datalim(ax.transData)   # of the shade
        Bbox([[0.0, 1.0], [1.0, 4.0]])
        >>> ax.get_title(), ax.get_yscale(), ax.get_legend()
        ('Two steps', 'linear', None)
        >>> len(ax.figure.axes), ax.lines[0].get_xdata()
        (1, array([0, 1]))
        >>> ax = bands({"a": losses, "b": 2 * losses}, x=[10, 20], log=True)
        >>> ax.lines[0].get_xdata()
        array([10, 20])
        >>> ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel(), len(ax.get_legend().get_texts())
        ('log', 'step', 'loss', 2)
        >>> bands({"c": losses}, ax=ax) is ax, ax.lines[2].get_xdata()
        (True, array([0, 1]))
        >>> bands({"a": losses[0]})
        Traceback (most recent call last):
        ValueError: a must have shape (3, seeds); got (3,)
        >>> bands({})
        Traceback (most recent call last):
        ValueError: there must be 1 to 4 curves; got 0
    """
    ys = {name: as_array(values) for name, values in curves.items()}
    _check_count(ys)
    count = len(np.atleast_1d(next(iter(ys.values()))))
    xs = np.arange(count) if x is None else as_vector("x", x)
    ax = panels(1, width=6.0, height=3.4)[0] if ax is None else ax
    told = []
    for look, (name, values) in zip(_looks(), ys.items(), strict=False):
        _check_shape(name, values, (len(xs), *values.shape[1:2]), ndim=2)
        low, median, high = values.min(1), np.median(values, axis=1), values.max(1)
        ax.fill_between(xs, low, high, color=look["color"], alpha=0.18, linewidth=0)
        ax.plot(xs, median, label=f"{name}", **look)
        told.append(_describe_band(name, values, median))
    told += [_draw_floor(ax, *floor) for floor in (floors or {}).items()]
    _finish(ax, title, x_title, y_title, log=log, legend=len(ys) > 1)
    ax.set_label(sentences(title, f"Bands over {_extent(xs)}", *told))
    return ax


def _check_count(curves: Mapping[str, np.ndarray]) -> None:
    if not 1 <= len(curves) <= len(COLORS):
        raise ValueError(
            f"there must be 1 to {len(COLORS)} curves; got {len(curves)}"
        )


def _check_shape(
    name: str, values: np.ndarray, shape: tuple[int, ...], *, ndim: int = 1
) -> None:
    if values.shape != shape or values.ndim != ndim or values.size == 0:
        size = f"({shape[0]},)" if ndim == 1 else f"({shape[0]}, seeds)"
        raise ValueError(f"{name} must have shape {size}; got {values.shape}")


def _looks() -> list[dict[str, Any]]:
    """Return a colour and a dash for each of four curves."""
    looks = zip(COLORS, DASHES, strict=True)
    return [{"color": color, "linestyle": dash} for color, dash in looks]


def _finish(
    ax: Axes, title: str, x_title: str, y_title: str, *, log: bool, legend: bool
) -> None:
    if log:
        ax.set_yscale("log")
    ax.set_title(title)
    ax.set_xlabel(x_title)
    ax.set_ylabel(y_title)
    if legend:
        ax.legend(frameon=False)


def _extent(xs: np.ndarray) -> str:
    return f"{xs.min():.4g} to {xs.max():.4g}"


def _course(ys: np.ndarray) -> str:
    least, greatest = f"least {ys.min():.3g}", f"greatest {ys.max():.3g}"
    return f"from {ys[0]:.3g} to {ys[-1]:.3g}, {least}, {greatest}"


def _draw_floor(ax: Axes, name: str, height: float) -> str:
    """Draw a line, write its name behind its right end, and say what was drawn."""
    ax.axhline(height, color=INK, linewidth=1, linestyle=(0, (1, 2)))
    style: Any = {"xytext": (4, 0), "textcoords": "offset points", "fontsize": 9}
    end = ("axes fraction", "data")  # outside, since curves end on their floors
    ax.annotate(name, (1, height), xycoords=end, va="center", **style)
    return f"A line at {height:.3g}: {name}"


def _describe_band(name: str, values: np.ndarray, median: np.ndarray) -> str:
    seeds = f"{name}, {values.shape[1]} seeds"
    course = f"median from {median[0]:.3g} to {median[-1]:.3g}"
    return f"{seeds}: {course}, at the end between {values[-1].min():.3g} and {values[-1].max():.3g}"
