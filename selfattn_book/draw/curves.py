"""Pictures of curves."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from selfattn_book.draw.colors import light
from selfattn_book.draw.style import Numbers, as_array, book_style, panels, sentences

COLORS = [light(role) for role in ("query", "key", "value", "weights")]
DASHES = ["-", "--", "-.", ":"]
MARKERS = ["o", "s", "^", "D"]


@book_style
def lines(
    x: Numbers,
    curves: Mapping[str, Numbers],
    *,
    title: str = "",
    x_title: str = "",
    y_title: str = "",
    log: bool = False,
    markers: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw curves over one x axis, each with its own color and dash.

    ``x`` and each of one to four named curves are ``(N,)``. With ``log`` the y axis has powers of ten,
    and with ``markers`` each value has a mark. The title also begins the text alternative.

    Raises:
        ValueError: there are no curves or more than four.

    Example:
        >>> ax = lines(np.arange(3), {"squares": np.arange(3) ** 2}, title="Growth")
        >>> ax.get_label()
        'Growth. Curves over 0 to 2. squares: from 0 to 4, least 0, greatest 4.'
    """
    xs = as_array(x)
    ys = {name: as_array(values) for name, values in curves.items()}
    ax = panels(1, width=6.0, height=3.4)[0] if ax is None else ax
    shapes = MARKERS if markers else [""] * len(MARKERS)
    for look, shape, (name, values) in zip(looks(len(ys)), shapes, ys.items(), strict=False):
        ax.plot(xs, values, label=name, marker=shape, markersize=5, **look)
    finish(ax, title, x_title, y_title, log=log, legend=len(ys) > 1)
    message = [f"{name}: {_course(values)}" for name, values in ys.items()]
    ax.set_label(sentences(title, f"Curves over {extent(xs)}", *message))
    return ax


def looks(count: int) -> list[dict[str, Any]]:
    """Return a color and a dash for each of one to four curves."""
    if not 1 <= count <= len(COLORS):
        raise ValueError(f"there must be 1 to {len(COLORS)} curves; got {count}")
    looks = zip(COLORS[:count], DASHES, strict=False)
    return [{"color": color, "linestyle": dash} for color, dash in looks]


def finish(ax: Axes, title: str, x_title: str, y_title: str, *, log: bool, legend: bool) -> None:
    """Name the picture and its axes."""
    if log:
        ax.set_yscale("log")
    ax.set(title=title, xlabel=x_title, ylabel=y_title)
    if legend:
        ax.legend(frameon=False)


def extent(xs: np.ndarray) -> str:
    """Say from where to where an axis goes."""
    return f"{xs.min():.4g} to {xs.max():.4g}"


def _course(ys: np.ndarray) -> str:
    ys = ys[np.isfinite(ys)] if np.isfinite(ys).any() else ys  # it may end early
    least, greatest = f"least {ys.min():.3g}", f"greatest {ys.max():.3g}"
    return f"from {ys[0]:.3g} to {ys[-1]:.3g}, {least}, {greatest}"
