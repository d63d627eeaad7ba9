"""Two heads of one word, and a matrix split into heads, rightly and wrongly."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, LINE, TEXT, Canvas, Point, listed, number, shape
from selfattn_book.draw.scene import (
    Node,
    cells,
    column,
    frame,
    label,
    note,
    show,
    space,
    table,
    title,
)
from selfattn_book.draw.scene import row as in_row
from selfattn_book.draw.sheet import SMALL

CELL = (34, 24)  # pixels


def looks_twice(
    x: Tensor,
    value: Tensor,
    names: Sequence[str],
    columns: Sequence[str],
    questions: Mapping[str, str],
    *,
    row: int = 0,
) -> Canvas:
    r"""Draw a word that attends to all words with two heads, each of which compares one column.

    .. math:: c_h = \sum_j w_{hj}\,v_j, \qquad w_{hj} \propto e^{x_{ih}\,x_{jh}}

    Args:
        x: ``(T, 2)``; each head uses its column as query and key.
        value: ``(T, 1)``, integers that both heads average.
        names: words.
        columns: names of the two columns and of the values.
        questions: question of each head, by its topic.
        row: index of the word that attends.

    Example:
        >>> import torch
        >>> x, value = torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.tensor([[1.0], [-1.0]])
        >>> columns = ["outdoors", "alive", "soft"]
        >>> asked = {"place": "Where?", "life": "What?"}
        >>> print(looks_twice(x, value, ["tree", "rock"], columns, asked).get_label())
        The word tree attends with two heads, each of which returns an average of the column soft:
        tree 1, rock -1. Head 1, by place, where?, compares the column outdoors: weights tree 0.50,
        rock 0.50; average 0.00. Head 2, by life, what?, compares the column alive: weights tree 0.88,
        rock 0.12; average 0.76. Concatenated: 0.00, 0.76.
    """
    heads = [scaled_dot_product_attention(c, c, value) for c in x.split(1, dim=1)]
    weights = [table[row].tolist() for _, table in heads]
    averages = [float(context[row]) for context, _ in heads]
    values = value.flatten().tolist()
    held = ", ".join(f"{n} {number(v, 0)}" for n, v in zip(names, values, strict=True))
    opening = (
        f"The word {names[row]} attends with two heads, each of which returns an average of the "
        f"column {columns[2]}: {held}"
    )

    def build(narrow: bool) -> Node:
        high = 26 if narrow else 32
        sides = []
        for h, (by, question) in enumerate(questions.items()):
            each = ", ".join(f"{n} {number(w)}" for n, w in zip(names, weights[h], strict=True))
            alt = (
                f"Head {h + 1}, by {by}, {question.lower()}, compares the column {columns[h]}: "
                f"weights {each}; average {number(averages[h])}"
            )
            bars = _bars(weights[h], values, names if narrow else (), high)
            parts = title(f"head {h + 1}: by {by}"), note(question), bars
            sides.append(column(*parts, alt=alt))
        both = in_row(*sides, gap=8 if narrow else 24)
        words = _words(x, values, names, columns, row, high)
        result = cells(
            averages, "context", width=BOLD_LINE, alt=f"Concatenated: {listed(averages)}"
        )
        caption = note("two averages", "context", bold=True)
        root = in_row(words, column(both, caption, result), gap=20, align=0)
        for side in sides:
            root.link(side, result, "context")
        return root

    return show(build, opening)


def _words(
    x: Tensor,
    values: Sequence[float],
    names: Sequence[str],
    columns: Sequence[str],
    row: int,
    high: float,
) -> Node:
    """Draw the words with their two columns and their value; the one that attends is bold."""
    wide = 60

    def paint(ax: Canvas, middle: Point) -> None:
        left, top = middle[0] - 1.5 * wide + 24, middle[1] - len(names) * high / 2 + 25
        for c, column_name in enumerate(columns):
            at = (left + (c + 0.5) * wide + 8 * (c == 2), top - 12)
            ax.note(at, column_name, "value" if c == 2 else "ink")
        for i, name in enumerate(names):
            y, role = top + (i + 0.5) * high, "query" if i == row else "key"
            look: Any = {"cell": (wide, 24), "digits": 0}
            ax.note((left - 8, y), name, role, align="right", bold=i == row)
            ax.vector((left, y), x[i], role, width=BOLD_LINE if i == row else 1, **look)
            ax.vector((left + 2 * wide + 8, y), [values[i]], "value", width=1, **look)

    return space(3 * wide + 56, len(names) * high + 51, paint)


def _bars(
    weights: Sequence[float], values: Sequence[float], names: Sequence[str], high: float
) -> Node:
    """Draw the weights of a head as bars, and the value that each weight multiplies."""
    long, wide = (48, 140) if names else (108, 176)

    def paint(ax: Canvas, middle: Point) -> None:
        zero, top = middle[0] - wide / 2 + (46 if names else 2), middle[1] - len(weights) * high / 2
        for i, (weight, value) in enumerate(zip(weights, values, strict=True)):
            y = top + (i + 0.5) * high
            ax.hbar((zero, y), long * weight, "weights")
            text, size = _times(weight, value), SMALL if names else TEXT
            ax.say((zero + long * weight + 6, y), text, "weights", align="left", size=size)
            if names:
                ax.note((zero - 6, y), names[i], align="right")
        bottom = top + len(weights) * high
        ax.line([(zero, top + 2), (zero, bottom - 2)])
        ax.line([(zero, bottom), (middle[0] + wide / 2, bottom)], "context", width=LINE)

    return space(wide, len(weights) * high, paint)


def _times(weight: float, value: float) -> str:
    """Write a product, with parentheses around a negative factor."""
    text = number(value, 0).replace("-", "−")
    return f"{number(weight)} × {f'({text})' if value < 0 else text}"


Head = list[list[tuple[int, int]]]  # for each entry of a head: its word, and its column


def cut_into_heads(strip: Tensor, right: Tensor, wrong: Tensor, names: Sequence[str]) -> Canvas:
    r"""Draw a matrix beside the heads into which it is split, rightly and wrongly.

    Each entry has the color of its word, and is named by the word's first letter and its column;
    so a head without a word lacks a color.

    Args:
        strip: ``(T, H * d)``, all entries different.
        right: ``(H, T, d)``; head :math:`h` holds its :math:`d` columns of every word.
        wrong: ``(H, T, d)``, the same entries in a different order.
        names: words with different first letters.

    Example:
        >>> import torch
        >>> strip = torch.arange(16).view(4, 4)
        >>> right, wrong = strip.unflatten(1, (2, 2)).transpose(0, 1), strip.view(2, 4, 2)
        >>> ax = cut_into_heads(strip, right, wrong, ["tree", "rock", "nurse", "chair"])
        >>> print(ax.get_label())
        A matrix of 4 words and 4 columns is split into 2 heads. Right, split and then transposed:
        head 1 holds columns 1, 2 of every word. Right, split and then transposed: head 2 holds
        columns 3, 4 of every word. Wrong on purpose, by view at once: head 1 holds every column of
        tree, rock only. Wrong on purpose, by view at once: head 2 holds every column of nurse, chair
        only.
    """
    (count, total), d = strip.shape, right.size(2)
    places = {int(entry): divmod(i, total) for i, entry in enumerate(strip.flatten())}
    whole = [[(t, c) for c in range(total)] for t in range(count)]

    def entries(head: Head, rows: Sequence[str], size: tuple[int, int]) -> Node:
        def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
            word, c = head[i][j]
            ax.box(at, CELL, f"word-{word}", f"{names[word][0]}{c + 1}", width=1)

        return table(size, CELL, entry, rows=rows, roles=("ink", "ink"), size=SMALL)

    def heads(given: Tensor, words: tuple[str, str, str], rows: Sequence[str], how: str) -> Node:
        parts = [label(words[0], words[1], bold=True), label(words[2]), _shape(given)]
        for h, head in enumerate(given.tolist()):
            held = [[places[int(e)] for e in line_] for line_ in head]
            text = note(f"head {h + 1}: {_held(held, names)}")
            alt = f"{how}: head {h + 1} holds {_columns(held, total)} of {_held(held, names)}"
            parts.append(column(text, entries(held, rows, (count, d)), gap=4, alt=alt))
        return column(*parts, gap=6)

    def build(narrow: bool) -> Node:
        matrix = column(title(f"matrix {shape(strip)}"), _cuts(total // d, d, count))
        matrix.nodes.append(entries(whole, names, (count, total)))
        good = heads(
            right, ("right", "ink", "split, transpose"), names, "Right, split and then transposed"
        )
        rows = [f"row {t + 1}" for t in range(count)]
        words = "wrong on purpose", "wrong", "view at once"
        bad = frame(
            heads(wrong, words, rows, "Wrong on purpose, by view at once"), "wrong", dashed=True
        )
        good = frame(good, "paper", width=0)
        both = in_row(good, bad, gap=4 if narrow else 40)
        root = in_row(matrix, both, gap=40)
        root.link(matrix, good, width=BOLD_LINE)
        root.link(matrix, bad, "wrong", below=12, dashed=True)
        return column(root, space(0, 0 if narrow else 14), gap=0)

    opening = f"A matrix of {count} words and {total} columns is split into {len(right)} heads"
    return show(build, opening)


def _shape(heads: Tensor) -> Node:
    return note(shape(heads))


def _cuts(heads: int, d: int, count: int) -> Node:
    """Name the heads above their columns, and cut the columns below between them."""
    wide, high = d * CELL[0], count * CELL[1]

    def paint(ax: Canvas, middle: Point) -> None:
        left = middle[0] - heads * wide / 2 + 20
        for h in range(heads):
            x = left + h * wide
            ax.note((x + wide / 2, middle[1]), f"head {h + 1}")
            if h:
                ends = [(x, middle[1] - 8), (x, middle[1] + high + 24)]
                ax.line(ends, "ink", width=BOLD_LINE, dashed=True)

    return space(heads * wide, 16, paint)


def _held(head: Head, names: Sequence[str]) -> str:
    """Return the words of a head.

    >>> _held([[(1, 0)], [(0, 0)]], ["a", "b", "c"]), _held([[(0, 0)], [(1, 0)]], ["a", "b"])
    ('a, b only', 'every word')
    """
    words = sorted({word for entries in head for word, _ in entries})
    if len(words) == len(names):
        return "every word"
    return f"{', '.join(names[word] for word in words)} only"


def _columns(head: Head, total: int) -> str:
    columns = sorted({c for entries in head for _, c in entries})
    named = f"columns {', '.join(str(c + 1) for c in columns)}"
    return named if len(columns) < total else "every column"
