"""The most likely next words of a model at each step of decoding."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, number
from selfattn_book.draw.scene import Node, column, label, probability_bars, row, show


def next_words(decoder_input: Sequence[str], probabilities: Tensor, words: Sequence[str]) -> Canvas:
    """Draw for each step the decoder input so far, and bars of the three most likely next words.

    Probabilities are ``(T, V)``.

    Example:
        >>> import torch
        >>> probabilities = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.0, 0.9]])
        >>> vocabulary = ["quarter", "half", "past"]
        >>> print(next_words(["start", "half"], probabilities, vocabulary).get_label())
        What comes next, step by step. After start: half 0.75, quarter 0.25, past 0.00.
        After start half: past 0.90, quarter 0.10, half 0.00.
    """

    def build(narrow: bool) -> Node:
        start, long = (92, 160) if narrow else (68, 240)
        head = label("next", "muted", bold=True, width=start + long + 40, align="left")
        beside: Any = {"width": 220, "align": "right"}
        first = label("so far", "muted", bold=True, **beside)
        lines = [] if narrow else [row(first, head, gap=32)]
        for step, given in enumerate(probabilities.detach()):
            best = given.sort(descending=True, stable=True)
            pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
            likely = [(words[i], p) for i, p in pairs][:3]
            so_far = " ".join(decoder_input[: step + 1])
            bars = probability_bars(likely, "weights", start=start, long=long, pitch=20)
            alt = f"After {so_far}: {', '.join(f'{word} {number(p)}' for word, p in likely)}"
            if narrow:
                text = label(so_far, bold=True, align="left")
                lines.append(column(text, bars, gap=4, align=0, alt=alt))
            else:
                lines.append(row(label(so_far, **beside), bars, gap=32, alt=alt))
        return column(*lines, gap=14, align=0)

    return show(build, "What comes next, step by step")
