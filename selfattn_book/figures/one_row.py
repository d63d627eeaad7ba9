"""One row of attention as a machine: vectors go in, are compared, and become one weighted sum."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_array

UNIT = 24  # pixels of a bar for a score of 1
WEIGHT = 84  # pixels of a bar for a weight of 1
PLANE = 140, 92  # pixels of the weighted sum, across and up


def one_row(x: Tensor, names: Sequence[str]) -> Canvas:
    """Draw what the first row of attention without parameters computes on vectors ``(T, 2)``.

    Example:
        >>> import torch
        >>> print(one_row(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["east", "north"]).get_label())
        One row of attention as a machine. The query east, (1.00, 0.00), is compared with each word.
        east scores 1.00 and weighs 0.67. north scores 0.00 and weighs 0.33.
        The weighted sum is the new vector of east, (0.67, 0.33).
    """
    context, table = scaled_dot_product_attention(x, x, x)
    scores, weights, name = (x @ x[0]).tolist(), table[0].tolist(), names[0]
    each = zip(names, scores, weights, strict=True)
    message = [
        "One row of attention as a machine",
        f"The query {name}, ({listed(x[0])}), is compared with each word",
        *(f"{n} scores {number(s)} and weighs {number(w)}" for n, s, w in each),
        f"The weighted sum is the new vector of {name}, ({listed(context[0])})",
    ]

    def draw(width: float) -> Canvas:
        narrow, count = width == NARROW, len(x)
        step, top = (38, 96) if narrow else (50, 108)
        low = 100 + 38 * count if narrow else 0  # where the phone's second half begins
        ax = canvas(width, low + 296 if narrow else 106 + step * count)
        ys = [top + step * i for i in range(count)]
        zs = [low + 136 + step * i for i in range(count)] if narrow else ys
        heads = ((112, 14), (252, 14), (100, low + 98), (226, low + 98))
        if not narrow:
            heads = ((112, 16), (262, 16), (424, 16), (548, 16))
        titles = ("compare", "scores", "weights", "weighted sum")
        for at, text in zip(heads, titles, strict=True):
            ax.say(at, text, "muted", bold=True)
        _compare(ax, x, names, ys)
        zero = heads[1][0]
        _bars(ax, zero, ys, scores, UNIT, "ink")
        _softmax(ax, zero, ys, scores, low)
        for z, text in zip(zs, names if narrow else (), strict=False):
            ax.note((70, z), text, align="right")
        _bars(ax, 78 if narrow else 398, zs, weights, WEIGHT, "weights")
        parts = [f"{number(w)} {n}" for n, w in zip(names, weights, strict=True)]
        _tip_to_tail(ax, (152, low + 150) if narrow else (478, 92), x * table[0, :, None], parts)
        end = (196, low + 274) if narrow else (528, ys[-1])
        at, align = ((end[0] - 8, end[1]), "right") if narrow else ((576, end[1] - 30), "center")
        ax.say(at, f"new {name}", "context", align=align, bold=True)
        ax.vector(end, context[0], "context", cell=(48, 28), bold=True, width=BOLD_LINE)
        return ax.describe(*message)

    return both_widths(draw)


def _compare(ax: Canvas, x: Tensor, names: Sequence[str], ys: Sequence[float]) -> None:
    """Draw the query above the keys, column over column, and its line through all of them."""
    top, left, trunk = ys[0] - 52, 78, 178
    ax.say((left - 8, top), names[0], "query", align="right", bold=True)
    ax.vector((left, top), x[0], "query", width=BOLD_LINE)
    for y, name, key in zip(ys, names, x, strict=True):
        ax.note((left - 8, y), name, align="right")
        ax.vector((left, y), key, "key")
        ax.wire([(left + 84, y), (trunk, y)], "key", head=False)
    way = [(left + 84, top), (trunk, top), (trunk, ys[-1])]
    ax.wire(way, "query", width=BOLD_LINE, head=False)
    for y in ys:
        ax.node((trunk, y), "·")


def _softmax(
    ax: Canvas, zero: float, ys: Sequence[float], scores: Sequence[float], low: float
) -> None:
    """Draw the softmax: upright beside the scores, or level below them on a phone."""
    if low:
        ax.wire([(zero, ys[-1] + 20), (zero, low + 26)])
        ax.box((156, low + 44), (300, 34), text="softmax:  ÷ √2,  exp,  ÷ sum")
        ax.wire([(108, low + 61), (108, low + 84)])
        return
    ax.say((356, 16), "softmax", "muted", bold=True)
    middle = (356, (ys[0] + ys[-1]) / 2)
    ax.box(middle, (32, ys[-1] - ys[0] + 44))
    ax.say(middle, "÷ √2,  exp,  ÷ sum", turned=True)
    for y, score in zip(ys, scores, strict=True):
        ax.wire([(zero + 10 + UNIT * max(score, 0) + 34 * (score > 0), y), (340, y)])
        ax.wire([(372, y), (394, y)])


def _bars(
    ax: Canvas, zero: float, ys: Sequence[float], values: Sequence[float], unit: float, role: str
) -> None:
    """Draw numbers as bars from a zero line, each with its number at its end."""
    for y, value in zip(ys, values, strict=True):
        ax.hbar((zero, y), unit * value, role)
        side, align = (6, "left") if value >= 0 else (-6, "right")
        ax.say((zero + unit * value + side, y), number(value), role, align=align)
    ax.line([(zero, ys[0] - 16), (zero, ys[-1] + 16)])


def _tip_to_tail(ax: Canvas, corner: Point, steps: Tensor, texts: Sequence[str]) -> None:
    """Draw each weighted vector from the end of the one before it; the sum leads across."""
    tips = np.vstack([np.zeros(2), as_array(steps).cumsum(0)])
    tips = (tips - tips.min(0)) / (np.ptp(tips, axis=0) / PLANE).max()
    places = [(corner[0] + across, corner[1] + PLANE[1] - up) for across, up in tips]
    flat: list[str] = []
    for start, end, text in zip(places, places[1:], texts, strict=False):
        ax.wire([start, end], "value", width=2)
        if abs(end[1] - start[1]) > 30:
            at = ((start[0] + end[0]) / 2 + 7, (start[1] + end[1]) / 2 + 7)
            ax.note(at, text, "value", align="left")
        else:  # above the drawing
            flat.insert(0, text)
    middle, top = corner[0] + tips[:, 0].max() / 2, min(y for _, y in places)
    for i, text in enumerate(flat):
        ax.note((middle, top - 12 - 16 * i), text, "value")
    ax.wire([places[0], places[-1]], "context", width=3.6)
