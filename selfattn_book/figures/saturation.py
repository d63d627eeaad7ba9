"""Softmax weights for the scores of vectors of several dimensions, with the divisor and without."""

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, listed, number
from selfattn_book.draw.scene import Node, column, note, row, show, slot, space, title


def saturation(
    queries: Sequence[Tensor], keys: Sequence[Tensor], *, divided: bool = True
) -> Canvas:
    """Draw the attention weights of queries of several dimensions, undivided and divided by √d.

    Two or three queries ``(d,)`` have keys ``(S, d)`` each. A weight of 1 fills the height of its
    box. Without ``divided``, draw the undivided weights alone.

    Example:
        >>> import torch
        >>> wide = torch.ones(4), torch.tensor([[0.0, 0, 0, 0], [1, 1, 1, 1]])
        >>> print(saturation([torch.ones(1), wide[0]], [torch.ones(2, 1), wide[1]]).get_label())
        The weights of 2 keys, from the largest to the smallest.
        d = 1: undivided, scores from 1.0 to 1.0 become weights 0.50, 0.50;
        divided by √1, scores from 1.0 to 1.0 become weights 0.50, 0.50.
        d = 4: undivided, scores from 0.0 to 4.0 become weights 0.98, 0.02;
        divided by √4, scores from 0.0 to 2.0 become weights 0.88, 0.12.
    """
    count, shown, message = len(keys[0]), 1 + divided, []
    named: dict[str, list[tuple[str, list[float]]]] = {}
    for query, given in zip(queries, keys, strict=True):
        d, scores = len(query), (given @ query).sort(descending=True).values
        pair, texts = named.setdefault(f"d = {d}", []), []
        rows = ("undivided", scores), (f"divided by √{d}", scores / d**0.5)
        for name, row_ in rows[:shown]:
            ends = f"scores from {number(float(row_[-1]), 1)} to {number(float(row_[0]), 1)}"
            weights = row_.softmax(dim=0).tolist()
            pair.append((ends, weights))
            texts.append(f"{name}, {ends} become weights {listed(weights)}")
        message.append(f"d = {d}: {'; '.join(texts)}")

    def build(narrow: bool) -> Node:
        size = (140, 62) if narrow else (164, 86)

        def panel(text: str, weights: Sequence[float]) -> Node:
            bars = space(*size, partial(_bars, size, weights))
            return column(note(text, "muted", width=size[0]), bars)

        last = note(f"bars: the weights of {count} keys, the largest first", "muted")
        tops = ("q · k", "q · k ÷ √d")[:shown]
        pairs = {name: [panel(*given) for given in pair] for name, pair in named.items()}
        if narrow:
            heads = row(*(note(f"softmax of {t}", "muted", width=148, bold=True) for t in tops))
            parts = [column(title(name), row(*pair, gap=16)) for name, pair in pairs.items()]
            return column(heads, *parts, last, gap=12)
        heads = row(space(70), *(slot(title(name), 164) for name in pairs), gap=18)
        lines = [
            row(slot(column(title("softmax of"), title(text), gap=2), 76), *panels, gap=18)
            for text, *panels in zip(tops, *pairs.values(), strict=True)
        ]
        return column(heads, *lines, last, gap=14)

    opening = f"The weights of {count} keys, from the largest to the smallest"
    return show(build, opening, *message)


def _bars(size: Point, weights: Sequence[float], ax: Canvas, at: Point) -> None:
    """Draw the weights in a box that all of them together would fill."""
    (x, y), (w, h), step = (at[0] - size[0] / 2, at[1] + size[1] / 2), size, size[0] / len(weights)
    ax.box(at, size, "weights", width=1, order=1)
    ax.line([(x, y), (x + w, y)])
    for i, weight in enumerate(weights):
        ax.vbar((x + (i + 0.5) * step, y), h * weight, "weights", thick=0.7 * step)
    tip = y - h * weights[0]
    fits = h * (1 - weights[0]) > 18  # above the first bar; beside it otherwise
    place = (x + 2, tip - 9) if fits else (x + step + 4, y - h + 10)
    ax.say(place, number(weights[0]), "weights", align="left")
