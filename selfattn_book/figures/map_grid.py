"""The maps of many models side by side, in order of a score."""

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, canvas, for_desk_and_phone, number
from selfattn_book.draw.colors import shades
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_array, as_vector

DESK, PHONE = 8, 4  # maps in a row
FOOT = 24  # pixels for the score of a map


def map_grid(
    maps: Tensor | np.ndarray, scores: Tensor | np.ndarray, *, bright: float = 0.5
) -> Canvas:
    """Draw maps as small squares from the highest score to the lowest, framed where it is high.

    Args:
        maps: ``(N, T, S)``, weights from 0 to 1; N is 2 to 24.
        scores: ``(N,)``, one a map.
        bright: from which score on a map has a bold frame.

    Example:
        >>> maps = np.stack([np.full((3, 3), 1 / 3), np.eye(3)])
        >>> ax = map_grid(maps, np.array([0.25, 0.75]))
        >>> print(ax.get_label())
        2 maps, in order of their scores: 0.75, 0.25. Framed, with a score of 0.50 or more: 1.
        >>> [text.get_text() for text in ax.texts]
        ['0.75', '0.25']
    """
    tables, marks = as_array(maps), as_vector("scores", scores)
    order = np.argsort(-marks, kind="stable")
    listed = ", ".join(number(marks[i]) for i in order)
    framed = int((marks >= bright).sum())

    def draw(width: float) -> Canvas:
        across = PHONE if width == NARROW else DESK
        step = width / across
        ax = canvas(width, -(-len(tables) // across) * (step + FOOT))
        for place, i in enumerate(order):
            corner = (place % across * step, place // across * (step + FOOT))
            _map(ax, corner, step, tables[i], is_bright=marks[i] >= bright)
            below = (corner[0] + step / 2, corner[1] + step + 8)
            ax.note(below, number(marks[i]), bold=marks[i] >= bright)
        heading = f"{len(tables)} maps, in order of their scores: {listed}"
        frames = f"Framed, with a score of {number(bright)} or more: {framed}"
        return ax.describe(heading, frames)

    return for_desk_and_phone(draw)


def _map(ax: Canvas, corner: Point, step: float, table: np.ndarray, *, is_bright: bool) -> None:
    """Draw a map into a square of so many pixels."""
    side = step - 14
    x, y = corner[0] + 7, corner[1] + 7
    down, across = (np.linspace(0, side, n + 1) for n in table.shape)
    limits = ax.get_xlim(), ax.get_ylim()  # a mesh would move them
    cmap = shades(signed=False)
    ax.pcolormesh(x + across, y + down, table, cmap=cmap, vmin=0, vmax=1, zorder=3)
    ax.set(xlim=limits[0], ylim=limits[1])
    role, width = ("context", BOLD_LINE + 1) if is_bright else ("residual", 1)
    middle = (x + side / 2, y + side / 2)
    ax.box(middle, (side + 4, side + 4), role, filled=False, width=width)
