"""Two heads of one word, and a matrix split into heads, rightly and wrongly."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import BOLD_LINE, LINE, TEXT, Canvas, Point, listed, number, shape
from selfattn_book.draw.scene import (
    Node,
    cells,
    column,
    frame,
    note,
    row,
    show,
    space,
    table,
    title,
)

CELL = (34, 24)  # pixels


def compare_heads(
    x: Tensor,
    value: Tensor,
    names: Sequence[str],
    columns: Sequence[str],
    questions: Mapping[str, str],
) -> Canvas:
    """Draw the first word, which attends to all words with two heads, each of which compares one column.

    Each head uses its column of ``x``, ``(T, 2)``, as query and key; both average ``value``, ``(T,
    1)``. ``columns`` are the names of all three, and ``questions`` those of the heads.

    Example:
        >>> import torch
        >>> x, value = torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.tensor([[1.0], [-1.0]])
        >>> columns = ["outdoors", "alive", "soft"]
        >>> questions = {"place": "same place?", "life": "also alive?"}
        >>> print(compare_heads(x, value, ["tree", "rock"], columns, questions).get_label())
        The word tree attends with two heads, each of which returns an average of the column soft:
        tree 1, rock -1. Head 1, by place, same place?, compares the column outdoors: weights tree
        0.50, rock 0.50; average 0.00. Head 2, by life, also alive?, compares the column alive: weights
        tree 0.88, rock 0.12; average 0.76. Concatenated: 0.00, 0.76.
    """
    heads = [scaled_dot_product_attention(c, c, value) for c in x.split(1, dim=1)]
    weights = [given[0] for _, given in heads]
    averages = [float(c[0]) for c, _ in heads]

    def named(numbers: Iterable[float], digits: int = 2) -> str:
        pairs = zip(names, numbers, strict=True)
        return ", ".join(f"{name} {number(n, digits)}" for name, n in pairs)

    def build(narrow: bool) -> Node:
        high, sides = 26 if narrow else 32, []
        for h, (by, question) in enumerate(questions.items()):
            alt = (
                f"Head {h + 1}, by {by}, {question.lower()}, compares the column {columns[h]}: "
                f"weights {named(weights[h])}; average {number(averages[h])}"
            )
            texts = [number(v, 0) for v in value[:, 0]]
            draw = partial(_bars, weights[h], texts, names if narrow else (), high)
            bars = space(140 if narrow else 176, len(names) * high, draw)
            sides.append(column(title(f"head {h + 1}: by {by}"), note(question), bars, alt=alt))
        both = row(*sides, gap=8 if narrow else 24)
        words = _words(x, value, names, columns, high)
        alt = f"Concatenated: {listed(averages)}"
        result = cells(averages, "context", width=BOLD_LINE, alt=alt)
        caption = note("two averages", "context", bold=True)
        root = row(words, column(both, caption, result), gap=20, align=0)
        for side in sides:
            root.link(side, result, "context")
        return root

    opening = f"The word {names[0]} attends with two heads, each of which returns an average of the"
    return show(build, f"{opening} column {columns[2]}: {named(value[:, 0], 0)}")


def _words(
    x: Tensor, value: Tensor, names: Sequence[str], columns: Sequence[str], high: float
) -> Node:
    """Draw the words with their two columns and their value; the query is bold."""
    roles = ("ink", "ink", "value")
    first, second, last = (note(n, r, width=60) for n, r in zip(columns, roles, strict=True))
    lines: list[Node] = []
    for i, name in enumerate(names):
        role, width = ("query", BOLD_LINE) if i == 0 else ("key", 1)
        text = note(name, role, align="right", bold=i == 0, width=40)
        look: Any = {"cell": (60, 24), "digits": 0}
        own = cells(x[i], role, width=width, **look)
        lines.append(row(text, own, cells(value[i], "value", width=1, **look)))
    head = row(space(40), row(first, second, gap=0), last)
    body = column(*lines, gap=high - 24)  # beside the bars of the heads
    return column(space(0, 38 - high / 2), head, body, gap=high / 2 - 8)


def _bars(
    weights: Tensor, values: Sequence[str], names: Sequence[str], high: float, ax: Canvas, at: Point
) -> None:
    """Draw the weights of a head as bars, and the value that each weight multiplies."""
    long, left, right, size = (48, -24, 70, 13) if names else (108, -86, 88, TEXT)
    zero, top = at[0] + left, at[1] - len(weights) * high / 2
    bottom = top + len(weights) * high
    for i, (weight, value) in enumerate(zip(weights.tolist(), values, strict=True)):
        y = top + (i + 0.5) * high
        ax.hbar((zero, y), long * weight, "weights")
        factor = f"({value})" if value.startswith("-") else value
        end = (zero + long * weight + 6, y)
        ax.say(end, f"{number(weight)} × {factor}", "weights", align="left", size=size)
        if names:
            ax.note((zero - 6, y), names[i], align="right")
    ax.line([(zero, top + 2), (zero, bottom - 2)])
    ax.line([(zero, bottom), (at[0] + right, bottom)], "context", width=LINE)


Head = list[list[tuple[int, int]]]  # for each entry of a head: its word, and its column


def split_into_heads(strip: Tensor, right: Tensor, wrong: Tensor, names: Sequence[str]) -> Canvas:
    """Draw a matrix beside the heads into which it is split, rightly and wrongly.

    Each entry has the color of its word, and is named by the word's first letter and its column; so
    a head without a word lacks a color. The matrix ``(T, H * d)`` becomes ``(H, T, d)``.

    Example:
        >>> import torch
        >>> strip = torch.arange(16).view(4, 4)
        >>> right, wrong = strip.unflatten(1, (2, 2)).transpose(0, 1), strip.view(2, 4, 2)
        >>> ax = split_into_heads(strip, right, wrong, ["tree", "rock", "nurse", "chair"])
        >>> print(ax.get_label())
        A matrix of 4 rows (tree, rock, nurse, chair) and 4 columns is split into 2 heads. Right,
        split and then transposed: head 1 holds columns 1, 2 of every row. Right, split and then
        transposed: head 2 holds columns 3, 4 of every row. Wrong on purpose, by view at
        once: head 1 holds every column of tree, rock only. Wrong on purpose, by view at once: head 2
        holds every column of nurse, chair only.
    """
    (count, total), (heads_, _, d) = strip.shape, right.shape
    places = {int(entry): divmod(i, total) for i, entry in enumerate(strip.flatten())}

    def entries(head: Head, rows: Sequence[str]) -> Node:
        def entry(ax: Canvas, at: Point, i: int, j: int) -> None:
            word, c = head[i][j]
            ax.box(at, CELL, f"word-{word}", f"{names[word][0]}{c + 1}", width=1)

        size = (len(head), len(head[0]))
        return table(size, CELL, entry, rows=rows, roles=("ink", "ink"), size=13)

    def heads(given: Tensor, role: str, words: Sequence[str], rows: Sequence[str]) -> Node:
        parts = [note(words[0].lower(), role, bold=True), note(words[1]), note(shape(given))]
        for h, head in enumerate(given.tolist(), 1):
            held = [[places[int(e)] for e in line] for line in head]
            of, columns = _held(held, names, total)
            alt = f"{', '.join(words[::2])}: head {h} holds {columns} of {of}"
            parts.append(column(note(f"head {h}: {of}"), entries(held, rows), gap=4, alt=alt))
        return column(*parts, gap=6)

    def build(narrow: bool) -> Node:
        cuts = space(total * CELL[0], 16, partial(_cuts, heads_, d, count))
        whole = entries([[(t, c) for c in range(total)] for t in range(count)], names)
        foot = space(total * CELL[0], 12, partial(_bracket, total * CELL[0]))
        grid = column(whole, row(space(40), foot, gap=0), gap=0)
        matrix = column(title(f"matrix {shape(strip)}"), cuts, grid)
        rows = [f"row {t + 1}" for t in range(count)]
        words = "Right", "split, transpose", "split and then transposed"
        good = frame(heads(right, "ink", words, names), "paper", width=0)
        words = "Wrong on purpose", "view at once", "by view at once"
        bad = frame(heads(wrong, "wrong", words, rows), "wrong", dashed=True)
        root = row(matrix, row(good, bad, gap=4 if narrow else 40), gap=40)
        root.link(matrix, good, width=BOLD_LINE)
        root.link(foot, bad, "wrong", below=12, dashed=True)
        return column(root, space(0, 0 if narrow else 14), gap=0)

    opening = f"A matrix of {count} rows ({', '.join(names)}) and {total} columns is split"
    return show(build, f"{opening} into {len(right)} heads")


def _cuts(heads: int, d: int, count: int, ax: Canvas, middle: Point) -> None:
    """Name the heads above their columns, and cut the columns below between them."""
    wide = d * CELL[0]
    for h in range(heads):
        x = middle[0] + (h - heads / 2) * wide + 20
        ax.note((x + wide / 2, middle[1]), f"head {h + 1}")
        if h:
            ends = [(x, middle[1] - 8), (x, middle[1] + count * CELL[1] + 18)]
            ax.line(ends, "ink", width=BOLD_LINE, dashed=True)


def _bracket(wide: float, ax: Canvas, middle: Point) -> None:
    """Draw a bracket below a matrix, from which the wire to the wrong heads leaves."""
    (left, right), low = (middle[0] - wide / 2, middle[0] + wide / 2), middle[1] + 6
    ends = [(left, low - 6), (left, low), (right, low), (right, low - 6)]
    ax.line(ends, "wrong", width=LINE)


def _held(head: Head, names: Sequence[str], total: int) -> tuple[str, str]:
    """Return the words and the columns of a head.

    >>> _held([[(1, 0)], [(0, 0)]], ["a", "b", "c"], 2), _held([[(0, 0)], [(1, 0)]], ["a", "b"], 1)
    (('a, b only', 'columns 1'), ('every row', 'every column'))
    """
    words, columns = (sorted({pair[i] for line in head for pair in line}) for i in (0, 1))
    of, named = ", ".join(names[word] for word in words), ", ".join(str(c + 1) for c in columns)
    return (
        f"{of} only" if len(words) < len(names) else "every row",
        f"columns {named}" if len(columns) < total else "every column",
    )
