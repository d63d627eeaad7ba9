"""Pictures of many seeds: how they go on, where they end, and the floors that they cannot leave."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from selfattn_book.draw.curves import extent, finish, looks
from selfattn_book.draw.layout import BEHIND
from selfattn_book.draw.style import (
    BLUE,
    GREY,
    INK,
    Numbers,
    as_array,
    book_style,
    panels,
    sentences,
)


@book_style
def bands(
    curves: Mapping[str, Numbers],
    *,
    floors: Mapping[str, float] | None = None,
    x: Numbers | None = None,
    title: str = "",
    x_title: str = "step",
    y_title: str = "loss",
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw the same experiment for many seeds: a band from least to greatest, with the median.

    One to four named curves are ``(N, seeds)``, and ``x`` is ``(N,)``, by default 0, 1, 2, ...; floors
    are named heights, drawn as straight lines. The other arguments are those of ``lines``.

    Raises:
        ValueError: there are no curves or more than four.

    Example:
        >>> losses = np.array([[2.0, 4.0, 3.0], [1.0, 3.0, 1.0]])
        >>> ax = bands({"model": losses}, floors={"no guess": 0.5}, x=[10, 30], title="T")
        >>> ax.get_label()
        'T. Bands over 10 to 30. model, 3 seeds: median from 3 to 1,
        at the end between 1 and 3. A line at 0.5: no guess.'
    """
    ys = {name: as_array(values) for name, values in curves.items()}
    styles = looks(len(ys))
    xs = np.arange(len(next(iter(ys.values())))) if x is None else as_array(x)
    ax = panels(1, width=6.0, height=3.4)[0] if ax is None else ax
    message = []
    for look, (name, values) in zip(styles, ys.items(), strict=True):
        low, median, high = values.min(1), np.median(values, axis=1), values.max(1)
        ax.fill_between(xs, low, high, color=look["color"], alpha=0.18, linewidth=0)
        ax.plot(xs, median, label=name, **look)
        course = f"median from {median[0]:.3g} to {median[-1]:.3g}"
        ends = f"at the end between {low[-1]:.3g} and {high[-1]:.3g}"
        message.append(f"{name}, {values.shape[1]} seeds: {course}, {ends}")
    message += [_draw_floor(ax, *floor) for floor in (floors or {}).items()]
    finish(ax, title, x_title, y_title, log=log, legend=len(ys) > 1)
    ax.set_label(sentences(title, f"Bands over {extent(xs)}", *message))
    return ax


@book_style
def ladder(
    ends: Mapping[str, Numbers],
    floors: Mapping[str, float],
    *,
    rungs: Mapping[str, float] | None = None,
    between: tuple[float, float] | None = None,
    bar: str = "floor",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    r"""Draw each model's seeds as points over its name, and its floor as a bar below them.

    A dotted line at each height continues the floors through the whole picture, as a rung. With
    another word for ``bar``, such as ``"mean"``, the bars are what it says, and have no such lines.

    The points are spread sideways, in the order of the seeds, so that they do not hide each other.

    Names of models may have several lines; ``ends`` are ``(seeds,)`` values each. Rungs are names of
    heights, at the left end of their lines; only heights in ``between``, if given, are shown.

    Example:
        >>> ends = {"mean": [0.7, 0.7], "net\nbehind": [0.5, 0.42]}
        >>> ax = ladder(ends, {"mean": 0.69, "net\nbehind": 0.41}, title="Two models")
        >>> ax.get_label()
        'Two models. mean, 2 seeds: floor 0.69, ends from 0.7 to 0.7.
        net behind, 2 seeds: floor 0.41, ends from 0.42 to 0.5.'
    """
    ax = panels(1, width=7.6, height=4.0)[0] if ax is None else ax
    for height in sorted(set(floors.values())) if bar == "floor" else ():
        ax.axhline(height, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    rungs, message = rungs or {}, []
    if between:
        low, high = between
        rungs = {name: height for name, height in rungs.items() if low <= height <= high}
        message.append(f"Heights from {low:.3g} to {high:.3g}")
    message += [f"A rung at {height:.3g}: {name}" for name, height in rungs.items()]
    for column, (name, values) in enumerate(ends.items()):
        heights, floor = as_array(values), floors[name]
        _draw_model(ax, column, heights, floor)
        seeds = f"{' '.join(name.split())}, {len(heights)} seeds: {bar} {floor:.3g}"
        message.append(f"{seeds}, ends from {heights.min():.3g} to {heights.max():.3g}")
    ax.set_ylim(between)
    _name_rungs(ax, rungs)
    ax.set_xticks(range(len(ends)), list(ends))
    ax.set(title=title, ylabel="loss at the end")
    ax.set_label(sentences(title, *message))
    return ax


def _draw_floor(ax: Axes, name: str, height: float) -> str:
    """Draw a line, write its name behind its right end, and say what was drawn."""
    ax.axhline(height, color=INK, linewidth=1, linestyle=(0, (1, 2)))
    style: Any = {"xytext": BEHIND, "textcoords": "offset points"}
    end = ("axes fraction", "data")  # outside, since curves end on their floors
    ax.annotate(name, (1, height), xycoords=end, va="center", **style)
    return f"A line at {height:.3g}: {name}"


def _draw_model(ax: Axes, column: int, heights: np.ndarray, floor: float) -> None:
    """Draw a bar at the floor, and the seeds above it, spread sideways."""
    bar = [column - 0.38, column + 0.38]
    ax.plot(bar, [floor, floor], color=INK, linewidth=2.5)
    sides = column + np.linspace(-0.25, 0.25, len(heights))
    look: Any = {"markersize": 4, "markeredgewidth": 0, "alpha": 0.75, "zorder": 3}
    ax.plot(sides, heights, "o", color=BLUE, **look)


def _name_rungs(ax: Axes, rungs: Mapping[str, float]) -> None:
    """Write each name above its line, or below it if the next line is near."""
    low, high = ax.get_ylim()
    for name, height in rungs.items():
        above = [other - height for other in rungs.values() if other > height]
        below = min(above, default=high) < 0.08 * (high - low)
        style: Any = {"xytext": (3, -3 if below else 3)}
        style |= {"textcoords": "offset points", "va": "top" if below else "bottom"}
        text = f"{name} {height:.4f}"
        ax.annotate(text, (0, height), xycoords=("axes fraction", "data"), **style)
