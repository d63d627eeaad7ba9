"""One text and several models: where each looks from the last letter, and what it says comes next."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    box,
    canvas,
    column,
    for_desk_and_phone,
    line,
    number,
    say,
    tell,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_vector

HIGH, TOP, BOX, STEP = 64, 40, 28, 152  # pixels; of a weight of 1, and of the rest
MOST = 12  # letters that a phone shows


def strips(
    text: str,
    maps: Mapping[str, Tensor],
    told: Tensor,
    says: Sequence[str],
) -> Axes:
    """Draw the weights of the last letter as columns over a text, once for each model.

    Args:
        text: one letter a key; the last one asks.
        maps: the name of a model, and its weights ``(T,)``.
        told: ``(T,)``, boolean: where a letter stands that tells the answer.
        says: what each model says comes next.

    Returns:
        The axes.

    Raises:
        ValueError: there are more letters than a phone shows, or not one weight for each letter, or
            not one answer for each model.

    Example:
        >>> import torch
        >>> weights = {"One": torch.tensor([0.1, 0.8, 0.1]), "Two": torch.tensor([0.5, 0.0, 0.5])}
        >>> told = torch.tensor([False, True, False])
        >>> print(strips("aba", weights, told, ["b", "b"]).get_label())
        The last letter of a b a asks; the answer stands at place 1.
        One says b: weights 0.10, 0.80, 0.10; on the answer 0.80.
        Two says b: weights 0.50, 0.00, 0.50; on the answer 0.00.
        >>> strips("aba", weights, told, ["b"])
        Traceback (most recent call last):
        ValueError: there must be one answer for each of 2 models; got 1
        >>> strips("ab", weights, told[:2], ["b", "b"])
        Traceback (most recent call last):
        ValueError: One must have shape (2,); got (3,)
        >>> strips("a" * 13, weights, told, ["b", "b"])
        Traceback (most recent call last):
        ValueError: a text must have 1 to 12 letters; got 13
    """
    rows = {name: as_vector(name, weights) for name, weights in maps.items()}
    marked = [bool(cell) for cell in told]
    if not 1 <= len(text) <= MOST:
        rule = f"a text must have 1 to {MOST} letters"
        raise ValueError(f"{rule}; got {len(text)}")
    if len(says) != len(rows):
        rule = f"there must be one answer for each of {len(rows)} models"
        raise ValueError(f"{rule}; got {len(says)}")
    for name, row in [*rows.items(), ("told", as_vector("told", told))]:
        if len(row) != len(text):
            rule = f"{name} must have shape ({len(text)},)"
            raise ValueError(f"{rule}; got {row.shape}")

    def draw(width: float) -> Axes:
        ax = canvas(width, STEP * len(rows) + 4)
        for i, ((name, row), answer) in enumerate(
            zip(rows.items(), says, strict=True)
        ):
            title = f"{name} says: {answer}"
            say(ax, (8, STEP * i + 14), title, align="left", bold=True)
            _strip(ax, STEP * i + TOP + HIGH, text, row, marked)
        return tell(ax, *_said(text, rows, marked, says))

    return for_desk_and_phone(draw)


def _strip(
    ax: Axes, ground: float, text: str, row: np.ndarray, marked: Sequence[bool]
) -> None:
    """Draw the columns of a row of weights, and the letters below them."""
    width = ax.get_xlim()[1]
    pitch = (width - 16) / len(text)
    line(ax, [(8, ground), (width - 8, ground)], "muted")
    for j, letter in enumerate(text):
        middle, last = 8 + pitch * (j + 0.5), j == len(text) - 1
        column(ax, (middle, ground), HIGH * row[j], "weights", thick=0.55 * pitch)
        if width > NARROW or row[j] > 0.3:
            place = (middle, ground - HIGH * row[j] - 9)
            say(ax, place, number(row[j]), "muted", size=SMALL)
        role = "query" if last else "context" if marked[j] else "muted"
        size = (min(pitch - 3, 34), BOX)
        look = {"filled": last or marked[j], "bold": marked[j]}
        wide = BOLD_LINE if marked[j] else 1
        box(
            ax,
            (middle, ground + 4 + BOX / 2),
            size,
            role,
            letter,
            width=wide,
            **look,
        )


def _said(
    text: str,
    rows: Mapping[str, np.ndarray],
    marked: Sequence[bool],
    says: Sequence[str],
) -> list[str]:
    """Say what is drawn."""
    places = ", ".join(str(j) for j, cell in enumerate(marked) if cell)
    told = [
        f"The last letter of {' '.join(text)} asks; the answer stands at place {places}"
    ]
    for (name, row), answer in zip(rows.items(), says, strict=True):
        on = sum(share for share, cell in zip(row, marked, strict=True) if cell)
        weights = ", ".join(number(share) for share in row)
        told.append(
            f"{name} says {answer}: weights {weights}; on the answer {number(on)}"
        )
    return told
