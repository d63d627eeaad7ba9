"""One word forks into query, key and value; its query touches all keys, and all values flow back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    TEXT,
    Canvas,
    canvas,
    for_desk_and_phone,
    listed,
    number,
    shape,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL

STEP = 32  # pixels from a key up to its query, and down to its value
ROW = 116  # pixels from word to word


@dataclass
class _Places:
    """Positions of the columns, in pixels from the left edge."""

    word: float
    cell: float
    role: float
    size: float
    trunk: float
    softmax: float
    weight: float
    unit: float
    times: float
    context: float


DESK = _Places(14, 28, 212, 96, 280, 366, 394, 90, 494, 586)
PHONE = _Places(4, 16, 106, 70, 152, 176, 190, 22, 224, 284)


def projections(
    x: Tensor, projections: Sequence[Tensor], names: Sequence[str], row: int = 0
) -> Canvas:
    r"""Draw the query, key and value of each word, and the attention of one query.

    .. math:: y_i = \sum_j w_{ij} v_j, \qquad
        w_{ij} = \operatorname{softmax}_j\!\big(q_i \cdot k_j / \sqrt{d_\text{head}}\big)

    Args:
        x: ``(T, d_model)``, with T 2 to 4 and d_model at most 3.
        projections: three matrices ``(d_model, 1)``, for queries, keys and values.
        names: words.
        row: index of the query.

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
    drawn = _compute(x, projections, names, row)

    def draw(width: float) -> Canvas:
        at = DESK if width == WIDE else PHONE
        ax = canvas(width, 62 + ROW * len(x))
        rows = [104 + ROW * i for i in range(len(x))]
        _softmax(ax, at, rows)
        for i, y in enumerate(rows):
            _three_roles(ax, at, y, drawn, i)
        _follow_query(ax, at, rows, row)
        for y, score, weight in zip(rows, drawn.scores, drawn.weights_of_row, strict=True):
            _compare(ax, at, y, float(score), float(weight))
            _flow_back(ax, at, y, rows, float(weight))
        _result(ax, at, (rows[0] + rows[-1]) / 2 + STEP, drawn)
        _heads(ax, at, drawn)
        return ax.describe(*_sentences(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """The words, their projections, and one row of attention."""

    names: list[str]
    row: int
    words: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    weights: Tensor
    context: Tensor

    @property
    def scores(self) -> Tensor:
        return self.key @ self.query[self.row]

    @property
    def weights_of_row(self) -> Tensor:
        return self.weights[self.row]


def _compute(x: Tensor, projections: Sequence[Tensor], names: Sequence[str], row: int) -> _Drawn:
    """Compute the attention that is drawn."""
    query, key, value = (x @ projection for projection in projections)
    context, weights = scaled_dot_product_attention(query, key, value)
    return _Drawn(list(names), row, x, query, key, value, weights, context)


def _sentences(drawn: _Drawn) -> list[str]:
    """Describe the drawing."""
    asks = drawn.names[drawn.row]
    each = zip(drawn.names, drawn.key, drawn.scores, drawn.weights_of_row, drawn.value, strict=True)
    return [
        "Each word becomes a query, a key and a value",
        f"The query of {asks} is {listed(drawn.query[drawn.row])}",
        *(
            f"The key of {name} is {listed(k)}, the score {number(float(score))}, "
            f"the weight {number(float(weight))}, the value {listed(v)}"
            for name, k, score, weight, v in each
        ),
        f"The context of {asks} is {listed(drawn.context[drawn.row])}",
    ]


def _three_roles(ax: Canvas, at: _Places, y: float, drawn: _Drawn, i: int) -> None:
    """Draw a word and its three projections; only one word has its query used."""
    ax.say((at.word, y - 25), drawn.names[i], align="left", bold=i == drawn.row)
    ax.vector((at.word, y), drawn.words[i], "ink", cell=(at.cell, 26), digits=0)
    end = at.word + drawn.words.size(1) * at.cell
    roles = {"query": drawn.query, "key": drawn.key, "value": drawn.value}
    for step, (role, entries) in zip((-STEP, 0, STEP), roles.items(), strict=True):
        idle = role == "query" and i != drawn.row
        color = "muted" if idle else role
        way = [(end, y), (at.role - at.size / 2, y + step)]
        ax.wire(way, color, curved=True, width=1 if idle else 2, dashed=idle)
        place, size = (at.role, y + step), (at.size, 26)
        look: dict[str, Any] = {"dashed": idle, "filled": not idle, "text_size": _size(at)}
        ax.box(place, size, color, f"{role} {listed(entries[i])}", **look)
    way = [(at.role + at.size / 2, y + STEP), (at.times, y + STEP)]
    ax.wire(way, "value", width=2, head=False, over=True)


def _softmax(ax: Canvas, at: _Places, rows: Sequence[float]) -> None:
    """Draw the softmax over all rows, since every weight depends on all scores."""
    high = rows[-1] - rows[0] + 36
    ax.box((at.softmax, (rows[0] + rows[-1]) / 2), (26 if at is DESK else 20, high), order=1)
    ax.say((at.softmax, (rows[0] + rows[1]) / 2 + 16), "softmax", turned=True)


def _follow_query(ax: Canvas, at: _Places, rows: Sequence[float], row: int) -> None:
    start = (at.role + at.size / 2, rows[row] - STEP)
    trunk = (at.trunk, rows[row] - STEP)
    for end in {rows[0], rows[-1]}:
        way = [start, trunk, (at.trunk, end)]
        ax.wire(way, "query", width=BOLD_LINE, head=False, over=True)


def _compare(ax: Canvas, at: _Places, y: float, score: float, weight: float) -> None:
    """Draw the dot product of a key and the query, and the weight after the softmax."""
    left = (at.role + at.size / 2, y)
    ax.wire([left, (at.trunk, y)], "key", width=2, head=False)
    ax.node((at.trunk, y), "·")
    half, is_desk = (13, True) if at is DESK else (10, False)
    if is_desk:
        ax.say((at.trunk + 13, y), number(score), align="left")
    ax.wire([(at.trunk + (52 if is_desk else 8), y), (at.softmax - half, y)])
    ax.wire([(at.softmax + half, y), (at.weight - 2, y)], head=is_desk)
    ax.hbar((at.weight, y), at.unit * weight, "weights")
    end = at.weight + at.unit * weight
    text = (end + 5, y) if is_desk else (at.weight, y - 18)
    ax.say(text, number(weight), "weights", align="left", size=_size(at))
    way = [(end + (38 if is_desk else 2), y), (at.times, y), (at.times, y + STEP - 8)]
    ax.wire(way, "weights")


def _flow_back(ax: Canvas, at: _Places, y: float, rows: Sequence[float], weight: float) -> None:
    """Lead a value to the context, as thick as its weight."""
    middle = (rows[0] + rows[-1]) / 2
    edge = at.context - (50 if at is DESK else 28)
    end = (edge, middle + STEP + 0.1 * (y - middle))
    way = [(at.times + 8, y + STEP), end]
    ax.wire(way, "value", width=1 + 14 * weight, head=False, curved=True)
    ax.node((at.times, y + STEP), "×")


def _result(ax: Canvas, at: _Places, y: float, drawn: _Drawn) -> None:
    size = (100, 46) if at is DESK else (56, 46)
    context, name = drawn.context[drawn.row], drawn.names[drawn.row]
    ax.box((at.context, y), size, "context", width=BOLD_LINE)
    ax.say((at.context, y - 10), "context", bold=True, size=_size(at))
    ax.say((at.context, y + 10), listed(context), bold=True, size=_size(at))
    ax.say((at.context, y - 36), f"of {name}", "context", size=_size(at))


def _heads(ax: Canvas, at: _Places, drawn: _Drawn) -> None:
    """Write the titles and shapes of the columns."""
    middle = at.word + drawn.words.size(1) * at.cell / 2
    row_of = "row of" if at is DESK else "1 of"  # a phone has no room
    one_of = f"{row_of} {shape(drawn.weights)}"
    columns = [
        (middle, "words", shape(drawn.words)),
        (at.role, "three roles", f"each {shape(drawn.query)}"),
        (at.weight + at.unit / 2, "weights", one_of),
        (at.context, "context", f"{row_of} {shape(drawn.context)}"),
    ]
    if at is DESK:
        columns += [(at.trunk + 32, "scores", one_of)]
    ax.titles([(x, title) for x, title, _ in columns], 14)
    for x, _, text in columns:
        ax.note((x, 33), text, "muted")


def _size(at: _Places) -> float:
    return TEXT if at is DESK else SMALL
