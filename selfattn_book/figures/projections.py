"""One word forks into query, key and value; its query meets all keys, and all values flow back."""

from collections import namedtuple
from collections.abc import Sequence

from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas, listed, number, shape
from selfattn_book.draw.layout import WIDE

STEP = 32  # pixels from a key up to its query, and down to its value
ROW = 116  # pixels from word to word


# Columns: pixels from the left edge to each, and sizes of what is in them; `half` is the softmax's.
_Places = namedtuple(
    "_Places", "word cell role size trunk softmax half weight unit times context result text"
)
DESK = _Places(14, 28, 212, 96, 280, 366, 13, 394, 90, 494, 586, 100, 14)
ROLES = ("query", "key", "value")
PHONE = _Places(4, 16, 106, 70, 152, 176, 10, 190, 22, 224, 284, 56, 13)


def projections(x: Tensor, projections: Sequence[Tensor], names: Sequence[str]) -> Canvas:
    """Draw the query, key and value of each word, and the attention of the first query.

    The words are ``(T, d_model)``, with T 2 to 4, and the three matrices ``(d_model, 1)``.

    Example:
        >>> import torch
        >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> ones = torch.ones(2, 1)
        >>> ax = projections(x, [0 * ones, ones, torch.tensor([[0.0], [1.0]])], ["it", "fails"])
        >>> print(ax.get_label())
        Each word becomes a query, a key and a value. The query of it is 0.00. The key of it is 1.00,
        the score 0.00, the weight 0.50, the value 0.00. The key of fails is 1.00, the score 0.00,
        the weight 0.50, the value 1.00. The context of it is 0.50.
    """
    query, key, value = (x @ projection for projection in projections)
    context, weights = scaled_dot_product_attention(query, key, value)
    scores = (key @ query[0]).tolist()
    each = list(zip(names, key, scores, weights[0].tolist(), value, strict=True))
    result = "context", listed(context[0]), f"of {names[0]}"
    message = [
        "Each word becomes a query, a key and a value",
        f"The query of {names[0]} is {listed(query[0])}",
        *(
            f"The key of {name} is {listed(k)}, the score {number(score)}, "
            f"the weight {number(weight)}, the value {listed(v)}"
            for name, k, score, weight, v in each
        ),
        f"The context of {names[0]} is {listed(context[0])}",
    ]

    def draw(width: float) -> Canvas:
        at, row_of = (DESK, "row of") if width == WIDE else (PHONE, "1 of")
        ax = canvas(width, 62 + ROW * len(x))
        ys = [104 + ROW * i for i in range(len(x))]
        middle = (ys[0] + ys[-1]) / 2
        # Every weight depends on all scores.
        ax.box((at.softmax, middle), (2 * at.half, ys[-1] - ys[0] + 36), order=1)
        ax.say((at.softmax, (ys[0] + ys[1]) / 2 + 16), "softmax", turned=True)
        for i, y in enumerate(ys):
            ax.say((at.word, y - 25), names[i], align="left", bold=i == 0)
            ax.vector((at.word, y), x[i], "ink", cell=(at.cell, 26), digits=0)
            three = zip(ROLES, (query[i], key[i], value[i]), strict=True)
            texts = [f"{role} {listed(entries)}" for role, entries in three]
            _three_roles(ax, at, y, x.size(1), texts, idle=i > 0)
        for last in {ys[0], ys[-1]}:
            up = ys[0] - STEP
            way = [(at.role + at.size / 2, up), (at.trunk, up), (at.trunk, last)]
            ax.wire(way, "query", width=BOLD_LINE, head=False, over=True)
        for y, (_, _, score, weight, _) in zip(ys, each, strict=True):
            _weigh(ax, at, y, score, weight)
            end = (at.context - at.result / 2, middle + STEP + 0.1 * (y - middle))
            look = {"width": 1 + 14 * weight, "head": False, "curved": True}
            ax.wire([(at.times + 8, y + STEP), end], "value", **look)
            ax.node((at.times, y + STEP), "×")
        ax.box((at.context, middle + STEP), (at.result, 46), "context", width=BOLD_LINE)
        for text, role, down in zip(result, ("ink", "ink", "context"), (-10, 10, -36), strict=True):
            look = {"bold": role == "ink", "size": at.text}
            ax.say((at.context, middle + STEP + down), text, role, **look)
        for left, text, size in (
            (at.word + x.size(1) * at.cell / 2, "words", shape(x)),
            (at.role, "three roles", f"each {shape(query)}"),
            (at.weight + at.unit / 2, "weights", f"{row_of} {shape(weights)}"),
            (at.context, "context", f"{row_of} {shape(context)}"),
            *([(at.trunk + 32, "scores", f"{row_of} {shape(weights)}")] if at is DESK else []),
        ):
            ax.say((left, 14), text, "muted", bold=True)
            ax.note((left, 33), size, "muted")
        return ax.describe(*message)

    return both_widths(draw)


def _three_roles(
    ax: Canvas, at: _Places, y: float, count: int, texts: Sequence[str], *, idle: bool
) -> None:
    """Draw the projections of a word; only one word has its query used."""
    for step, role, text in zip((-STEP, 0, STEP), ROLES, texts, strict=True):
        unused = idle and role == "query"
        color = "muted" if unused else role
        way = [(at.word + count * at.cell, y), (at.role - at.size / 2, y + step)]
        ax.wire(way, color, curved=True, width=1 if unused else 2, dashed=unused)
        place, look = (at.role, y + step), {"dashed": unused, "filled": not unused}
        ax.box(place, (at.size, 26), color, text, text_size=at.text, **look)
    way = [(at.role + at.size / 2, y + STEP), (at.times, y + STEP)]
    ax.wire(way, "value", width=2, head=False, over=True)


def _weigh(ax: Canvas, at: _Places, y: float, score: float, weight: float) -> None:
    """Draw the dot product of a key and the query, and the weight after the softmax."""
    is_desk = at is DESK
    ax.wire([(at.role + at.size / 2, y), (at.trunk, y)], "key", width=2, head=False)
    ax.node((at.trunk, y), "·")
    if is_desk:
        ax.say((at.trunk + 13, y), number(score), align="left")
    ax.wire([(at.trunk + (52 if is_desk else 8), y), (at.softmax - at.half, y)])
    ax.wire([(at.softmax + at.half, y), (at.weight - 2, y)], head=is_desk)
    ax.hbar((at.weight, y), at.unit * weight, "weights")
    end = at.weight + at.unit * weight
    text = (end + 5, y) if is_desk else (at.weight, y - 18)
    ax.say(text, number(weight), "weights", align="left", size=at.text)
    way = [(end + (38 if is_desk else 2), y), (at.times, y), (at.times, y + STEP - 8)]
    ax.wire(way, "weights")
