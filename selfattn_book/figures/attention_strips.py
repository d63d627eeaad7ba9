"""Rows of weights as bars above one text: where a letter attends, or what an output depends on."""

from collections.abc import Mapping

from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, number
from selfattn_book.draw.scene import Node, bar_above, column, label, note, part, row, show
from selfattn_book.draw.style import as_array

HIGH = 64  # pixels of a weight of 1


def attention_strips(text: str, rows: Mapping[str, Tensor], answer: Tensor) -> Canvas:
    """Draw rows of weights ``(T,)`` as bars over a text, whose last letter is the query.

    ``answer``, ``(T,)`` and boolean, marks the positions of the answer.

    Example:
        >>> import torch
        >>> rows = {"One": torch.tensor([0.1, 0.8, 0.1]), "Two": torch.tensor([0.5, 0.0, 0.5])}
        >>> answer = torch.tensor([False, True, False])
        >>> print(attention_strips("aba", rows, answer).get_label())
        The last letter of a b a is the query; the answer is letter 2.
        One: 0.10, 0.80, 0.10; on the answer 0.80. Two: 0.50, 0.00, 0.50; on the answer 0.00.
    """
    weights, marked = {name: as_array(row_) for name, row_ in rows.items()}, answer.tolist()
    places = " and ".join(str(j + 1) for j, is_answer in enumerate(marked) if is_answer)

    def build(narrow: bool) -> Node:
        pitch, strips = (296 if narrow else 624) / len(text), []
        for name, row_ in weights.items():
            bars = []
            for j, (letter, weight) in enumerate(zip(text, row_, strict=True)):
                is_last = j == len(text) - 1
                role = "query" if is_last else "context" if marked[j] else "muted"
                look = {"filled": role != "muted", "bold": marked[j]}
                size, edge = min(pitch - 3, 34), BOLD_LINE if marked[j] else 1
                box = part(letter, role, width=size, edge=edge, **look)
                text_ = "" if narrow and weight <= 0.3 else number(weight)
                look = {"high": HIGH, "thick": 0.55 * pitch, "width": pitch}
                bar = bar_above(box, weight, text_, **look)
                bars.append(column(bar, note(str(j + 1), "muted"), gap=2))
            alt = f"{name}: {', '.join(map(number, row_))}; on the answer {number(row_[marked].sum())}"
            strips.append(
                column(
                    label(name, bold=True, align="left"), row(*bars, gap=0), gap=4, align=0, alt=alt
                )
            )
        return column(*strips, gap=24)

    opening = f"The last letter of {' '.join(text)} is the query"
    return show(build, f"{opening}; the answer is letter {places}")
