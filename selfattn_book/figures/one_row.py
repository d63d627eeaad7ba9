"""One row of attention as a machine: vectors go in, are compared, and become one weighted sum."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live
from selfattn_book.draw.style import as_array
from selfattn_book.figures.live_marks import bars, vector, word

UNIT, MOST = 24, 1.1  # pixels of a bar for a score of 1, and the score from which all bars shrink
WEIGHT = 84  # pixels of a bar for a weight of 1
NEW: dict[str, Any] = {"cell": (48, 28), "bold": True, "width": BOLD_LINE}
PLANE = 140, 92  # pixels of the weighted sum, across and up
LETTER = 5.6  # pixels of a letter beside its steps
FINEST = 0.0055  # a pixel of the weighted sum is not less


def one_row(x: Tensor, names: Sequence[str], row: int = 0, *, temperature: float = 1.0) -> Canvas:
    """Draw what one row of attention without parameters computes on vectors ``(T, 2)``.

    Scores are also divided by the temperature.

    Example:
        >>> import torch
        >>> print(one_row(torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["east", "north"]).get_label())
        One row of attention as a machine. The query east, (1.00, 0.00), is compared with each word.
        east scores 1.00 and weighs 0.67. north scores 0.00 and weighs 0.33.
        The weighted sum is the new vector of east, (0.67, 0.33).
    """
    context, table = scaled_dot_product_attention(x / temperature, x, x)
    scores, weights, name = (x @ x[row]).tolist(), table[row].tolist(), names[row]
    each = zip(names, scores, weights, strict=True)
    message = [
        "One row of attention as a machine",
        f"The query {name}, ({listed(x[row])}), is compared with each word",
        *(f"{n} scores {number(s)} and weighs {number(w)}" for n, s, w in each),
        f"The weighted sum is the new vector of {name}, ({listed(context[row])})",
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
        _compare(ax, x, names, row, ys)
        zero = heads[1][0]
        live(ax, _score_bars, "scores", scores, zero=zero, ys=ys, end=0 if narrow else 340)
        _softmax(ax, zero, ys, temperature, low)
        for z, text in zip(zs, names if narrow else (), strict=False):
            ax.note((70, z), text, align="right")
        start = 78 if narrow else 398
        live(ax, bars, "weights", weights, zero=start, ys=zs, unit=WEIGHT, role="weights")
        steps: Any = {"steps": x * table[row, :, None], "weights": weights, "names": names}
        corner = (152, low + 156) if narrow else (478, 92)
        live(ax, _tip_to_tail, "sum", steps, corner=corner, plane=PLANE)
        end = (196, low + 274) if narrow else (528, ys[-1])
        at, align = ((end[0] - 8, end[1]), "right") if narrow else ((576, end[1] - 30), "center")
        live(ax, word, "new", f"new {name}", at=at, role="context", align=align)
        live(ax, vector, "context", context[row], at=end, role="context", **NEW)
        return ax.describe(*message)

    state = {"names": names, "x": x, "row": row, "temperature": temperature}
    return begin(both_widths(draw), "one-row", **state)


def _compare(ax: Canvas, x: Tensor, names: Sequence[str], row: int, ys: Sequence[float]) -> None:
    """Draw the query above the keys, column over column, and its line through all of them."""
    top, left, trunk = ys[0] - 52, 78, 178
    live(ax, word, "name", names[row], at=(left - 8, top), role="query", align="right")
    live(ax, vector, "query", x[row], at=(left, top), role="query", width=BOLD_LINE)
    for i, (y, name) in enumerate(zip(ys, names, strict=True)):
        ax.note((left - 8, y), name, align="right")
        live(ax, vector, f"key{i}", x[i], at=(left, y), role="key")
        ax.wire([(left + 84, y), (trunk, y)], "key", head=False)
    way = [(left + 84, top), (trunk, top), (trunk, ys[-1])]
    ax.wire(way, "query", width=BOLD_LINE, head=False)
    for y in ys:
        ax.node((trunk, y), "·")


def _softmax(
    ax: Canvas,
    zero: float,
    ys: Sequence[float],
    temperature: float,
    low: float,
) -> None:
    """Draw the softmax: upright beside the scores, or level below them on a phone."""
    if low:
        ax.wire([(zero, ys[-1] + 20), (zero, low + 26)])
        ax.box((156, low + 44), (300, 34))
        live(ax, _steps, "temperature", temperature, at=(156, low + 44))
        ax.wire([(108, low + 61), (108, low + 84)])
        return
    ax.say((356, 16), "softmax", "muted", bold=True)
    middle = (356, (ys[0] + ys[-1]) / 2)
    ax.box(middle, (32, ys[-1] - ys[0] + 44))
    live(ax, _steps, "temperature", temperature, at=middle, turned=True)
    for y in ys:
        ax.wire([(372, y), (394, y)])


def _steps(ax: Canvas, temperature: float, at: Point, *, turned: bool = False) -> None:
    """Write what the softmax does with the scores."""
    divided = "÷ √2" if temperature == 1 else f"÷ √2,  ÷ {number(temperature)}"
    ax.say(at, f"{'' if turned else 'softmax:  '}{divided},  exp,  ÷ sum", turned=turned)


def _score_bars(
    ax: Canvas, scores: Sequence[float], zero: float, ys: Sequence[float], end: float
) -> None:
    """Draw scores as bars, and lead each, from the end of its number, to the softmax."""
    unit = UNIT * min(1, MOST / max(MOST, *map(abs, scores)))
    bars(ax, scores, zero, ys, unit, "ink")
    for y, score in zip(ys, scores, strict=True) if end else ():
        ax.wire([(zero + 10 + unit * max(score, 0) + 34 * (score >= 0), y), (end, y)])


def _tip_to_tail(ax: Canvas, total: dict[str, Any], corner: Point, plane: Point) -> None:
    """Draw each weighted vector from the end of the one before it; the sum leads across.

    The text of a steep step is beside it, if it has a place there, and the others are above all steps.
    """
    texts = [f"{number(w)} {n}" for w, n in zip(total["weights"], total["names"], strict=True)]
    tips = np.vstack([np.zeros(2), as_array(total["steps"]).cumsum(0)])
    tips = (tips - tips.min(0)) / max((np.ptp(tips, axis=0) / plane).max(), FINEST)
    places = [(corner[0] + across, corner[1] + plane[1] - up) for across, up in tips]
    above: list[str] = []
    taken: list[float] = []
    for start, end, text in zip(places, places[1:], texts, strict=False):
        ax.wire([start, end], "value", width=2)
        x, y = (start[0] + end[0]) / 2 + 7, (start[1] + end[1]) / 2 + 7
        is_free = all(abs(y - other) > 15 for other in taken)
        is_inside = x + LETTER * len(text) < corner[0] + plane[0] + 18
        if abs(end[1] - start[1]) > 30 and is_free and is_inside:
            ax.note((x, y), text, "value", align="left")
            taken.append(y)
        else:
            above.insert(0, text)
    middle, top = corner[0] + max(50, tips[:, 0].max() / 2), min(y for _, y in places)
    for i, text in enumerate(above):
        ax.note((middle, top - 11 - 15 * i), text, "value")
    ax.wire([places[0], places[-1]], "context", width=3.6)
    ax.disc(places[0], 5, "context")
