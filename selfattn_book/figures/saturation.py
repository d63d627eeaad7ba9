"""What a softmax makes of the scores of narrow and of wide vectors, with the divisor and without."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from selfattn_book.draw.canvas import (
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    listed,
    number,
)
from selfattn_book.draw.layout import WIDE

MOST_KEYS = 8


@dataclass(frozen=True)
class _Row:
    """One query: the scores of its keys, and the weights that they become, largest first."""

    name: str
    scores: Tensor
    weights: Tensor


def saturation(queries: Sequence[Tensor], keys: Sequence[Tensor]) -> Canvas:
    r"""Draw the weights that queries of several widths give to their keys, undivided and divided.

    .. math:: \operatorname{softmax}(q K^{\mathsf T}) \quad\text{and}\quad
        \operatorname{softmax}(q K^{\mathsf T} / \sqrt D)

    A box is all the attention that a query has, so that a bar for a weight of 1 fills its height.

    Args:
        queries: one of ``(D,)`` for each width; 2 or 3 of them.
        keys: ``(S, D)`` for each, with S from 2 to 8.

    Example:
        >>> import torch
        >>> wide = torch.ones(4), torch.tensor([[0.0, 0, 0, 0], [1, 1, 1, 1]])
        >>> ax = saturation([torch.ones(1), wide[0]], [torch.ones(2, 1), wide[1]])
        >>> print(ax.get_label())
        The weights of 2 keys, from the largest to the smallest.
        D = 1: undivided, scores from 1.0 to 1.0 become weights 0.50, 0.50;
        divided by √1, scores from 1.0 to 1.0 become weights 0.50, 0.50.
        D = 4: undivided, scores from 0.0 to 4.0 become weights 0.98, 0.02;
        divided by √4, scores from 0.0 to 2.0 become weights 0.88, 0.12.
        >>> svg = ax.figure.to_svg()
        >>> svg.count(">0.98</text>"), svg.count("D = 4</text>")   # for a desk, and for a phone
        (2, 2)
    """
    pairs = [_both(query, key) for query, key in zip(queries, keys, strict=True)]
    message = [
        f"{plain.name}: undivided, {_say(plain)}; divided by √{len(query)}, {_say(divided)}"
        for query, (plain, divided) in zip(queries, pairs, strict=True)
    ]

    def draw(width: float) -> Canvas:
        ax = _on_desk(pairs) if width == WIDE else _on_phone(pairs)
        count = len(pairs[0][0].weights)
        opening = f"The weights of {count} keys, from the largest to the smallest"
        return ax.describe(opening, *message)

    return for_desk_and_phone(draw)


def _both(query: Tensor, keys: Tensor) -> tuple[_Row, _Row]:
    """Return the row as it is, and divided by the root of the width."""
    scores = (keys @ query).sort(descending=True).values
    divided = scores / len(query) ** 0.5
    plain, root = (_Row(f"D = {len(query)}", row, row.softmax(dim=0)) for row in (scores, divided))
    return plain, root


def _say(row: _Row) -> str:
    return f"{_extent(row)} become weights {listed(row.weights)}"


def _extent(row: _Row) -> str:
    least, greatest = float(row.scores[-1]), float(row.scores[0])
    return f"scores from {number(least, 1)} to {number(greatest, 1)}"


def _on_desk(pairs: Sequence[tuple[_Row, _Row]]) -> Canvas:
    """A column for each width, a line for each divisor."""
    ax = canvas(92 + 182 * len(pairs), 318)
    ax.say((0, 100), "softmax of", "muted", align="left", bold=True)
    ax.say((0, 120), "q · k", "muted", align="left", bold=True)
    ax.say((0, 244), "softmax of", "muted", align="left", bold=True)
    ax.say((0, 264), "q · k ÷ √D", "muted", align="left", bold=True)
    for i, (plain, divided) in enumerate(pairs):
        x = 92 + 182 * i
        ax.say((x + 82, 12), plain.name, "muted", bold=True)
        _bars(ax, (x, 62), (164, 86), plain)
        _bars(ax, (x, 206), (164, 86), divided)
    ax.note((92 + 91 * len(pairs) - 9, 308), _order(pairs), "muted")
    return ax


def _on_phone(pairs: Sequence[tuple[_Row, _Row]]) -> Canvas:
    """A line for each width, a column for each divisor."""
    ax = canvas(312, 52 + 134 * len(pairs))
    ax.note((74, 12), "softmax of q · k", "muted", bold=True)
    ax.note((236, 12), "softmax of q · k ÷ √D", "muted", bold=True)
    for i, (plain, divided) in enumerate(pairs):
        y = 84 + 134 * i
        ax.say((155, y - 44), plain.name, "muted", bold=True)
        _bars(ax, (4, y), (140, 62), plain)
        _bars(ax, (166, y), (140, 62), divided)
    ax.note((155, 42 + 134 * len(pairs)), _order(pairs), "muted")
    return ax


def _order(pairs: Sequence[tuple[_Row, _Row]]) -> str:
    count = len(pairs[0][0].weights)
    return f"bars: the weights of {count} keys, the largest first"


def _bars(ax: Canvas, corner: Point, size: Point, row: _Row) -> None:
    """Draw the weights in the box that all of them together would fill."""
    (x, y), (w, h) = corner, size
    step = w / len(row.weights)
    ax.note((x + w / 2, y - 23), _extent(row), "muted")
    ax.box((x + w / 2, y + h / 2), size, "weights", width=1, order=1)
    ax.line([(x, y + h), (x + w, y + h)])
    for i, weight in enumerate(row.weights):
        place = (x + (i + 0.5) * step, y + h)
        ax.vbar(place, h * float(weight), "weights", thick=0.7 * step)
    largest = float(row.weights[0])
    top = max(y + h * (1 - largest) - 9, y + 10)
    side = x + step + 4
    ax.say((side, top), number(largest), "weights", align="left")
