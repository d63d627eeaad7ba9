"""One row of attention as a machine: vectors go in, are compared, and become one weighted sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    listed,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import line_names

UNIT = 24  # pixels of a bar for a score of 1
SHARE = 84  # pixels of a bar for a weight of 1
PLANE = 92  # pixels of the weighted sum, across or up


def one_row(x: Tensor, names: Sequence[str], row: int = 0) -> Canvas:
    r"""Draw what one row of attention without weights does.

    .. math:: y_i = \sum_j w_j x_j, \qquad w = \operatorname{softmax}(X x_i / \sqrt{2})

    Args:
        x: ``(T, 2)``, the vectors; T is 2 to 6.
        names: one per vector.
        row: which of them asks.

    Example:
        >>> import torch
        >>> ax = one_row(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["east", "north"])
        >>> print(ax.get_label())
        One row of attention as a machine. The query east, (1.00, 0.00), is compared with each word.
        east scores 1.00 and weighs 0.67. north scores 0.00 and weighs 0.33.
        The weighted sum is the new vector of east, (0.67, 0.33).
    """
    drawn = _compute(x, names, row)

    def draw(width: float) -> Canvas:
        ax = _on_phone(drawn) if width == NARROW else _on_desk(drawn)
        return ax.describe(*_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """What is drawn: the words, which of them asks, and what comes of it."""

    x: Tensor
    names: list[str]
    row: int
    scores: Tensor
    weights: Tensor
    context: Tensor


def _compute(x: Tensor, names: Sequence[str], row: int) -> _Drawn:
    """Check what is given, and compute what is drawn."""
    scores = x @ x[row]
    context, weights = scaled_dot_product_attention(x, x, x)
    names = line_names(names, len(x))
    return _Drawn(x, names, row, scores, weights[row], context[row])


def _told(drawn: _Drawn) -> list[str]:
    """Say what is drawn."""
    asks = drawn.names[drawn.row]
    each = zip(drawn.names, drawn.scores, drawn.weights, strict=True)
    return [
        "One row of attention as a machine",
        f"The query {asks}, ({listed(drawn.x[drawn.row])}), is compared with each word",
        *(
            f"{name} scores {number(score)} and weighs {number(weight)}"
            for name, score, weight in each
        ),
        f"The weighted sum is the new vector of {asks}, ({listed(drawn.context)})",
    ]


def _on_desk(drawn: _Drawn) -> Canvas:
    count = len(drawn.x)
    ax = canvas(640, 106 + 50 * count)
    rows = [108 + 50 * i for i in range(count)]
    heads = ["compare", "scores", "softmax", "weights", "weighted sum"]
    ax.titles(zip((112, 262, 356, 424, 548), heads, strict=True), 16)
    _compare(ax, drawn, rows)
    _scores(ax, drawn.scores, rows, 262)
    middle, high = (rows[0] + rows[-1]) / 2, rows[-1] - rows[0] + 44
    ax.box((356, middle), (32, high))
    ax.say((356, middle), "÷ √2,  exp,  ÷ sum", turned=True)
    for y, score in zip(rows, drawn.scores.clamp(min=0), strict=True):
        ax.wire([(272 + UNIT * float(score) + 34 * bool(score > 0), y), (340, y)])
        ax.wire([(372, y), (394, y)])
    _shares(ax, drawn.weights, rows, 398)
    _tip_to_tail(ax, (478, 92), drawn)
    _result(ax, (528, rows[-1]), drawn)
    return ax


def _on_phone(drawn: _Drawn) -> Canvas:
    count = len(drawn.x)
    low = 100 + 38 * count  # where the first half ends
    ax = canvas(NARROW, low + 296)
    rows = [96 + 38 * i for i in range(count)]
    ax.titles([(112, "compare"), (254, "scores")], 14)
    _compare(ax, drawn, rows)
    _scores(ax, drawn.scores, rows, 252)
    ax.wire([(252, rows[-1] + 20), (252, low + 26)])
    ax.box((156, low + 44), (300, 34), text="softmax:  ÷ √2,  exp,  ÷ sum")
    ax.wire([(108, low + 61), (108, low + 84)])
    ax.titles([(100, "weights"), (226, "weighted sum")], low + 98)
    shares = [low + 136 + 38 * i for i in range(count)]
    for y, name in zip(shares, drawn.names, strict=True):
        ax.note((70, y), name, align="right")
    _shares(ax, drawn.weights, shares, 78)
    _tip_to_tail(ax, (152, low + 150), drawn)
    _result(ax, (196, low + 274), drawn)
    return ax


def _compare(ax: Canvas, drawn: _Drawn, rows: Sequence[float]) -> None:
    """The query stands above the keys, column over column, and its line touches each of them."""
    top, left, trunk = rows[0] - 52, 78, 178
    asks = drawn.names[drawn.row]
    ax.say((left - 8, top), asks, "query", align="right", bold=True)
    ax.vector((left, top), drawn.x[drawn.row], "query", width=BOLD_LINE)
    for y, name, key in zip(rows, drawn.names, drawn.x, strict=True):
        ax.note((left - 8, y), name, align="right")
        ax.vector((left, y), key, "key")
        ax.wire([(left + 84, y), (trunk, y)], "key", head=False)
    line_of_query = [(left + 84, top), (trunk, top), (trunk, rows[-1])]
    ax.wire(line_of_query, "query", width=BOLD_LINE, head=False)
    for y in rows:
        ax.node((trunk, y), "·")


def _scores(ax: Canvas, scores: Tensor, rows: Sequence[float], zero: float) -> None:
    for y, score in zip(rows, scores, strict=True):
        length, side = UNIT * float(score), 1 if score >= 0 else -1
        ax.hbar((zero, y), length, "ink")
        at, align = (zero + length + 6 * side, y), "left" if side > 0 else "right"
        ax.say(at, number(float(score)), align=align)
    ax.line([(zero, rows[0] - 16), (zero, rows[-1] + 16)])


def _shares(ax: Canvas, weights: Tensor, rows: Sequence[float], zero: float) -> None:
    for y, weight in zip(rows, weights, strict=True):
        ax.hbar((zero, y), SHARE * float(weight), "weights")
        at = (zero + SHARE * float(weight) + 6, y)
        ax.say(at, number(float(weight)), "weights", align="left")
    ax.line([(zero, rows[0] - 16), (zero, rows[-1] + 16)])


def _tip_to_tail(ax: Canvas, corner: Point, drawn: _Drawn) -> None:
    """Each vector, as short as its share, begins where the last one ended; the sum leads across."""
    steps = (drawn.weights[:, None] * drawn.x).detach().cpu().numpy()
    tips = np.vstack([np.zeros(2), steps.cumsum(0)])
    tips = (tips - tips.min(0)) * PLANE / np.ptp(tips, axis=0).max()
    places = [(corner[0] + across, corner[1] + PLANE - up) for across, up in tips]
    short = []
    for start, end, name, weight in zip(
        places, places[1:], drawn.names, drawn.weights, strict=False
    ):
        ax.wire([start, end], "value", width=2)
        part = f"{number(float(weight))} {name}"
        if np.hypot(end[0] - start[0], end[1] - start[1]) > 40:
            at = ((start[0] + end[0]) / 2 + 7, (start[1] + end[1]) / 2 + 7)
            ax.note(at, part, "value", align="left")
        else:
            short.append(part)
    for number_of, part in enumerate(reversed(short)):
        at = (corner[0] + PLANE / 2, corner[1] - 12 - 16 * number_of)
        ax.note(at, part, "value")
    ax.wire([places[0], places[-1]], "context", width=3.6)


def _result(ax: Canvas, at: Point, drawn: _Drawn) -> None:
    text = f"new {drawn.names[drawn.row]}"
    ax.say((at[0] - 8, at[1]), text, "context", align="right", bold=True)
    look: dict[str, Any] = {"cell": (48, 28), "bold": True, "width": BOLD_LINE}
    ax.vector(at, drawn.context, "context", **look)
