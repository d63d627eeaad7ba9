"""The same words in another order: what attention makes of them, with places and without, and masked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Point,
    bar,
    box,
    canvas,
    for_desk_and_phone,
    listed,
    number,
    say,
    tell,
    titles,
    vector,
    wire,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import line_names
from selfattn_book.masks import causal_mask

ROW = 34  # pixels from word to word
LETTERS = 6  # that a name may have, to fit into its box
BAR = 150  # pixels: the height of an output
PITCH = 72  # from one place to the next


@dataclass
class _Places:
    """Where the columns of the drawing lie, in pixels from its left edge."""

    arc: float  # the way around of a word that keeps its place, and what the others add to it
    name: float  # the left edge of the words
    width: float
    given: float  # the left edge of their vectors; on a phone they are left out
    table: float
    cell: float
    softmax: float
    made: float  # the left edge of what comes out
    entry: float
    letters: float  # the size of the numbers that come out
    is_desk: bool


DESK = _Places(10, 46, 70, 124, 222, 46, 394, 432, 52, 14, is_desk=True)
PHONE = _Places(8, 32, 58, 0, 98, 34, 214, 236, 37, SMALL, is_desk=False)


def permuting(
    x: Tensor,
    names: Sequence[str],
    order: Sequence[int],
    places: Tensor | None = None,
) -> Axes:
    r"""Draw attention without weights on some words, and below it on the same words in another order.

    .. math:: \operatorname{attend}(\Pi X) = \Pi \operatorname{attend}(X)

    The comparison of the first word with the last one is framed wherever it stands.
    With a table of places, its row t is added to the word at place t, and the law is broken.

    Args:
        x: ``(T, 2)``, the words; T is 2 or 3.
        names: one per word.
        order: ``(T,)``; row i of the second order is row ``order[i]`` of the first one.
        places: ``(T, 2)``, what is added to the word at each place, if anything.

    Returns:
        The axes.

    Raises:
        ValueError: the words are not in the plane or too many, the order is not one of them,
            there are not as many names or places as words, or a name is too long.

    Example:
        >>> ax = permuting(torch.tensor([[1.0, 0.0], [2.0, 1.0]]), ["Anna", "Ben"], [1, 0])
        >>> print(ax.get_label())
        Attention on the same words in two orders, one below the other.
        Dot products in the order Anna, Ben. Row Anna: 1, 2. Row Ben: 2, 5.
        Out come Anna (1.67, 0.67), Ben (1.89, 0.89).
        Dot products in the order Ben, Anna. Row Ben: 5, 2. Row Anna: 2, 1.
        Out come Ben (1.89, 0.89), Anna (1.67, 0.67).
        >>> ax = permuting(torch.eye(2), ["a", "b"], [1, 0], torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
        >>> print(ax.get_label())
        Attention on the same words in two orders, one below the other, each word with its place.
        Dot products in the order a, b. Row a: 1, 1. Row b: 1, 2. Out come a (1.00, 0.50), ...
        Dot products in the order b, a. Row b: 1, 0. Row a: 0, 4. Out come b ..., a (1.89, 0.06).
        >>> permuting(torch.ones(2, 3), ["a", "b"], [1, 0])
        Traceback (most recent call last):
        ValueError: x must have shape (T, 2), with T 2 or 3; got (2, 3)
        >>> permuting(torch.ones(2, 2), ["a", "b"], [1, 1])
        Traceback (most recent call last):
        ValueError: order must hold each of 0 to 1 once; got [1, 1]
        >>> permuting(torch.ones(2, 2), ["a", "somebody"], [1, 0])
        Traceback (most recent call last):
        ValueError: a name must have at most 6 letters, to fit into its box; got 'somebody'
        >>> permuting(torch.ones(2, 2), ["a", "b"], [1, 0], torch.ones(3, 2))
        Traceback (most recent call last):
        ValueError: places must have the shape of x, (2, 2); got (3, 2)
    """
    names, order = _check(x, names, order)
    if places is not None and places.shape != x.shape:
        rule = f"places must have the shape of x, {tuple(x.shape)}"
        raise ValueError(f"{rule}; got {tuple(places.shape)}")
    added = torch.zeros_like(x) if places is None else places
    orders = [list(range(len(x))), order]
    told = [part for words in orders for part in _told(x, names, words, added)]
    opening = "Attention on the same words in two orders, one below the other"
    opening += "" if places is None else ", each word with its place"

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE
        high = 62 + ROW * len(x)  # of one order
        ax = canvas(width, 2 * high + 18)
        tops = [[78 + high * i + ROW * t for t in range(len(x))] for i in (0, 1)]
        for words, rows in zip(orders, tops, strict=True):
            drawn = _Order(x, names, words, at, rows, added)
            _attend(ax, drawn)
            _softmax(ax, drawn)
            _compare(ax, drawn)
        _around(ax, at, order, tops)
        _heads(ax, at, len(x), placed=places is not None)
        return tell(ax, opening, *told)

    return for_desk_and_phone(draw)


def seeping(x: Tensor, names: Sequence[str], order: Sequence[int]) -> Axes:
    """Draw what one layer of causal attention puts into each place, for words in two orders.

    A bar is an output of the layer, cut by the weights of the words in it. The last bar is framed.

    Args:
        x: ``(T, D)``, the words; T is 2 to 4.
        names: one per word.
        order: ``(T,)``; place i of the second order holds word ``order[i]`` of the first one.

    Returns:
        The axes.

    Raises:
        ValueError: there are too many words, the order is not one of them, or there are not as
            many names as words, or a name is too long.

    Example:
        >>> ax = seeping(torch.zeros(3, 2), ["a", "b", "c"], [1, 0, 2])
        >>> print(ax.get_label())
        What one layer of causal attention puts into each place.
        In the order a, b, c: a holds 1.00 of a; b holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
        In the order b, a, c: b holds 1.00 of b; a holds 0.50 of a, 0.50 of b;
        c holds 0.33 of a, 0.33 of b, 0.33 of c.
        >>> seeping(torch.zeros(5, 2), list("abcde"), range(5))
        Traceback (most recent call last):
        ValueError: x must have shape (T, D), with T from 2 to 4; got (5, 2)
    """
    if x.dim() != 2 or not 2 <= len(x) <= 4:
        rule = "x must have shape (T, D), with T from 2 to 4"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    names, order = _words(len(x), names, order)
    orders = [list(range(len(x))), order]
    tables = [_causal_weights(x, words) for words in orders]
    told = [
        _told_of_bars(words, table, names)
        for words, table in zip(orders, tables, strict=True)
    ]
    opening = "What one layer of causal attention puts into each place"

    def draw(width: float) -> Axes:
        beside = width == WIDE
        ax = canvas(width, (1 if beside else 2) * (BAR + 74) - 6)
        for i, (words, table) in enumerate(zip(orders, tables, strict=True)):
            middle = width * (i + 0.5) / 2 if beside else width / 2
            corner = (middle - PITCH * len(x) / 2, 0 if beside else i * (BAR + 74))
            _bars(ax, corner, [names[w] for w in words], table, names)
        return tell(ax, opening, *told)

    return for_desk_and_phone(draw)


def _causal_weights(x: Tensor, words: Sequence[int]) -> Tensor:
    """Return the weights ``(T, T)``: a row for each place, but a column for each *word*."""
    moved = x[list(words)]
    _, weights = scaled_dot_product_attention(
        moved, moved, moved, causal_mask(len(x))
    )
    table = torch.empty_like(weights)
    table[:, list(words)] = weights
    return table


def _told_of_bars(words: Sequence[int], table: Tensor, names: Sequence[str]) -> str:
    """Say what each place holds, for the words in one order."""
    called = [names[word] for word in words]
    bars = [
        f"{name} holds {_held(shares, names)}"
        for name, shares in zip(called, table, strict=True)
    ]
    return f"In the order {', '.join(called)}: {'; '.join(bars)}"


def _held(shares: Tensor, names: Sequence[str]) -> str:
    parts = zip(shares.tolist(), names, strict=True)
    return ", ".join(f"{number(share)} of {name}" for share, name in parts if share)


def _bars(
    ax: Axes,
    corner: Point,
    called: Sequence[str],
    table: Tensor,
    names: Sequence[str],
) -> None:
    """Draw a bar for each place, the same word always at the same height in the pile."""
    left, top = corner
    title = (left + PITCH * len(called) / 2, top + 12)
    say(ax, title, " ".join(called), "muted", bold=True)
    foot = top + 34 + BAR
    for i, (name, shares) in enumerate(zip(called, table.tolist(), strict=True)):
        x, y = left + (i + 0.5) * PITCH, foot
        for word, share in enumerate(shares):
            if not share:
                continue
            high = share * BAR
            at, size = (x, y - high / 2), (PITCH - 12, high)
            fits = names[word] if high >= SMALL + 2 else ""
            box(ax, at, size, f"word-{word}", fits, text_size=12)
            y -= high
        say(ax, (x, foot + 16), f"new {name}", size=12)
        if i == len(called) - 1:
            around = (PITCH - 5, BAR + 7)
            box(
                ax,
                (x, foot - BAR / 2),
                around,
                filled=False,
                width=BOLD_LINE,
                order=5,
            )


def _check(
    x: Tensor, names: Sequence[str], order: Sequence[int]
) -> tuple[list[str], list[int]]:
    """Refuse what does not fit into the drawing."""
    if x.dim() != 2 or x.size(1) != 2 or not 2 <= len(x) <= 3:
        rule = "x must have shape (T, 2), with T 2 or 3"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    return _words(len(x), names, order)


def _words(
    count: int, names: Sequence[str], order: Sequence[int]
) -> tuple[list[str], list[int]]:
    """Refuse names that do not fit, and what is no order."""
    names, order = line_names(names, count), list(order)
    if sorted(order) != list(range(count)):
        rule = f"order must hold each of 0 to {count - 1} once"
        raise ValueError(f"{rule}; got {order}")
    if len(longest := max(names, key=len)) > LETTERS:
        rule = f"a name must have at most {LETTERS} letters, to fit into its box"
        raise ValueError(f"{rule}; got {longest!r}")
    return names, order


@dataclass
class _Order:
    """The words in one order, what attention makes of them, and where that is drawn."""

    x: Tensor
    names: list[str]
    words: list[int]
    at: _Places
    rows: Sequence[float]
    places: Tensor  # what is added at each place

    @property
    def moved(self) -> Tensor:
        return self.x[self.words] + self.places

    @property
    def scores(self) -> Tensor:
        return self.moved @ self.moved.mT

    @property
    def made(self) -> Tensor:
        return scaled_dot_product_attention(self.moved, self.moved, self.moved)[0]

    @property
    def end(self) -> float:
        """The right edge of the table."""
        return self.at.table + self.at.cell * len(self.x)

    def center(self, i: int, j: int) -> Point:
        """The middle of an entry of the table."""
        return self.at.table + (j + 0.5) * self.at.cell, self.rows[i]


def _told(
    x: Tensor, names: Sequence[str], words: Sequence[int], added: Tensor
) -> list[str]:
    """Say what one order shows: the table row by row, and what comes out."""
    moved, called = x[words] + added, [names[word] for word in words]
    made, _ = scaled_dot_product_attention(moved, moved, moved)
    rows = [
        f"Row {name}: {listed(row, _digits(moved))}"
        for name, row in zip(called, moved @ moved.T, strict=True)
    ]
    out = [f"{n} ({listed(row)})" for n, row in zip(called, made, strict=True)]
    head = f"Dot products in the order {', '.join(called)}"
    return [head, *rows, f"Out come {', '.join(out)}"]


def _attend(ax: Axes, drawn: _Order) -> None:
    """Draw the words of one order, and the vectors that come out."""
    at = drawn.at
    for i, (word, y) in enumerate(zip(drawn.words, drawn.rows, strict=True)):
        role, name = f"word-{word}", drawn.names[word]
        place = (at.name + at.width / 2, y)
        box(ax, place, (at.width, 26), role, name, text_size=SMALL)
        _flow(ax, drawn, y)
        look: Any = {"cell": (at.entry, 26), "text_size": at.letters}
        vector(ax, (at.made, y), drawn.made[i], role, **look)
        if at.is_desk:  # a phone has no room for more
            look = {"cell": (38, 26), "digits": _digits(drawn.moved)}
            vector(ax, (at.given, y), drawn.moved[i], role, **look)
            left = (at.made + 2 * at.entry + 8, y)
            say(ax, left, f"new {name}", align="left", size=SMALL)


def _flow(ax: Axes, drawn: _Order, y: float) -> None:
    """Lead a row from its word through the table and the softmax to what comes out."""
    at = drawn.at
    start = at.given + 76 if at.is_desk else at.name + at.width
    gaps = [
        (start, at.table),
        (drawn.end, at.softmax - 12),
        (at.softmax + 12, at.made),
    ]
    for left, right in gaps:
        wire(ax, [(left, y), (right, y)], head=at.is_desk)


def _softmax(ax: Axes, drawn: _Order) -> None:
    """It reaches over all rows, and is named for what follows it, too."""
    at, rows = drawn.at, drawn.rows
    middle, high = (rows[0] + rows[-1]) / 2, rows[-1] - rows[0] + 28
    box(ax, (at.softmax, middle), (24, high))
    steps = "softmax, average" if len(drawn.x) > 2 else "softmax"
    say(ax, (at.softmax, middle), steps, size=12, turned=True)


def _compare(ax: Axes, drawn: _Order) -> None:
    """Draw the table of one order; the first word's comparison with the last one is framed."""
    words, cell, digits = drawn.words, drawn.at.cell, _digits(drawn.moved)
    for j, word in enumerate(words):
        x, _ = drawn.center(0, j)
        say(ax, (x, drawn.rows[0] - 27), drawn.names[word], size=12)
    for i, row in enumerate(drawn.scores.tolist()):
        for j, score in enumerate(row):
            both = (words[i], words[j])
            _score(ax, drawn.center(i, j), cell, both, number(score, digits))
    center = drawn.center(words.index(0), words.index(len(words) - 1))
    box(ax, center, (cell - 3, ROW - 3), filled=False, width=BOLD_LINE, order=5)


def _score(
    ax: Axes, at: Point, cell: float, words: tuple[int, int], text: str
) -> None:
    """Draw one comparison: the ground is the word that asks, the foot the one that is asked."""
    (x, y), (asks, asked) = at, words
    box(ax, at, (cell - 3, ROW - 3), f"word-{asks}", width=0)
    foot = (x - cell / 2 + 5, y + ROW / 2 - 6)
    bar(ax, foot, cell - 10, f"word-{asked}", thick=4)
    say(ax, (x, y - 2), text)


def _around(
    ax: Axes, at: _Places, order: Sequence[int], tops: Sequence[Sequence[float]]
) -> None:
    """Lead each word from its first place to its second one, the longest way outermost."""
    moves = [(tops[0][word], tops[1][i], word) for i, word in enumerate(order)]
    moves.sort(key=lambda move: move[1] - move[0])
    for number_of, (start, end, word) in enumerate(moves):
        x = at.name - 8 - at.arc * (number_of + 1 - 0.4)
        way = [(at.name, start), (x, start), (x, end), (at.name, end)]
        wire(ax, way, f"word-{word}", width=2)


def _heads(ax: Axes, at: _Places, count: int, *, placed: bool) -> None:
    words = at.name + at.width / 2 + (40 if at.is_desk else 0)
    table, made = at.table + at.cell * count / 2, at.made + at.entry
    ends = (
        ("what goes in", "what comes out") if at.is_desk else ("words", "outputs")
    )
    ends = ("word + place", ends[1]) if placed and at.is_desk else ends
    titles(
        ax,
        zip((words, table, made), (ends[0], "dot products", ends[1]), strict=True),
        14,
    )


def _digits(x: Tensor) -> int:
    """Return how many digits dot products are written with: none where the words are of integers."""
    return 0 if torch.equal(x, x.round()) else 2
