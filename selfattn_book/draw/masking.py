"""A mask laid over scores, one repeated along their axes, and what reaches an output through layers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.attention import masked_softmax
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Point,
    bar,
    box,
    canvas,
    for_desk_and_phone,
    hatch,
    number,
    say,
    shape,
    tell,
    titles,
    wire,
)
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import line_names

HEIGHT = 38  # pixels of a cell


def with_mask(scores: Tensor, mask: Tensor, names: Sequence[str]) -> Axes:
    r"""Draw scores, the mask laid over them, and the weights that are left, with the sum of each row.

    .. math:: w_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}

    Args:
        scores: ``(T, T)``, of every query for every key; T is 2 or 3.
        mask: ``(T, T)``, boolean, ``True`` = may attend.
        names: one per word, of four letters at most.

    Returns:
        The axes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the scores are no square of a size that can be drawn, the mask is not of their
            shape, or the names do not fit.

    Example:
        >>> import torch
        >>> seen = torch.tensor([[True, False], [True, True]])
        >>> ax = with_mask(torch.zeros(2, 2), seen, ["a", "cat"])
        >>> print(ax.get_label())
        A mask laid over scores. Row a: scores 0.00, 0.00; the mask leaves a; weights 1.00, 0.00.
        Row cat: scores 0.00, 0.00; the mask leaves a, cat; weights 0.50, 0.50.
        >>> [text.get_text() for text in ax.texts].count("−∞")
        1
        >>> with_mask(torch.zeros(2, 2), ~seen, ["a", "cat"]).get_label()[25:]
        'Row a: scores 0.00, 0.00; the mask leaves cat; weights 0.00, 1.00. Row cat: scores 0.00, 0.00;
        the mask leaves nothing; weights 0.00, 0.00.'
        >>> with_mask(torch.zeros(5, 5), seen, ["a", "cat"])
        Traceback (most recent call last):
        ValueError: scores must have shape (T, T), with T 2 or 3; got (5, 5)
        >>> with_mask(torch.zeros(2, 2), seen[:1], ["a", "cat"])
        Traceback (most recent call last):
        ValueError: mask must have the shape of the scores, (2, 2); got (1, 2)
        >>> with_mask(torch.zeros(2, 2), seen, ["a", "trees"])
        Traceback (most recent call last):
        ValueError: a name may have at most 4 letters; got 'trees'
    """
    drawn = _masked(scores, mask, names)

    def draw(width: float) -> Axes:
        place = _on_phone if width == NARROW else _on_desk
        ax, tables = place(len(drawn.names))
        for table, title in zip(
            tables, ("scores", "masked", "weights"), strict=True
        ):
            _frame(ax, table, drawn.names, title)
        _pairs(ax, drawn, tables)
        _sums(ax, drawn.weights, tables[2])
        return tell(ax, "A mask laid over scores", *_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Masked:
    """What is drawn: the scores, who may see whom, and the weights that are left."""

    scores: Tensor
    mask: Tensor
    weights: Tensor
    names: list[str]


def _masked(scores: Tensor, mask: Tensor, names: Sequence[str]) -> _Masked:
    """Check what is given, and compute the weights."""
    count = len(scores) if scores.dim() == 2 else 0
    if count not in (2, 3) or scores.size(1) != count:
        rule = "scores must have shape (T, T), with T 2 or 3"
        raise ValueError(f"{rule}; got {tuple(scores.shape)}")
    if mask.shape != scores.shape:
        rule = f"mask must have the shape of the scores, {tuple(scores.shape)}"
        raise ValueError(f"{rule}; got {tuple(mask.shape)}")
    names = _short_names(names, count, letters=4)
    return _Masked(scores, mask, masked_softmax(scores, mask), names)


def _told(drawn: _Masked) -> list[str]:
    """Say what each row shows."""
    rows = zip(drawn.names, drawn.scores, drawn.mask, drawn.weights, strict=True)
    return [
        f"Row {name}: scores {_row(s)}; the mask leaves {_seen(m, drawn.names)}; weights {_row(w)}"
        for name, s, m, w in rows
    ]


@dataclass
class _Table:
    """Where a table stands: its upper left corner, and the width of its cells."""

    corner: Point
    side: float
    named: bool = True  # whether the names of its rows stand beside it

    def middle(self, row: float, column: float) -> Point:
        x, y = self.corner
        return x + (column + 0.5) * self.side, y + (row + 0.5) * HEIGHT


def _on_desk(count: int) -> tuple[Axes, list[_Table]]:
    """Place three tables beside each other, and the steps between them."""
    high, gap, side = count * HEIGHT, 62, 366 / (3 * count)
    ax, middle = canvas(WIDE, 52 + high + 8), 52 + high / 2
    tables = [
        _Table((66 + i * (count * side + gap), 52), side, named=not i)
        for i in range(3)
    ]
    for table, name in zip(tables, ("mask", "softmax"), strict=False):
        left = table.corner[0] + count * side
        wire(ax, [(left + 8, middle), (left + gap - 8, middle)])
        say(ax, (left + gap / 2, middle - 14), name, size=SMALL, bold=True)
    return ax, tables


def _on_phone(count: int) -> tuple[Axes, list[_Table]]:
    """Place two tables beside each other and the third below, so that one screen holds them."""
    high, side, wide = count * HEIGHT, 108 / count, 144
    ax, middle, low = canvas(NARROW, 140 + 2 * high), 52 + high / 2, 132 + high
    tables = [
        _Table((56, 52), side),
        _Table((202, 52), side, named=False),
        _Table((104, low), wide / count),
    ]
    wire(ax, [(170, middle), (198, middle)])
    say(ax, (183, middle - 14), "mask", size=SMALL, bold=True)
    wire(ax, [(226, 52 + high + 8), (226, low - 26)])
    say(ax, (236, 52 + high + 24), "softmax", align="left", size=SMALL, bold=True)
    return ax, tables


def _frame(ax: Axes, table: _Table, names: Sequence[str], title: str) -> None:
    """Name a table, its columns, and its rows where these do not stand beside it already."""
    (x, y), count = table.corner, len(names)
    titles(ax, [(x + count * table.side / 2, title)], y - 38)
    for i, name in enumerate(names):
        say(ax, (table.middle(0, i)[0], y - 15), name, "key")
        if table.named:
            place = (x - 8, table.middle(i, 0)[1])
            say(ax, place, name, "query", align="right")
    if title == "scores":
        middle = y + count * HEIGHT / 2
        say(ax, (12, middle), "queries", "query", size=SMALL, turned=True)
        say(ax, (x - 8, y - 15), "keys", "key", size=SMALL, align="right")


def _pairs(ax: Axes, drawn: _Masked, tables: Sequence[_Table]) -> None:
    """Draw each pair of a query and a key in all three tables."""
    sizes = [(table.side - 3, HEIGHT - 3) for table in tables]
    for i, query in enumerate(
        zip(drawn.scores, drawn.mask, drawn.weights, strict=True)
    ):
        for j, (score, seen, weight) in enumerate(zip(*query, strict=True)):
            at = [table.middle(i, j) for table in tables]
            text = number(float(score))
            box(ax, at[0], sizes[0], "ink", text, width=1)
            if seen:
                box(ax, at[1], sizes[1], "ink", text, width=1)
                _weight(ax, at[2], sizes[2], float(weight))
            else:
                _hidden(ax, at[1], sizes[1], "−∞")
                _hidden(ax, at[2], sizes[2], "0")


def _sums(ax: Axes, weights: Tensor, table: _Table) -> None:
    """Write the sum of each row beside the weights."""
    for i, row in enumerate(weights):
        x, y = table.middle(i, len(weights) - 1)
        place, total = (
            (x + table.side / 2 + 8, y),
            f"sum {number(float(row.sum()))}",
        )
        say(ax, place, total, "weights", align="left", size=SMALL)


def _weight(ax: Axes, at: Point, size: Point, weight: float) -> None:
    """Draw a weight as a number and as a bar."""
    box(ax, at, size, "weights", width=1)
    (x, y), long = at, size[0] - 11
    say(ax, (x, y - 6), number(weight))
    bar(ax, (x - long / 2, y + 10), long * weight, "weights", thick=6)


def _hidden(ax: Axes, at: Point, size: Point, text: str) -> None:
    """Draw a pair that the mask forbids."""
    box(ax, at, size, "mask", width=1)
    hatch(ax, at, size)
    box(ax, at, (24, 20), "mask", text, width=0, order=5.5)


def repeated_mask(mask: Tensor, heads: int, queries: int) -> Axes:
    """Draw the mask of each sentence, and how broadcasting repeats it for every head and query.

    Args:
        mask: ``(B, 1, 1, S)``, boolean, ``True`` = may attend; B is 1 to 3, and S 2 to 4.
        heads: how many heads the scores have, 1 to 3.
        queries: how many queries, 1 to 4.

    Returns:
        The axes.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: the mask has another shape, or there are too many heads or queries to be drawn.

    Example:
        >>> import torch
        >>> mask = torch.tensor([[True, True, True], [True, False, False]])[:, None, None]
        >>> ax = repeated_mask(mask, heads=2, queries=3)
        >>> print(ax.get_label())
        A mask of shape (2, 1, 1, 3), repeated to (2, 2, 3, 3). Sentence 0: every query of every
        head may see keys 0, 1, 2. Sentence 1: every query of every head may see keys 0.
        >>> [text.get_text() for text in ax.texts].count("✓")   # 3 + 1, and each 2 * 3 times more
        28
        >>> repeated_mask(mask.int(), heads=2, queries=3)
        Traceback (most recent call last):
        TypeError: a mask is boolean, True where a query may attend; got torch.int32
        >>> repeated_mask(mask[:, 0], heads=2, queries=3)
        Traceback (most recent call last):
        ValueError: mask must have shape (B, 1, 1, S), with B from 1 to 3 and S from 2 to 4;
        got (2, 1, 3)
        >>> repeated_mask(mask, heads=2, queries=5)
        Traceback (most recent call last):
        ValueError: there must be 1 to 3 heads and 1 to 4 queries; got 2 and 5
    """
    _check_repeated(mask, heads, queries)
    whole = mask.expand(-1, heads, queries, -1)  # as the scores have it
    told = f"A mask of shape {shape(mask)}, repeated to {shape(whole)}"
    each = [
        f"Sentence {b}: every query of every head may see keys "
        f"{', '.join(map(str, row.nonzero().flatten().tolist())) or 'none'}"
        for b, row in enumerate(mask[:, 0, 0])
    ]

    def draw(width: float) -> Axes:
        at = _spread_on_phone if width == NARROW else _spread_on_desk
        ax, strips, tables = at(whole)
        for b, strip in enumerate(strips):
            _seen_or_not(ax, strip, mask[b, 0])
            (x, y), long = strip, mask.size(3) * CELL
            say(ax, (x + long / 2, y - 14), f"sentence {b}", size=SMALL, bold=True)
            for h, table in enumerate(tables[b]):
                _seen_or_not(ax, table, whole[b, h])
                middle = (table[0] + long / 2, table[1] - 14)
                say(ax, middle, f"head {h}", size=SMALL)
        return tell(ax, told, *each)

    return for_desk_and_phone(draw)


CELL = 22  # pixels of a pair in a table of pairs that have no numbers


def _check_repeated(mask: Tensor, heads: int, queries: int) -> None:
    """Refuse what does not fit into the drawing."""
    if mask.dtype != torch.bool:
        rule = "a mask is boolean, True where a query may attend"
        raise TypeError(f"{rule}; got {mask.dtype}")
    sizes = mask.shape if mask.dim() == 4 else (0, 0, 0, 0)
    if sizes[1:3] != (1, 1) or not 1 <= sizes[0] <= 3 or not 2 <= sizes[3] <= 4:
        rule = "mask must have shape (B, 1, 1, S), with B from 1 to 3 and S from 2 to 4"
        raise ValueError(f"{rule}; got {tuple(mask.shape)}")
    if not (1 <= heads <= 3 and 1 <= queries <= 4):
        rule = "there must be 1 to 3 heads and 1 to 4 queries"
        raise ValueError(f"{rule}; got {heads} and {queries}")


def _spread_on_desk(whole: Tensor) -> tuple[Axes, list[Point], list[list[Point]]]:
    """Place the mask of each sentence on the left, and its tables, a head each, to the right."""
    count, heads, queries, keys = whole.shape
    long, high = keys * CELL, queries * CELL
    pitch, top, left, first = high + 56, 74.0, 36.0, 260.0
    ax = canvas(WIDE, top + count * pitch - 26)
    strips = [(left, top + b * pitch + (high - CELL) / 2) for b in range(count)]
    tables = [
        [(first + h * (long + 34), top + b * pitch) for h in range(heads)]
        for b in range(count)
    ]
    for b, (x, y) in enumerate(strips):
        middle = y + CELL / 2
        wire(ax, [(x + long + 10, middle), (first - 34, middle)])
        place = (first - 14, tables[b][0][1] + high / 2)
        say(ax, place, "queries", "query", size=SMALL, turned=True)
        below = (first + long / 2, tables[b][0][1] + high + 12)
        say(ax, below, "keys", "key", size=SMALL)
    say(ax, (left + long / 2, 14), "the mask", "muted", bold=True)
    all_heads = first + (heads * (long + 34) - 34) / 2
    say(ax, (all_heads, 14), "as the scores meet it", "muted", bold=True)
    _shapes(ax, whole, (left + long / 2, 32), (all_heads, 32))
    return ax, strips, tables


def _spread_on_phone(whole: Tensor) -> tuple[Axes, list[Point], list[list[Point]]]:
    """Place the mask of each sentence above its tables, a head each."""
    count, heads, queries, keys = whole.shape
    long, high, gap = keys * CELL, queries * CELL, 7
    pitch, top, left = CELL + high + 98, 74.0, 20.0
    ax = canvas(NARROW, top + count * pitch - 16)
    strips = [(left, top + b * pitch) for b in range(count)]
    low = CELL + 46
    tables = [
        [(left + h * (long + gap), y + low) for h in range(heads)]
        for _, y in strips
    ]
    for x, y in strips:
        middle = x + long / 2
        wire(ax, [(middle, y + CELL + 5), (middle, y + low - 24)])
        place = (x - 10, y + low + high / 2)
        say(ax, place, "queries", "query", size=SMALL, turned=True)
        below = (middle, y + low + high + 11)
        say(ax, below, "keys", "key", size=SMALL)
        for n, said in enumerate(("repeated for each head", "and for each query:")):
            beside = (x + long + 16, y + CELL / 2 + 18 * n)
            say(ax, beside, said, size=SMALL, align="left")
    say(ax, (left + long / 2, 14), "the mask", "muted", bold=True)
    say(ax, (222, 14), "as the scores meet it", "muted", bold=True)
    _shapes(ax, whole, (left + long / 2, 32), (222, 32))
    return ax, strips, tables


def _shapes(ax: Axes, whole: Tensor, mask_at: Point, whole_at: Point) -> None:
    """Write the shapes of the mask and of what broadcasting makes of it."""
    say(ax, mask_at, shape(whole[:, :1, :1]), size=SMALL)
    say(ax, whole_at, shape(whole), size=SMALL)


def _seen_or_not(ax: Axes, corner: Point, mask: Tensor) -> None:
    """Draw a table of pairs: a tick where a query may attend, and a hatched cell elsewhere."""
    for i, row in enumerate(mask.tolist()):
        for j, seen in enumerate(row):
            at = (corner[0] + (j + 0.5) * CELL, corner[1] + (i + 0.5) * CELL)
            size = (CELL - 2, CELL - 2)
            box(ax, at, size, "ink" if seen else "mask", "✓" * seen, width=1)
            if not seen:
                hatch(ax, at, size)


def what_reaches(
    flows: Sequence[Tensor], names: Sequence[str], output: int = -1
) -> Axes:
    """Draw what flows to one output through layers that follow each other, from the inputs upwards.

    Args:
        flows: for each layer ``(T, T)``: ``True``, or a number other than 0, where something flows
            from the column's word to the row's; one to three layers, and T is 2 to 6.
        names: one per word, of four letters at most.
        output: whose inputs are traced.

    Returns:
        The axes.

    Raises:
        ValueError: there are too many layers or words for the drawing, or a flow is no square of
            that size, or the names do not fit.

    Example:
        >>> import torch
        >>> near = torch.ones(4, 4).tril().triu(-1)   # itself and its left neighbour
        >>> ax = what_reaches([near, near], ["a", "cat", "sat", "on"])
        >>> print(ax.get_label())
        What reaches the output on through 2 layers. After layer 1: sat, on. Of the inputs: cat, sat,
        on. Nothing else does.
        >>> what_reaches([near], ["a", "cat", "sat", "on"], output=0).get_label()
        'What reaches the output a through 1 layer. Of the inputs: a. Nothing else does.'
        >>> what_reaches([near] * 4, ["a", "cat", "sat", "on"])
        Traceback (most recent call last):
        ValueError: flows must be of one to three layers; got 4
        >>> what_reaches([near[:2]], ["a", "cat"])
        Traceback (most recent call last):
        ValueError: each flow must have shape (T, T), with one T from 2 to 6; got (2, 4)
        >>> what_reaches([near], ["a", "cat", "sat", "under"])
        Traceback (most recent call last):
        ValueError: a name may have at most 4 letters; got 'under'
    """
    names = _check_flows(flows, names)
    drawn = _Reached(flows, names, _used(flows, output % len(names)))
    layers = f"{len(flows)} layer{'s' * (len(flows) > 1)}"
    told = [f"What reaches the output {names[output]} through {layers}"]
    for level in range(len(flows) - 1, -1, -1):
        place = f"After layer {level}" if level else "Of the inputs"
        told.append(f"{place}: {', '.join(names[i] for i in drawn.used[level])}")

    def draw(width: float) -> Axes:
        left, size = (88.0, (58.0, 30.0)) if width == WIDE else (56.0, (36.0, 28.0))
        pitch = min((width - left) / len(names), 1.6 * size[0])
        floor = 24 + 74 * len(flows)
        ax = canvas(width, floor + 22)
        columns = [left + (i + 0.5) * pitch for i in range(len(names))]
        levels = range(len(flows) + 1)
        at = [[(x, floor - 74 * level) for x in columns] for level in levels]
        for level in levels[:-1]:
            _layer(ax, drawn, level, at, size[1] / 2)
        for level in levels:
            _level(ax, drawn, level, at[level], size)
        return tell(ax, *told, "Nothing else does")

    return for_desk_and_phone(draw)


def _check_flows(flows: Sequence[Tensor], names: Sequence[str]) -> list[str]:
    """Refuse what does not fit into the drawing."""
    if not 1 <= len(flows) <= 3:
        raise ValueError(f"flows must be of one to three layers; got {len(flows)}")
    count = len(flows[0])
    for flow in flows:
        if flow.shape != (count, count) or not 2 <= count <= 6:
            rule = "each flow must have shape (T, T), with one T from 2 to 6"
            raise ValueError(f"{rule}; got {tuple(flow.shape)}")
    return _short_names(names, count, letters=4)


@dataclass
class _Reached:
    """What is drawn: what flows in each layer, and what of it reaches the output."""

    flows: Sequence[Tensor]
    names: list[str]
    used: list[list[int]]  # for each level, from the inputs up to the output


def _used(flows: Sequence[Tensor], output: int) -> list[list[int]]:
    """Return for each level, from the inputs up to the output, whose vectors reach the output.

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
    ax: Axes,
    drawn: _Reached,
    layer: int,
    at: Sequence[Sequence[Point]],
    half: float,
) -> None:
    """Draw what flows in one layer; what goes on to the output is thick, and drawn last."""
    below, above, used = at[layer], at[layer + 1], drawn.used[layer + 1]
    pairs = [(int(i), int(j)) for i, j in (drawn.flows[layer] != 0).nonzero()]
    for i, j in sorted(pairs, key=lambda pair: pair[0] in used):
        way = [(below[j][0], below[j][1] - half), (above[i][0], above[i][1] + half)]
        if i in used:
            wire(ax, way, "value", width=BOLD_LINE)
        else:
            wire(ax, way, "muted", width=1, dashed=True, head=False)


def _level(
    ax: Axes, drawn: _Reached, level: int, places: Sequence[Point], size: Point
) -> None:
    """Draw the vectors of one level; those that reach the output stand out."""
    name = f"layer {level}" if level else "inputs"
    look: dict[str, Any] = {"align": "left", "bold": True, "size": SMALL}
    say(ax, (4, places[0][1]), name, "muted", **look)
    is_last = level == len(drawn.flows)
    for i, place in enumerate(places):
        if i in drawn.used[level]:
            role, look = "context" if is_last else "value", {"width": BOLD_LINE}
        else:
            role, look = "muted", {"filled": False, "dashed": True, "width": 1}
        bold = i in drawn.used[level]
        box(ax, place, size, role, drawn.names[i], bold=bold, **look)


def _short_names(names: Sequence[str], count: int, *, letters: int) -> list[str]:
    """Return the names, or raise unless each has its place in the drawing.

    >>> _short_names(["a"], 2, letters=4)
    Traceback (most recent call last):
    ValueError: there must be one name for each of 2; got 1
    """
    names = line_names(names, count)
    for name in names:
        if len(name) > letters:
            rule = f"a name may have at most {letters} letters"
            raise ValueError(f"{rule}; got {name!r}")
    return names


def _row(values: Tensor) -> str:
    return ", ".join(number(float(value)) for value in values)


def _seen(mask: Tensor, names: Sequence[str]) -> str:
    kept = [name for name, seen in zip(names, mask, strict=True) if seen]
    return ", ".join(kept) or "nothing"
