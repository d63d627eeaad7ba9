"""Attention on the same words in two orders: without positions, with positions, and causal."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed, number
from selfattn_book.draw.scene import Node, cells, column, note, part, row, show, space, table, title
from selfattn_book.masks import causal_mask

ROW = 34  # pixels from word to word
BAR, PITCH = 150, 72  # pixels: the height of an output, and from one position to the next


def permuted_attention(
    x: Tensor, names: Sequence[str], order: Sequence[int], positions: Tensor | None = None
) -> Canvas:
    """Draw attention without parameters on words, ``(T, 2)``, and below it on the same words permuted.

    The dot product of the first word and the last one is framed in both orders. Positions ``(T,
    2)`` that are added to the words break the equation.

    Example:
        >>> ax = permuted_attention(torch.tensor([[1.0, 0.0], [2.0, 1.0]]), ["Anna", "Ben"], [1, 0])
        >>> print(ax.get_label())
        Attention on the same words in two orders, one below the other.
        Dot products in the order Anna, Ben. Row Anna: 1, 2. Row Ben: 2, 5.
        Outputs: Anna (1.67, 0.67), Ben (1.89, 0.89).
        Dot products in the order Ben, Anna. Row Ben: 5, 2. Row Anna: 2, 1.
        Outputs: Ben (1.89, 0.89), Anna (1.67, 0.67).
    """
    orders = [list(range(len(x))), list(order)]
    opening = "Attention on the same words in two orders, one below the other"
    opening += "" if positions is None else ", each word with its position"

    def build(narrow: bool) -> Node:
        first = "words" if narrow else "inputs" if positions is None else "word + position"
        parts = []
        for i, words in enumerate(orders):
            given = x[words] if positions is None else x[words] + positions
            heads = [] if i else [first, "dot products", "outputs"]
            parts.append(_order(given, words, names, heads, narrow=narrow))
        root = row(space(24 if narrow else 30), column(*(p for p, _ in parts), gap=24), gap=0)
        for i, word in enumerate(sorted(order, key=lambda word: order.index(word) - word)):
            start, end = parts[0][1][word], parts[1][1][order.index(word)]
            away = 8 + (8 if narrow else 10) * (i + 0.6)  # the longest way outermost
            root.link(start, end, f"word-{word}", around=-away, width=2)
        return root

    return show(build, opening)


def _order(
    x: Tensor, words: Sequence[int], names: Sequence[str], heads: Sequence[str], *, narrow: bool
) -> tuple[Node, list[Node]]:
    """Draw one order: words, dot products, softmax and outputs; return the words, too."""
    called, roles = [names[word] for word in words], [f"word-{word}" for word in words]
    scores, (made, _) = x @ x.mT, scaled_dot_product_attention(x, x, x)
    digits = 0 if torch.equal(x, x.round()) else 2
    count, wide = len(x), 32 if narrow else 46

    size, cell, small = (58, 36, 13) if narrow else (70, 52, 14)
    pairs = list(zip(called, roles, strict=True))
    boxes = [part(name, role, width=size, height=26, text_size=13) for name, role in pairs]
    given = [cells(v, role, cell=(38, 26), digits=digits) for v, role in zip(x, roles, strict=True)]
    out = [cells(v, r, cell=(cell, 26), text_size=small) for v, r in zip(made, roles, strict=True)]
    matrix, step = _compare(scores, words, names, wide, digits)
    nodes = [_rows(boxes) if narrow else row(_rows(boxes), _rows(given)), matrix, _rows(out)]
    if heads:
        tops = zip(nodes, heads, strict=True)
        nodes = [column(title(text), node, gap=8 if node is matrix else 32) for node, text in tops]
    new = [note(f"new {name}", width=70, align="left") for name in called]
    said = [] if narrow else [_rows([row(text, space(0, 26), gap=0) for text in new])]
    scene = row(*nodes[:2], step, nodes[2], *said, gap=9 if narrow else 22, align=1)
    for i, (start, end) in enumerate(zip(boxes if narrow else given, out, strict=True)):
        y, z = (20 + (i + 0.5) * ROW) / matrix.height, (i + 0.5) / count
        scene.link(start, matrix, ends=((1, 0.5), (0, y)), head=not narrow)
        scene.link(matrix, step, ends=((1, y), (0, z)), head=not narrow)
        scene.link(step, end, ends=((1, z), (0, 0.5)), head=not narrow)
    message = [f"Dot products in the order {', '.join(called)}"]
    message += [f"Row {n}: {listed(r, digits)}" for n, r in zip(called, scores, strict=True)]
    each = (f"{n} ({listed(r)})" for n, r in zip(called, made, strict=True))
    scene.alt = ". ".join([*message, f"Outputs: {', '.join(each)}"])
    return scene, list(boxes)


def _compare(
    scores: Tensor, words: Sequence[int], names: Sequence[str], wide: float, digits: int
) -> tuple[Node, Node]:
    """Draw the dot products and the softmax."""
    count, roles = len(words), [f"word-{word}" for word in words]

    def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
        ax.box(at, (wide - 3, ROW - 3), roles[i], width=0)
        ax.hbar((at[0] - wide / 2 + 5, at[1] + ROW / 2 - 6), wide - 10, roles[j], thick=4)
        ax.say((at[0], at[1] - 2), number(float(scores[i, j]), digits))
        if (words[i], words[j]) == (0, count - 1):
            ax.box(at, (wide - 3, ROW - 3), filled=False, width=BOLD_LINE, order=5)

    def softmax(ax: Canvas, at: Point) -> None:
        ax.box(at, (24, count * ROW - 6))
        ax.say(at, "softmax, average" if count > 2 else "softmax", size=12, turned=True)

    called = [names[word] for word in words]
    size, ink = (count, count), ("ink", "ink")
    matrix = table(size, (wide, ROW), entry, columns=called, roles=ink, size=12)
    return matrix, space(24, count * ROW, softmax)


def _rows(nodes: Sequence[Node]) -> Node:
    """Arrange nodes in the rows of the matrix of dot products."""
    return column(*nodes, space(0, -4), gap=8)


def causal_outputs(x: Tensor, names: Sequence[str], order: Sequence[int]) -> Canvas:
    """Draw the weights of one causal layer at each position, for words ``(T, D)`` in two orders.

    A bar is one output of the layer, split into the words that it averages, each as high as its
    weight. The last one is framed.

    Example:
        >>> print(causal_outputs(torch.zeros(3, 2), ["a", "b", "c"], [1, 0, 2]).get_label())
        The attention weights of one causal layer at each position.
        In the order a, b, c: a holds 1.00 of a; b holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
        In the order b, a, c: b holds 1.00 of b; a holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
    """
    orders = [list(range(len(x))), list(order)]
    return show(
        lambda _: row(*(_bars(x, words, names) for words in orders), gap=20),
        "The attention weights of one causal layer at each position",
    )


def _bars(x: Tensor, words: Sequence[int], names: Sequence[str]) -> Node:
    """Draw a bar for each position, with the same word always at the same height."""
    x = x[words]
    _, weights = scaled_dot_product_attention(x, x, x, causal_mask(len(x)))
    by_word = weights[:, torch.tensor(words).argsort()]
    bars: list[Node] = []
    message = []
    for word, row_ in zip(words, by_word.tolist(), strict=True):
        held = [f"{number(w)} of {n}" for w, n in zip(row_, names, strict=True) if w]
        message.append(f"{names[word]} holds {', '.join(held)}")
        draw = partial(_stack, row_, names, len(bars) == len(words) - 1)
        stack, name = space(PITCH - 5, BAR + 7, draw), note(f"new {names[word]}", width=PITCH - 5)
        bars.append(column(stack, name, gap=2))
    called = [names[word] for word in words]
    alt = f"In the order {', '.join(called)}: {'; '.join(message)}"
    return column(title(" ".join(called)), row(*bars, gap=4), alt=alt)


def _stack(
    weights: Sequence[float], names: Sequence[str], framed: bool, ax: Canvas, middle: Point
) -> None:
    x, y = middle[0], middle[1] + BAR / 2
    for word, high in enumerate(weight * BAR for weight in weights):
        if high:
            text = names[word] if high >= 15 else ""
            ax.box((x, y - high / 2), (PITCH - 12, high), f"word-{word}", text, text_size=12)
        y -= high
    if framed:
        ax.box(middle, (PITCH - 5, BAR + 7), filled=False, width=BOLD_LINE, order=5)
