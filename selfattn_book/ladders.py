"""A picture of where many seeds of several models end, each model above its own floor."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book.figure import (
    BLUE,
    GREY,
    INK,
    as_vector,
    in_book_style,
    panels,
    sentences,
)


@in_book_style
def ladder(
    ends: Mapping[str, ArrayLike | Tensor],
    floors: Mapping[str, float],
    *,
    rungs: Mapping[str, float] | None = None,
    title: str = "",
    y_title: str = "loss at the end",
    ax: Axes | None = None,
) -> Axes:
    r"""Draw each model's seeds as points over its name, and its floor as a bar below them.

    A dotted line at each height continues the bars through the whole picture, as a rung.
    The points are spread sideways, in the order of the seeds, so that they do not hide each other.

    Args:
        ends: a model's name, which may have several lines, and ``(seeds,)`` values.
        floors: the same names, and a height each.
        rungs: names of heights, written at the left end of their lines.
        title: above the picture; also begins the text alternative.
        y_title: what the heights are.
        ax: where to draw; a new figure when left out.

    Returns:
        The axes.

    Raises:
        ValueError: there are no models, they are not those with a floor,
            or a model's values are no vector.

    Example:
        >>> ends = {"mean": [0.7, 0.7], "net\nbehind": [0.5, 0.42]}
        >>> ax = ladder(ends, {"mean": 0.69, "net\nbehind": 0.41}, title="Two models")
        >>> ax.get_label()
        'Two models. mean, 2 seeds: floor 0.69, ends from 0.7 to 0.7.
        net behind, 2 seeds: floor 0.41, ends from 0.42 to 0.5.'
        >>> ax = ladder(ends, dict.fromkeys(ends, 0.4), rungs={"a bag": 0.4})
        >>> [(text.get_text(), text.xy) for text in ax.texts]
        [('a bag', (0, 0.4))]
        >>> ax.get_title(), ax.get_ylabel(), len(ax.figure.axes)
        ('', 'loss at the end', 1)
        >>> rungs = {"far": 0.1, "low": 0.4, "high": 0.4825}
        >>> ax = ladder({"a": [0.0, 1.0]}, {"a": 0.0}, rungs=rungs, title="One model")
        >>> ax.get_title(), [name.get_text() for name in ax.get_xticklabels()]
        ('One model', ['a'])
        >>> [text.get_va() for text in ax.texts]   # below its line where the next is near
        ['bottom', 'top', 'bottom']
        >>> rung, bar, seeds = (line.get_xydata().tolist() for line in ax.lines)
        >>> rung, bar, seeds
        ([[0.0, 0.0], [1.0, 0.0]], [[-0.38, 0.0], [0.38, 0.0]], [[-0.25, 0.0], [0.25, 1.0]])
        >>> ladder(ends, {"mean": 0.69})
        Traceback (most recent call last):
        ValueError: floors must be of the same models as ends, ['mean', 'net\nbehind']; got ['mean']
        >>> ladder({}, {})
        Traceback (most recent call last):
        ValueError: there must be at least one model; got none
    """
    _check_models(ends, floors)
    ax = panels(1, width=7.6, height=4.0)[0] if ax is None else ax
    for height in sorted(set(floors.values())):
        ax.axhline(height, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)))
    told = [
        f"A rung at {height:.3g}: {name}" for name, height in (rungs or {}).items()
    ]
    for column, (name, values) in enumerate(ends.items()):
        heights, floor = as_vector(name, values), floors[name]
        _draw_model(ax, column, heights, floor)
        told.append(_describe(name, heights, floor))
    _name_rungs(ax, rungs or {})
    ax.set_xticks(range(len(ends)), list(ends), fontsize=9)
    ax.set_title(title)
    ax.set_ylabel(y_title)
    ax.set_label(sentences(title, *told))
    return ax


def _check_models(
    ends: Mapping[str, ArrayLike | Tensor], floors: Mapping[str, float]
) -> None:
    if len(ends) == 0:
        raise ValueError("there must be at least one model; got none")
    if set(floors) != set(ends):
        rule = f"floors must be of the same models as ends, {sorted(ends)}"
        raise ValueError(f"{rule}; got {sorted(floors)}")


def _draw_model(ax: Axes, column: int, heights: np.ndarray, floor: float) -> None:
    """Draw a bar at the floor, and the seeds above it, spread sideways."""
    bar = [column - 0.38, column + 0.38]
    ax.plot(bar, [floor, floor], color=INK, linewidth=2.5)
    sides = column + np.linspace(-0.25, 0.25, len(heights))
    look: Any = {"markersize": 4, "markeredgewidth": 0, "alpha": 0.6, "zorder": 3}
    ax.plot(sides, heights, "o", color=BLUE, **look)


def _name_rungs(ax: Axes, rungs: Mapping[str, float]) -> None:
    """Write each name above its line, or below it if the next line is near."""
    low, high = ax.get_ylim()
    for name, height in rungs.items():
        above = [other - height for other in rungs.values() if other > height]
        below = min(above, default=high) < 0.08 * (high - low)
        style: Any = {"xytext": (3, -3 if below else 3), "fontsize": 9}
        style |= {"textcoords": "offset points", "va": "top" if below else "bottom"}
        ax.annotate(name, (0, height), xycoords=("axes fraction", "data"), **style)


def _describe(name: str, heights: np.ndarray, floor: float) -> str:
    seeds = f"{' '.join(name.split())}, {len(heights)} seeds: floor {floor:.3g}"
    return f"{seeds}, ends from {heights.min():.3g} to {heights.max():.3g}"
