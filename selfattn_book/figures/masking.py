"""A mask over scores, a mask broadcast over heads and queries, and the inputs that reach an output."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from selfattn_book.attention import masked_softmax
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    listed,
    number,
    shape,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.scene import Node, column, note, row, show, step, table, title

HEIGHT = 38  # pixels of a row of numbers
PAIR = (22, 22)  # pixels of a pair without a number


def with_mask(scores: Tensor, mask: Tensor, names: Sequence[str]) -> Canvas:
    r"""Draw scores, the mask laid over them, and the weights that are left, with the sum of each row.

    .. math:: w_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}

    Args:
        scores: ``(T, T)``, with T 2 or 3.
        mask: ``(T, T)``, boolean, ``True`` = may attend.
        names: words, of at most four letters.

    Example:
        >>> import torch
        >>> seen = torch.tensor([[True, False], [True, True]])
        >>> print(with_mask(torch.zeros(2, 2), seen, ["a", "cat"]).get_label())
        A mask laid over scores. Row a: scores 0.00, 0.00; the mask leaves a; weights 1.00, 0.00.
        Row cat: scores 0.00, 0.00; the mask leaves a, cat; weights 0.50, 0.50.
    """
    weights = masked_softmax(scores, mask)
    count, totals = len(names), [f"sum {number(float(w.sum()))}" for w in weights]
    message = [
        f"Row {name}: scores {listed(s)}; the mask leaves "
        f"{', '.join(n for n, seen in zip(names, m, strict=True) if seen) or 'nothing'}; "
        f"weights {listed(w)}"
        for name, s, m, w in zip(names, scores, mask, weights, strict=True)
    ]

    def matrix(heading: str, wide: float, *, rows: bool = False) -> Node:
        size = (wide / count - 3, HEIGHT - 3)

        def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
            if heading != "scores" and not mask[i, j]:
                ax.masked(at, size, "−∞" if heading == "masked" else "0")
            elif heading == "weights":
                _weight(ax, at, size, float(weights[i, j]))
            else:
                ax.box(at, size, "ink", number(float(scores[i, j])), width=1)

        grid = table(
            *((count, count), (wide / count, HEIGHT), entry),
            rows=names if rows else (),
            columns=names,
            axes=("queries", "keys") if rows and heading == "scores" else ("", ""),
        )
        return column(title(heading), grid)

    def build(narrow: bool) -> Node:
        wide = 98 if narrow else 122
        tables = matrix("scores", wide, rows=True), matrix("masked", wide)
        first = row(tables[0], step("mask", length=28), tables[1], gap=3)
        sums = column(*(note(text, "weights") for text in totals), gap=HEIGHT - 17)
        last = matrix("weights", 144 if narrow else 122, rows=narrow)
        return row(first, step("softmax", length=56), row(last, sums, align=0.85))

    return show(build, "A mask laid over scores", *message)


def _weight(ax: Canvas, at: Point, size: Point, weight: float) -> None:
    """Draw a weight as a number and as a bar."""
    ax.box(at, size, "weights", width=1)
    (x, y), long = at, size[0] - 11
    ax.say((x, y - 6), number(weight))
    ax.hbar((x - long / 2, y + 10), long * weight, "weights", thick=6)


def repeated_mask(mask: Tensor, heads: int, queries: int) -> Canvas:
    """Draw a padding mask for each sequence, and how broadcasting repeats it over heads and queries.

    Args:
        mask: ``(B, 1, 1, S)``, boolean, ``True`` = may attend.
        heads: number of heads of the scores.
        queries: number of queries.

    Example:
        >>> import torch
        >>> mask = torch.tensor([[True, True, True], [True, False, False]])[:, None, None]
        >>> ax = repeated_mask(mask, heads=2, queries=3)
        >>> print(ax.get_label())
        A mask of shape (2, 1, 1, 3), repeated to (2, 2, 3, 3). Sentence 0: every query of every
        head may attend to keys 0, 1, 2. Sentence 1: every query of every head may attend to keys 0.
        >>> [text.get_text() for text in ax.texts].count("✓")   # 3 + 1, and each 2 * 3 times more
        28
    """
    whole = mask.expand(-1, heads, queries, -1)
    message = [
        f"Sentence {b}: every query of every head may attend to keys "
        f"{', '.join(map(str, keys.nonzero().flatten().tolist())) or 'none'}"
        for b, keys in enumerate(mask[:, 0, 0])
    ]

    def build(narrow: bool) -> Node:
        lines = [column(title("the mask"), note(shape(mask)), gap=2)]
        spread = [column(title("broadcast to the scores"), note(shape(whole)), gap=2)]
        for b in range(len(mask)):
            strip = column(note(f"sentence {b}", bold=True), _pairs(mask[b, 0]), gap=4)
            tables = [
                column(note(f"head {h}"), _pairs(whole[b, h], named=not h), gap=4)
                for h in range(heads)
            ]
            lines.append(strip)
            spread.append(row(*tables, gap=6 if narrow else 30, align=0))
        if narrow:
            pairs = [node for pair in zip(lines, spread, strict=True) for node in pair]
            head, rest = row(*pairs[:2], gap=24), pairs[2:]
            parts = [
                column(strip, step("for each head and query"), tables, gap=4)
                for strip, tables in zip(rest[::2], rest[1::2], strict=True)
            ]
            return column(head, *parts, gap=14)
        steps = [step(length=56) for _ in lines[1:]]
        body = [row(*parts, gap=20) for parts in zip(lines[1:], steps, spread[1:], strict=True)]
        return column(row(lines[0], spread[0], gap=160), *body, gap=16)

    return show(build, f"A mask of shape {shape(mask)}, repeated to {shape(whole)}", *message)


def _pairs(mask: Tensor, *, named: bool = False) -> Node:
    """Draw a mask: a tick where a query may attend, and a hatched cell elsewhere."""
    size = (PAIR[0] - 2, PAIR[1] - 2)

    def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
        if mask[i, j]:
            ax.box(at, size, "ink", "✓", width=1)
        else:
            ax.masked(at, size)

    axes = ("queries", "keys") if named else ("", "")
    return table((mask.size(0), mask.size(1)), PAIR, entry, axes=axes)


def what_reaches(flows: Sequence[Tensor], names: Sequence[str], output: int = -1) -> Canvas:
    """Draw the inputs that one output depends on through several layers, from the inputs upwards.

    Args:
        flows: for each layer ``(T, T)``, not 0 where the row's word depends on the column's word.
        names: words, of at most four letters.
        output: position of the output.

    Example:
        >>> import torch
        >>> near = torch.ones(4, 4).tril().triu(-1)   # itself and its left neighbor
        >>> print(what_reaches([near, near], ["a", "cat", "sat", "on"]).get_label())
        What reaches the output on through 2 layers. After layer 1: sat, on. Of the inputs: cat, sat,
        on. Nothing else does.
    """
    used, depth = _used(flows, output % len(names)), len(flows)
    message = [
        f"{f'After layer {level}' if level else 'Of the inputs'}: "
        f"{', '.join(names[i] for i in used[level])}"
        for level in reversed(range(depth))
    ]

    def draw(width: float) -> Canvas:
        left, size = (88.0, (58.0, 30.0)) if width == WIDE else (56.0, (36.0, 28.0))
        pitch = min((width - left) / len(names), 1.6 * size[0])
        bottom = 24 + 74 * depth
        ax = canvas(width, bottom + 22)
        at = [
            [(left + (i + 0.5) * pitch, bottom - 74 * level) for i in range(len(names))]
            for level in range(depth + 1)
        ]
        for level, flow in enumerate(flows):
            _layer(ax, flow, used[level + 1], at[level : level + 2], size[1] / 2)
        for level, places in enumerate(at):
            name = f"layer {level}" if level else "inputs"
            ax.note((4, places[0][1]), name, "muted", align="left", bold=True)
            for i, place in enumerate(places):
                role, look = _look(reaches=i in used[level], last=level == depth)
                ax.box(place, size, role, names[i], **look)
        layers = f"{depth} layer{'s' * (depth > 1)}"
        opening = f"What reaches the output {names[output]} through {layers}"
        return ax.describe(opening, *message, "Nothing else does")

    return for_desk_and_phone(draw)


def _used(flows: Sequence[Tensor], output: int) -> list[list[int]]:
    """Return for each level, from the inputs up to the output, the positions that reach the output.

    >>> import torch
    >>> _used([torch.ones(3, 3).tril()] * 2, 1)
    [[0, 1], [0, 1], [1]]
    """
    levels = [[output]]
    for flow in reversed(flows):
        rows = flow[levels[0]] != 0
        levels.insert(0, rows.any(dim=0).nonzero().flatten().tolist())
    return levels


def _layer(
    ax: Canvas, flow: Tensor, used: Sequence[int], at: Sequence[Sequence[Point]], half: float
) -> None:
    """Draw the dependencies of one layer; those of the output are thick, and drawn last."""
    below, above = at
    pairs = (flow != 0).nonzero().tolist()
    for i, j in sorted(pairs, key=lambda pair: pair[0] in used):
        way = [(below[j][0], below[j][1] - half), (above[i][0], above[i][1] + half)]
        if i in used:
            ax.wire(way, "value", width=BOLD_LINE)
        else:
            ax.wire(way, "muted", width=1, dashed=True, head=False)


def _look(*, reaches: bool, last: bool) -> tuple[str, dict[str, Any]]:
    if reaches:
        return "context" if last else "value", {"width": BOLD_LINE, "bold": True}
    return "muted", {"filled": False, "dashed": True, "width": 1}
