"""Marks that a live figure draws again when the reader changes it, and the state that it begins with.

A drawing calls ``paint(ax, value, **places)`` through ``live``, which notes the name of the function,
the name of the value and the places in the SVG. A function of that name in ``docs/live`` draws the
same marks there, so that layout and data are here alone. Live marks lie above all others.

Example:
    >>> from selfattn_book.draw.canvas import both_widths, canvas
    >>> def dot(ax, radius, at):
    ...     ax.disc(at, radius, "query")
    >>> def draw(width):
    ...     ax = canvas(width, 20)
    ...     live(ax, dot, "radius", 3, at=(10, 10))
    ...     return ax.describe("A dot")
    >>> ax = begin(both_widths(draw), "growth", radius=3)
    >>> ax.live
    {'figure': 'growth', 'state': {'radius': 3}, 'calls': [['dot', 'radius', {'at': [10, 10]}]]}
    >>> "<g><path" in ax.figure.to_svg()
    True
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import Canvas
from selfattn_book.draw.sheet import LIVE

ABOVE = 100  # all static marks
DIGITS = 3  # of a place, so that both drawings begin with the same number


def live(ax: Canvas, paint: Callable[..., None], name: str, value: Any, **places: Any) -> None:
    """Draw a value by a function, and note the call for the live figure."""
    places = plain(places, DIGITS)
    before = set(ax.get_children())
    paint(ax, value, **places)
    for artist in set(ax.get_children()) - before:
        artist.set(gid=LIVE, zorder=ABOVE + artist.get_zorder())
    calls = ax.__dict__.setdefault("live", {"calls": []})["calls"]
    calls.append([paint.__name__.lstrip("_"), name, places])


def begin(ax: Canvas, figure: str, **state: Any) -> Canvas:
    """Name the live figure and its first state, and return the drawing."""
    ax.__dict__["live"] = {"figure": figure, "state": plain(state)} | ax.__dict__["live"]
    return ax


def plain(value: Any, digits: int = 12) -> Any:
    """Return numbers, tensors and collections of them as JSON has them.

    Example:
        >>> import torch
        >>> plain({"x": torch.eye(2), "at": (1 / 3, True)}, digits=2)
        {'x': [[1.0, 0.0], [0.0, 1.0]], 'at': [0.33, True]}
    """
    if isinstance(value, Tensor):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: plain(one, digits) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, digits) for one in value]
    return round(value, digits) if isinstance(value, float) else value
