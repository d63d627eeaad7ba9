"""Attention on the same words in two orders: without positions, with positions, and causal."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed, number
from selfattn_book.draw.scene import (
    Node,
    cells,
    column,
    label,
    part,
    row,
    show,
    slot,
    space,
    table,
    title,
)
from selfattn_book.draw.sheet import SMALL
from selfattn_book.masks import causal_mask

ROW = 34  # pixels from word to word
BAR = 150  # pixels: the height of an output
PITCH = 72  # pixels from one position to the next


def permuting(
    x: Tensor, names: Sequence[str], order: Sequence[int], places: Tensor | None = None
) -> Canvas:
    r"""Draw attention without parameters on some words, and below it on the same words permuted.

    .. math:: \operatorname{attend}(\Pi X) = \Pi \operatorname{attend}(X)

    The dot product of the first word and the last one is framed in both orders. Positions that are
    added to the words break the equation.

    Args:
        x: ``(T, 2)``, with T 2 or 3.
        names: words.
        order: ``(T,)``; row i of the second order is row ``order[i]`` of the first one.
        places: ``(T, 2)``, encodings of the positions, if any.

    Example:
        >>> ax = permuting(torch.tensor([[1.0, 0.0], [2.0, 1.0]]), ["Anna", "Ben"], [1, 0])
        >>> print(ax.get_label())
        Attention on the same words in two orders, one below the other.
        Dot products in the order Anna, Ben. Row Anna: 1, 2. Row Ben: 2, 5.
        Outputs: Anna (1.67, 0.67), Ben (1.89, 0.89).
        Dot products in the order Ben, Anna. Row Ben: 5, 2. Row Anna: 2, 1.
        Outputs: Ben (1.89, 0.89), Anna (1.67, 0.67).
    """
    orders = [list(range(len(x))), list(order)]
    opening = "Attention on the same words in two orders, one below the other"
    opening += "" if places is None else ", each word with its position"

    def build(narrow: bool) -> Node:
        parts = []
        for i, words in enumerate(orders):
            given = x[words] if places is None else x[words] + places
            heads = _titles(places is not None, narrow=narrow) if i == 0 else []
            parts.append(_order(given, words, names, heads, narrow=narrow))
        ways = [(parts[0][1][word], parts[1][1][i], word) for i, word in enumerate(order)]
        around = space(0, 0, lambda ax, _: _around(ax, ways, 8 if narrow else 10))
        side = space(24 if narrow else 30)
        return row(side, column(*(scene for scene, _ in parts), around, gap=24), gap=0)

    return show(build, opening)


def _titles(placed: bool, *, narrow: bool) -> list[str]:
    if narrow:
        return ["words", "dot products", "outputs"]
    return ["word + position" if placed else "inputs", "dot products", "outputs"]


def _order(
    x: Tensor, words: Sequence[int], names: Sequence[str], heads: Sequence[str], *, narrow: bool
) -> tuple[Node, list[Node]]:
    """Draw one order: words, dot products, softmax and outputs; return the words, too."""
    called, roles = [names[word] for word in words], [f"word-{word}" for word in words]
    scores, (made, _) = x @ x.mT, scaled_dot_product_attention(x, x, x)
    digits = 0 if torch.equal(x, x.round()) else 2
    wide = 32 if narrow else 46

    def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
        ax.box(at, (wide - 3, ROW - 3), roles[i], width=0)
        ax.hbar((at[0] - wide / 2 + 5, at[1] + ROW / 2 - 6), wide - 10, roles[j], thick=4)
        ax.say((at[0], at[1] - 2), number(float(scores[i, j]), digits))
        if (words[i], words[j]) == (0, len(words) - 1):
            ax.box(at, (wide - 3, ROW - 3), filled=False, width=BOLD_LINE, order=5)

    size, pairs = (58 if narrow else 70), list(zip(called, roles, strict=True))
    boxes = [part(name, role, width=size, height=26, text_size=SMALL) for name, role in pairs]
    given = [cells(v, role, cell=(38, 26), digits=digits) for v, role in zip(x, roles, strict=True)]
    cell, small = (36 if narrow else 52, 26), SMALL if narrow else 14
    out = [cells(v, r, cell=cell, text_size=small) for v, r in zip(made, roles, strict=True)]
    matrix = table(
        (len(x), len(x)), (wide, ROW), entry, columns=called, roles=("ink", "ink"), size=12
    )
    step = _softmax(len(x))
    inputs = _rows(boxes) if narrow else row(_rows(boxes), _rows(given), gap=8)
    nodes: list[Node] = [inputs, matrix, _rows(out)]
    if heads:
        tops = zip(nodes, heads, strict=True)
        nodes = [column(title(text), node, gap=8 if node is matrix else 32) for node, text in tops]
    said = [] if narrow else [_rows([space(70, 26, partial(_new, name)) for name in called])]
    scene = row(*nodes[:2], step, nodes[2], *said, gap=9 if narrow else 22, align=1)
    for i, (start, end) in enumerate(zip(boxes if narrow else given, out, strict=True)):
        y = (20 + (i + 0.5) * ROW) / matrix.height
        z = (i + 0.5) / len(x)
        for a, b, ends in (
            (start, matrix, ((1, 0.5), (0, y))),
            (matrix, step, ((1, y), (0, z))),
            (step, end, ((1, z), (0, 0.5))),
        ):
            scene.link(a, b, ends=ends, head=not narrow)
    message = [f"Dot products in the order {', '.join(called)}"]
    message += [f"Row {n}: {listed(r, digits)}" for n, r in zip(called, scores, strict=True)]
    each = (f"{n} ({listed(r)})" for n, r in zip(called, made, strict=True))
    scene.alt = ". ".join([*message, f"Outputs: {', '.join(each)}"])
    return scene, list(boxes)


def _rows(nodes: Sequence[Node]) -> Node:
    """Arrange nodes in the rows of the matrix of dot products."""
    return column(*nodes, space(0, -4), gap=8)


def _new(name: str, ax: Canvas, at: Point) -> None:
    ax.note((at[0] - 35, at[1]), f"new {name}", align="left")


def _softmax(count: int) -> Node:
    """Draw the softmax over all rows, with the average that follows it."""
    text = "softmax, average" if count > 2 else "softmax"

    def paint(ax: Canvas, at: Point) -> None:
        ax.box(at, (24, count * ROW - 6))
        ax.say(at, text, size=12, turned=True)

    return space(24, count * ROW, paint)


def _around(ax: Canvas, ways: Sequence[tuple[Node, Node, int]], arc: float) -> None:
    """Lead each word from its first position to its second one, the longest way outermost."""
    for i, (start, end, word) in enumerate(sorted(ways, key=lambda way: way[1].top - way[0].top)):
        (left, y), (_, z) = start.at(0, 0.5), end.at(0, 0.5)
        x = left - 8 - arc * (i + 0.6)
        ax.wire([(left, y), (x, y), (x, z), (left, z)], f"word-{word}", width=2)


def seeping(x: Tensor, names: Sequence[str], order: Sequence[int]) -> Canvas:
    """Draw the attention weights of one causal layer at each position, for words in two orders.

    A bar is an output of the layer, divided by the weights of the words in it. The last one is framed.

    Args:
        x: ``(T, D)``, with T 2 to 4.
        names: words.
        order: ``(T,)``; position i of the second order holds word ``order[i]`` of the first one.

    Example:
        >>> print(seeping(torch.zeros(3, 2), ["a", "b", "c"], [1, 0, 2]).get_label())
        The attention weights of one causal layer at each position.
        In the order a, b, c: a holds 1.00 of a; b holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
        In the order b, a, c: b holds 1.00 of b; a holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
    """
    orders = [list(range(len(x))), list(order)]
    build = lambda _: row(*(_bars(x, words, names) for words in orders), gap=20)  # noqa: E731
    return show(build, "The attention weights of one causal layer at each position")


def _causal_weights(x: Tensor, words: Sequence[int]) -> Tensor:
    """Return the weights ``(T, T)``: a row for each position, but a column for each *word*."""
    moved = x[list(words)]
    _, weights = scaled_dot_product_attention(moved, moved, moved, causal_mask(len(x)))
    by_word = torch.empty_like(weights)
    by_word[:, list(words)] = weights
    return by_word


def _bars(x: Tensor, words: Sequence[int], names: Sequence[str]) -> Node:
    """Draw a bar for each position, with the same word always at the same height."""
    called = [names[word] for word in words]
    bars: list[Node] = []
    message = []
    for name, weights in zip(called, _causal_weights(x, words).tolist(), strict=True):
        held = [(f"{number(w)} of {n}", w) for w, n in zip(weights, names, strict=True)]
        message.append(f"{name} holds {', '.join(text for text, w in held if w)}")
        framed = len(bars) == len(words) - 1
        stack = space(PITCH - 5, BAR + 7, partial(_stack, weights, names, framed))
        bars.append(column(stack, slot(label(f"new {name}", size=12), PITCH - 5), gap=2))
    alt = f"In the order {', '.join(called)}: {'; '.join(message)}"
    return column(title(" ".join(called)), row(*bars, gap=4), alt=alt)


def _stack(
    weights: Sequence[float], names: Sequence[str], framed: bool, ax: Canvas, middle: Point
) -> None:
    x, y = middle[0], middle[1] + BAR / 2
    for word, weight in enumerate(weights):
        high = weight * BAR
        if weight:
            text = names[word] if high >= SMALL + 2 else ""
            ax.box((x, y - high / 2), (PITCH - 12, high), f"word-{word}", text, text_size=12)
        y -= high
    if framed:
        ax.box(middle, (PITCH - 5, BAR + 7), filled=False, width=BOLD_LINE, order=5)
