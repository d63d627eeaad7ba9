"""The attention maps of many models side by side, in order of a score."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, number
from selfattn_book.draw.colors import shades
from selfattn_book.draw.scene import Node, column, grid, note, show, slot, space
from selfattn_book.draw.style import Numbers, as_array

DESK, PHONE = 8, 4  # maps in a row
BRIGHT = 0.5


def map_grid(
    maps: Numbers,
    scores: Numbers,
    *,
    cells: Numbers | None = None,
    names: Mapping[int, str] | None = None,
) -> Canvas:
    """Draw attention maps, ``(N, T, S)``, as small squares from the highest score to the lowest.

    A map with a score of at least ``BRIGHT`` has a bold frame. In each map, ``cells``, boolean of
    shape ``(T, S)``, are outlined; ``names`` stand before the scores of some maps.

    Example:
        >>> maps = np.stack([np.full((3, 3), 1 / 3), np.eye(3)])
        >>> print(map_grid(maps, np.array([0.25, 0.75])).get_label())
        2 maps, in order of their scores: 0.75, 0.25. Framed, with a score of 0.50 or more: 1.
    """
    tables, values = as_array(maps), as_array(scores)
    order = np.argsort(-values, kind="stable")
    outlined = [] if cells is None else np.argwhere(as_array(cells)).tolist()
    named = {i: f"{names[i]} " if names and i in names else "" for i in range(len(tables))}

    def build(narrow: bool) -> Node:
        across = PHONE if narrow else DESK
        side, nodes = (304 if narrow else 632) / across - 10, []
        for i in order:
            is_bright = bool(values[i] >= BRIGHT)
            square = space(side, side, partial(_map, tables[i], side - 4, is_bright, outlined))
            text = slot(note(f"{named[i]}{number(values[i])}", bold=is_bright), side)
            nodes.append(column(square, text, gap=4))
        return grid(nodes, across, gap=10)

    listed = ", ".join(f"{named[i]}{number(values[i])}" for i in order)
    heading = f"{len(tables)} maps, in order of their scores: {listed}"
    framed = int((values >= BRIGHT).sum())
    return show(build, heading, f"Framed, with a score of {number(BRIGHT)} or more: {framed}")


def _map(
    table: np.ndarray,
    side: float,
    is_bright: bool,
    outlined: list[list[int]],
    ax: Canvas,
    at: Point,
) -> None:
    """Draw a map into a square."""
    down, across = (np.linspace(-side / 2, side / 2, n + 1) for n in table.shape)
    limits = ax.get_xlim(), ax.get_ylim()  # a mesh would change them
    look: Any = {"cmap": shades(signed=False), "vmin": 0, "vmax": 1, "zorder": 3}
    ax.pcolormesh(at[0] + across, at[1] + down, table, **look)
    ax.set(xlim=limits[0], ylim=limits[1])
    for i, j in outlined:
        middle = at[0] + across[j : j + 2].mean(), at[1] + down[i : i + 2].mean()
        ax.box(middle, (side / table.shape[1], side / len(table)), "key", filled=False, width=0.8)
    role, width = ("context", BOLD_LINE + 1) if is_bright else ("residual", 1)
    ax.box(at, (side + 4, side + 4), role, filled=False, width=width)
