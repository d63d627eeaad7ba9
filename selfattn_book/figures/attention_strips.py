"""One text and several rows of shares above it: where a letter looks, or what an answer hangs on."""

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_vector

HIGH, TOP, BOX, STEP = 64, 40, 28, 152  # pixels; of a share of 1, and of the rest
MOST = 12  # letters that a phone shows


def attention_strips(text: str, rows: Mapping[str, Tensor], message: Tensor) -> Canvas:
    """Draw rows of shares as columns over a text, of which the last letter asks.

    Args:
        text: one letter a key; the last one asks.
        rows: what a row shows, and its shares ``(T,)``, from 0 to 1.
        message: ``(T,)``, boolean: where a letter stands that is the answer.

    Example:
        >>> import torch
        >>> shares = {"One": torch.tensor([0.1, 0.8, 0.1]), "Two": torch.tensor([0.5, 0.0, 0.5])}
        >>> message = torch.tensor([False, True, False])
        >>> print(attention_strips("aba", shares, message).get_label())
        The last letter of a b a is the query; the answer is at position 1.
        One: 0.10, 0.80, 0.10; on the answer 0.80. Two: 0.50, 0.00, 0.50; on the answer 0.00.
    """
    shares = {name: as_vector(name, row) for name, row in rows.items()}
    marked = [bool(cell) for cell in message]

    def draw(width: float) -> Canvas:
        ax = canvas(width, STEP * len(shares) + 4)
        for i, (name, row) in enumerate(shares.items()):
            ax.say((8, STEP * i + 14), name, align="left", bold=True)
            _strip(ax, STEP * i + TOP + HIGH, text, row, marked)
        return ax.describe(*_said(text, shares, marked))

    return for_desk_and_phone(draw)


def _strip(ax: Canvas, ground: float, text: str, row: np.ndarray, marked: list[bool]) -> None:
    """Draw the columns of a row of weights, and the letters below them."""
    width = ax.get_xlim()[1]
    pitch = (width - 16) / len(text)
    ax.line([(8, ground), (width - 8, ground)], "muted")
    for j, letter in enumerate(text):
        middle, last = 8 + pitch * (j + 0.5), j == len(text) - 1
        ax.vbar((middle, ground), HIGH * row[j], "weights", thick=0.55 * pitch)
        if width > NARROW or row[j] > 0.3:
            place = (middle, ground - HIGH * row[j] - 9)
            ax.note(place, number(row[j]), "muted")
        role = "query" if last else "context" if marked[j] else "muted"
        size = (min(pitch - 3, 34), BOX)
        look = {"filled": last or marked[j], "bold": marked[j]}
        wide = BOLD_LINE if marked[j] else 1
        ax.box((middle, ground + 4 + BOX / 2), size, role, letter, width=wide, **look)


def _said(text: str, rows: Mapping[str, np.ndarray], marked: list[bool]) -> list[str]:
    """Say what is drawn."""
    places = ", ".join(str(j) for j, cell in enumerate(marked) if cell)
    place = f"the answer is at position {places}"
    message = [f"The last letter of {' '.join(text)} is the query; {place}"]
    for name, row in rows.items():
        on = number(float(row[marked].sum()))
        shares = ", ".join(number(share) for share in row)
        message.append(f"{name}: {shares}; on the answer {on}")
    return message
