"""Rows of weights as bars above one text: where a letter attends, or what an output depends on."""

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_array

HIGH, TOP, BOX, STEP = 64, 40, 28, 152  # pixels; of a weight of 1, and of the rest


def attention_strips(text: str, rows: Mapping[str, Tensor], answer: Tensor) -> Canvas:
    """Draw rows of weights ``(T,)`` as bars over a text, whose last letter is the query.

    ``answer``, ``(T,)`` and boolean, marks the positions of the answer.

    Example:
        >>> import torch
        >>> rows = {"One": torch.tensor([0.1, 0.8, 0.1]), "Two": torch.tensor([0.5, 0.0, 0.5])}
        >>> answer = torch.tensor([False, True, False])
        >>> print(attention_strips("aba", rows, answer).get_label())
        The last letter of a b a is the query; the answer is at position 1.
        One: 0.10, 0.80, 0.10; on the answer 0.80. Two: 0.50, 0.00, 0.50; on the answer 0.00.
    """
    weights = {name: as_array(row) for name, row in rows.items()}
    marked = answer.tolist()
    positions = ", ".join(str(j) for j, is_answer in enumerate(marked) if is_answer)
    message = [
        f"The last letter of {' '.join(text)} is the query; the answer is at position {positions}"
    ]
    for name, row in weights.items():
        on = number(float(row[marked].sum()))
        message.append(f"{name}: {', '.join(map(number, row))}; on the answer {on}")

    def draw(width: float) -> Canvas:
        ax = canvas(width, STEP * len(weights) + 4)
        for i, (name, row) in enumerate(weights.items()):
            ax.say((8, STEP * i + 14), name, align="left", bold=True)
            _strip(ax, width, STEP * i + TOP + HIGH, text, row, marked)
        return ax.describe(*message)

    return both_widths(draw)


def _strip(
    ax: Canvas, width: float, y: float, text: str, row: np.ndarray, marked: list[bool]
) -> None:
    """Draw the bars of a row of weights, and the letters below them."""
    pitch = (width - 16) / len(text)
    ax.line([(8, y), (width - 8, y)], "muted")
    for j, (letter, is_answer) in enumerate(zip(text, marked, strict=True)):
        x, last = 8 + pitch * (j + 0.5), j == len(text) - 1
        ax.vbar((x, y), HIGH * row[j], "weights", thick=0.55 * pitch)
        if width > NARROW or row[j] > 0.3:
            ax.note((x, y - HIGH * row[j] - 9), number(row[j]), "muted")
        role = "query" if last else "context" if is_answer else "muted"
        size, edge = (min(pitch - 3, 34), BOX), BOLD_LINE if is_answer else 1
        look = {"filled": last or is_answer, "bold": is_answer}
        ax.box((x, y + 4 + BOX / 2), size, role, letter, width=edge, **look)
