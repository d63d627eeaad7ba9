"""One word forks into query, key and value; its query meets all keys, and all values flow back."""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas, listed, number, shape
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.live import begin, live

STEP = 32  # pixels from a key up to its query, and down to its value
ROW = 116  # pixels from word to word


# Columns: pixels from the left edge to each, and sizes of what is in them; `half` is the softmax's, and
# `words` the width of a word's numbers.
_Places = namedtuple(
    "_Places", "word cell role size trunk softmax half weight unit times context result text words"
)
DESK = _Places(14, 28, 212, 96, 280, 366, 13, 394, 58, 494, 586, 100, 14, 0)
ROLES = ("query", "key", "value")
PHONE = _Places(4, 16, 106, 70, 152, 176, 10, 190, 22, 224, 284, 56, 13, 0)


def projections(
    x: Tensor,
    projections: Sequence[Tensor],
    names: Sequence[str],
    row: int = 0,
    *,
    settings: Mapping[str, Sequence[Tensor]] | None = None,
) -> Canvas:
    """Draw the query, key and value of each word, and the attention of the query of one row.

    The words are ``(T, d_model)``, with T 2 to 4, and the three matrices ``(d_model, 1)``. A live
    figure offers the settings, other matrices with names.

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
    scores, name = (key @ query[row]).tolist(), names[row]
    each = zip(names, key, scores, weights[row].tolist(), value, strict=True)
    message = [
        "Each word becomes a query, a key and a value",
        f"The query of {name} is {listed(query[row])}",
        *(
            f"The key of {other} is {listed(k)}, the score {number(score)}, "
            f"the weight {number(weight)}, the value {listed(v)}"
            for other, k, score, weight, v in each
        ),
        f"The context of {name} is {listed(context[row])}",
    ]
    shown = {
        "names": list(names),
        "x": x.tolist(),
        "roles": [role[:, 0].tolist() for role in (query, key, value)],
        "scores": scores,
        "weights": weights[row].tolist(),
        "context": float(context[row]),
        "row": row,
    }

    def draw(width: float) -> Canvas:
        at, row_of = (DESK, "row of") if width == WIDE else (PHONE, "1 of")
        ax = canvas(width, 62 + ROW * len(x))
        places = at._replace(words=x.size(1) * at.cell)._asdict()
        live(ax, _attention, "attention", shown, at=places, step=STEP, pitch=ROW)
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

    matrices = {name: [w[:, 0] for w in three] for name, three in (settings or {}).items()}
    entries = [w[:, 0] for w in projections]
    state = {"names": names, "x": x, "row": row, "entries": entries, "settings": matrices}
    return begin(both_widths(draw), "projections", **state)


def _attention(
    ax: Canvas, shown: Mapping[str, Any], at: Mapping[str, float], step: float, pitch: float
) -> None:
    """Draw the three roles of all words, and the attention of one row."""
    place, row, count = _Places(**at), shown["row"], len(shown["names"])
    ys = [104 + pitch * i for i in range(count)]
    middle = (ys[0] + ys[-1]) / 2
    # Every weight depends on all scores.
    ax.box((place.softmax, middle), (2 * place.half, ys[-1] - ys[0] + 36), order=1)
    ax.say((place.softmax, (ys[0] + ys[1]) / 2 + 16), "softmax", turned=True)
    for i, y in enumerate(ys):
        ax.say((place.word, y - 25), shown["names"][i], align="left", bold=i == row)
        ax.vector((place.word, y), shown["x"][i], "ink", cell=(place.cell, 26), digits=0)
        _three_roles(ax, place, y, step, [role[i] for role in shown["roles"]], idle=i != row)
    for last in (ys[0], ys[-1]):
        up = ys[row] - step
        way = [(place.role + place.size / 2, up), (place.trunk, up), (place.trunk, last)]
        ax.wire(way, "query", width=BOLD_LINE, head=False, over=True)
    for y, score, weight in zip(ys, shown["scores"], shown["weights"], strict=True):
        _weigh(ax, place, y, step, score, weight)
        end = (place.context - place.result / 2, middle + step + 0.1 * (y - middle))
        look: Any = {"width": 1 + 14 * weight, "head": False, "curved": True}
        ax.wire([(place.times + 8, y + step), end], "value", **look)
        ax.node((place.times, y + step), "×")
    ax.box((place.context, middle + step), (place.result, 46), "context", width=BOLD_LINE)
    texts = number(shown["context"]), f"of {shown['names'][row]}"
    for text, role, down in zip(
        ("context", *texts), ("ink", "ink", "context"), (-10, 10, -36), strict=True
    ):
        look = {"bold": role == "ink", "size": place.text}
        ax.say((place.context, middle + step + down), text, role, **look)


def _three_roles(
    ax: Canvas, at: _Places, y: float, step: float, entries: Sequence[float], *, idle: bool
) -> None:
    """Draw the projections of a word; only one word has its query used."""
    for down, role, entry in zip((-step, 0, step), ROLES, entries, strict=True):
        unused = idle and role == "query"
        color = "muted" if unused else role
        way = [(at.word + at.words, y), (at.role - at.size / 2, y + down)]
        ax.wire(way, color, curved=True, width=1 if unused else 2, dashed=unused)
        place, look = (at.role, y + down), {"dashed": unused, "filled": not unused}
        ax.box(place, (at.size, 26), color, f"{role} {number(entry)}", text_size=at.text, **look)
    way = [(at.role + at.size / 2, y + step), (at.times, y + step)]
    ax.wire(way, "value", width=2, head=False, over=True)


def _weigh(ax: Canvas, at: _Places, y: float, step: float, score: float, weight: float) -> None:
    """Draw the dot product of a key and the query, and the weight after the softmax."""
    is_desk = at.half == DESK.half
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
    way = [(end + (38 if is_desk else 2), y), (at.times, y), (at.times, y + step - 8)]
    ax.wire(way, "weights")
