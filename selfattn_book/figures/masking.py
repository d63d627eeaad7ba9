"""A mask over scores, a mask broadcast over heads and queries, and the inputs that reach an output."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from torch import Tensor

from selfattn_book.attention import masked_softmax
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed, number, shape
from selfattn_book.draw.live import begin, live
from selfattn_book.draw.scene import Node, column, note, part, row, show, step, table, title

HEIGHT = 38  # pixels of a row of numbers
PAIR = (22, 22)  # pixels of a pair without a number


def masked_weights(
    scores: Tensor, mask: Tensor, names: Sequence[str], *, late: bool = False
) -> Canvas:
    """Draw scores, the masked scores, and the weights with the sum of each row.

    Scores and mask are ``(T, T)``, with T 2 or 3; ``True`` = may attend. ``late`` applies the mask to
    the weights after the softmax, which is a mistake.

    Example:
        >>> import torch
        >>> seen = torch.tensor([[True, False], [True, True]])
        >>> print(masked_weights(torch.zeros(2, 2), seen, ["a", "cat"]).get_label())
        A mask laid over scores. Row a: scores 0.00, 0.00; the mask leaves a; weights 1.00, 0.00.
        Row cat: scores 0.00, 0.00; the mask leaves a, cat; weights 0.50, 0.50.
    """
    weights = scores.softmax(-1) * mask if late else masked_softmax(scores, mask)
    count, message = len(names), []
    for name, s, m, w in zip(names, scores, mask, weights, strict=True):
        kept = ", ".join(n for n, seen in zip(names, m, strict=True) if seen) or "nothing"
        text = f"Row {name}: scores {listed(s)}; the mask leaves {kept}; weights {listed(w)}"
        message.append(text)
    everything = mask.new_ones(mask.shape)
    middle = (scores.softmax(-1), everything) if late else (scores, mask)
    order = ["softmax", "mask"] if late else ["mask", "softmax"]
    heading = "softmax" if late else "masked"

    def matrix(
        name: str, title_: Node, pairs: tuple[Tensor, Tensor], wide: float, **look: Any
    ) -> Node:
        def body(ax: Canvas, corner: Point) -> None:
            paint = _weights if name == "weights" else _scores
            values = [pair.tolist() for pair in pairs]
            live(ax, paint, name, values, corner=corner, cell=(wide / count, HEIGHT))

        grid = table((count, count), (wide / count, HEIGHT), body=body, columns=names, **look)
        return column(title_, grid)

    def build(narrow: bool) -> Node:
        wide = 98 if narrow else 122
        look: Any = {"rows": names, "axes": ("queries", "keys")}
        scored = matrix("scores", title("scores"), (scores, everything), wide, **look)
        masked = matrix("masked", title(heading, live="heading"), middle, wide)
        first = row(
            scored, step(order[0], length=28 if narrow else 64, live="first"), masked, gap=3
        )
        texts = [f"sum {number(float(w.sum()))}" for w in weights]
        notes = [note(text, "weights", live=f"sum{i}") for i, text in enumerate(texts)]
        look = {"rows": names if narrow else ()}
        last = matrix("weights", title("weights"), (weights, mask), 144 if narrow else 122, **look)
        end = row(last, column(*notes, gap=HEIGHT - 17), align=0.85)
        return row(first, step(order[1], length=56, live="second"), end)

    ax = show(build, "A mask laid over scores", *message)
    return begin(ax, "masks", names=names, scores=scores, mask=mask, late=late, output=count - 1)


def _cells(corner: Point, cell: Point, count: int) -> Iterator[tuple[Point, int, int]]:
    """Yield the middle of each cell of a square table, with its row and column."""
    for i, j in product(range(count), range(count)):
        yield (corner[0] + (j + 0.5) * cell[0], corner[1] + (i + 0.5) * cell[1]), i, j


def _scores(ax: Canvas, values: Sequence[Any], corner: Point, cell: Point) -> None:
    """Draw scores, and minus infinity where the mask hides them."""
    (scores, mask), size = values, (cell[0] - 3, cell[1] - 3)
    for at, i, j in _cells(corner, cell, len(scores)):
        if mask[i][j]:
            ax.box(at, size, "ink", number(scores[i][j]), width=1)
        else:
            ax.masked(at, size, "−∞")


def _weights(ax: Canvas, values: Sequence[Any], corner: Point, cell: Point) -> None:
    """Draw weights, each as a number and as a bar."""
    (weights, mask), size = values, (cell[0] - 3, cell[1] - 3)
    for at, i, j in _cells(corner, cell, len(weights)):
        if not mask[i][j]:
            ax.masked(at, size, "0")
            continue
        ax.box(at, size, "weights", width=1)
        long = size[0] - 11
        ax.say((at[0], at[1] - 6), number(weights[i][j]))
        ax.hbar((at[0] - long / 2, at[1] + 10), long * weights[i][j], "weights", thick=6)


def repeated_mask(mask: Tensor, heads: int, queries: int) -> Canvas:
    """Draw how broadcasting repeats a padding mask, ``(B, 1, 1, S)``, over heads and queries.

    Example:
        >>> import torch
        >>> mask = torch.tensor([[True, True, True], [True, False, False]])[:, None, None]
        >>> print(repeated_mask(mask, heads=2, queries=3).get_label())
        A mask of shape (2, 1, 1, 3), repeated to (2, 2, 3, 3). Sentence 0: every query of every
        head may attend to keys 0, 1, 2. Sentence 1: every query of every head may attend to keys 0.
    """
    whole = mask.expand(-1, heads, queries, -1)
    each = "for each head and query" if heads > 1 else "for each query"
    message = [
        f"Sentence {b}: every query of every head may attend to keys "
        f"{', '.join(map(str, keys.nonzero().flatten().tolist())) or 'none'}"
        for b, keys in enumerate(mask[:, 0, 0])
    ]

    def build(narrow: bool) -> Node:
        first = column(title("the mask"), note(shape(mask)), gap=2)
        last = column(title("broadcast to the scores"), note(shape(whole)), gap=2)
        lines: list[Node] = [row(first, last, gap=24 if narrow else 160)]
        for b in range(len(mask)):
            strip = column(note(f"sentence {b}", bold=True), _pairs(mask[b, 0]), gap=4)
            tables = []
            for h in range(heads):
                name = note(f"head {h}" if heads > 1 else "")
                tables.append(column(name, _pairs(whole[b, h], named=not h), gap=4))
            spread = row(*tables, gap=6 if narrow else 30, align=0)
            if narrow:
                lines.append(column(strip, step(each), spread, gap=4))
            else:
                lines.append(row(strip, step(length=56), spread, gap=20))
        return column(*lines, gap=14)

    return show(build, f"A mask of shape {shape(mask)}, repeated to {shape(whole)}", *message)


def _pairs(mask: Tensor, *, named: bool = False) -> Node:
    """Draw a mask: a check mark where a query may attend, and a hatched cell elsewhere."""
    size = (PAIR[0] - 2, PAIR[1] - 2)

    def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
        if mask[i, j]:
            ax.box(at, size, "ink", "✓", width=1)
        else:
            ax.masked(at, size)

    axes = ("queries", "keys") if named else ("", "")
    return table((mask.size(0), mask.size(1)), PAIR, entry, axes=axes)


def receptive_field(flows: Sequence[Tensor], names: Sequence[str]) -> Canvas:
    """Draw the inputs that the last output depends on through several layers, from the inputs upwards.

    A flow is ``(T, T)``, not 0 where the row's word depends on the column's word.

    Example:
        >>> import torch
        >>> near = torch.ones(4, 4).tril().triu(-1)   # itself and its left neighbor
        >>> print(receptive_field([near, near], ["a", "cat", "sat", "on"]).get_label())
        What reaches the output on through 2 layers. After layer 1: sat, on. Of the inputs: cat, sat,
        on. Nothing else does.
    """
    used, depth = [{len(names) - 1}], len(flows)
    for flow in reversed(flows):
        used.insert(0, {int(j) for i in used[0] for j in flow[i].nonzero().flatten()})
    message = [
        f"{f'After layer {level}' if level else 'Of the inputs'}: "
        f"{', '.join(names[i] for i in sorted(used[level]))}"
        for level in reversed(range(depth))
    ]

    def build(narrow: bool) -> Node:
        size, left = (36 if narrow else 58, 28 if narrow else 30), 46 if narrow else 60
        levels, lines = [], []
        used_look: Any = {"edge": BOLD_LINE, "bold": True}
        unused: Any = {"role": "muted", "edge": 1, "filled": False, "dashed": True}
        for level, reached in enumerate(used):
            used_look["role"] = "context" if level == depth else "value"
            looks = [used_look if i in reached else unused for i in range(len(names))]
            parts = [
                part(name, width=size[0], height=size[1], **look)
                for name, look in zip(names, looks, strict=True)
            ]
            name = f"layer {level}" if level else "inputs"
            text = note(name, "muted", bold=True, width=left, align="left")
            levels.append(parts)
            lines.append(row(text, *parts, gap=6 if narrow else 34))
        root = column(*reversed(lines), gap=44)
        for flow, below, above, reached in zip(
            flows, levels[:-1], levels[1:], used[1:], strict=True
        ):
            pairs = flow.nonzero().tolist()
            for i, j in sorted(pairs, key=lambda pair: pair[0] in reached):  # thick ones last
                thick: Any = {"role": "value", "width": BOLD_LINE}
                thin: Any = {"role": "muted", "width": 1, "dashed": True, "head": False}
                kind = thick if i in reached else thin
                root.link(below[j], above[i], ends=((0.5, 0), (0.5, 1)), **kind)
        return root

    layers = f"{depth} layer{'s' * (depth > 1)}"
    opening = f"What reaches the output {names[-1]} through {layers}"
    return show(build, opening, *message, "Nothing else does")
