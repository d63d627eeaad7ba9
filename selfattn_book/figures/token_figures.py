"""Texts as tokens: their boundaries, their continuations, and attention to them."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import (
    Canvas,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_vector

LINE = 22  # pixels from one line of text to the next, without bars
TALL = 88  # and with them
GROUNDS = 4
BAR = 9  # one width for all, because wide tokens have no more weight
NARROW_LETTERS, WIDE_LETTERS = "iljtfrI.,:;'()!· ", "mwMWOGQNDHU"


def writers(prompt: str, written: Mapping[str, str]) -> Canvas:
    r"""Draw the continuations of a prompt by several models.

    Args:
        prompt: beginning of the text.
        written: continuations by name.

    Example:
        >>> ax = writers("In the", {"chance": "q;xZ", "counts": " land\nof"})
        >>> print(ax.get_label())
        “In the” continued. chance: “q;xZ”. counts: “ land ⏎ of”.
        >>> ax.figure.to_svg().count("In the</text>")   # on a line of its own, for desk and phone
        2
    """
    shown = {name: text.replace("\n", " ⏎ ") for name, text in written.items()}
    message = [f"{name}: “{text}”" for name, text in shown.items()]

    def draw(width: float) -> Canvas:
        left = 0 if width == NARROW else 150
        texts = {name: wrapped(text.strip(" "), width - left) for name, text in shown.items()}
        above = LINE if width == NARROW else 0
        heights = [LINE * len(text) + above + 12 for text in texts.values()]
        ax, y = canvas(width, 34 + sum(heights)), 12.0
        ax.say((left, y), f"{prompt}", "query", align="left", bold=True)
        y += 30
        for (name, text), height in zip(texts.items(), heights, strict=True):
            ax.say((0, y), name, "muted", align="left", bold=True)
            for i, part in enumerate(text):
                ax.say((left, y + above + LINE * i), part, align="left")
            y += height
        return ax.describe(f"“{prompt}” continued", *message)

    return for_desk_and_phone(draw)


def cuts(cut: Mapping[str, Sequence[str]]) -> Canvas:
    """Draw the tokens of a text, for one tokenizer or several.

    A space is drawn as a middle dot, and the end of a line as an arrow.

    Args:
        cut: tokens by name of the tokenizer.

    Example:
        >>> ax = cuts({"bytes": ["a", " ", "b"], "pairs": ["a", " b"]})
        >>> print(ax.get_label())
        A text cut into tokens. bytes, 3 tokens: “a”, “ ”, “b”. pairs, 2 tokens: “a”, “ b”.
    """
    message = [
        f"{name}, {len(pieces)} tokens: {', '.join(f'“{p}”' for p in pieces)}"
        for name, pieces in cut.items()
    ]

    def draw(width: float) -> Canvas:
        rows = {name: in_rows(pieces, width) for name, pieces in cut.items()}
        heights = [30 * len(row) + 34 for row in rows.values()]
        ax, y = canvas(width, sum(heights)), 12.0
        for (name, row), height in zip(rows.items(), heights, strict=True):
            title = f"{name}: {len(cut[name])} tokens"
            ax.say((0, y), title, "muted", align="left", bold=True)
            _boxes(ax, y, row)
            y += height
        return ax.describe("A text cut into tokens", *message)

    return for_desk_and_phone(draw)


def _boxes(ax: Canvas, y: float, rows: list[list[str]]) -> None:
    """Draw tokens in rows, each in a different color than its neighbors."""
    count = 0
    for i, pieces in enumerate(rows):
        x = 0.0
        for piece in pieces:
            wide, role = size(piece), f"word-{count % GROUNDS}"
            at = (x + wide / 2, y + 26 + 30 * i)
            ax.box(at, (wide - 2, 24), role, visible(piece), width=1)
            x, count = x + wide, count + 1


def looked_at(pieces: Sequence[str], weights: Mapping[str, Tensor | np.ndarray]) -> Canvas:
    """Draw the attention of the last token to every token, in several heads.

    The bars of all heads have one scale. A bar of at least half of its head's largest has its number.

    Args:
        pieces: T tokens.
        weights: attention weights of the last token, ``(T,)``, by name of the head.

    Example:
        >>> ax = looked_at(["And", " Saul", " said"], {"one": [0.0, 0.9, 0.1]})
        >>> print(ax.get_label())
        What “ said” attends to, from the largest weight. one: “ Saul” 0.90, “ said” 0.10, “And” 0.00.
    """
    shares = {name: as_vector(name, values) for name, values in weights.items()}
    most = max(float(values.max()) for values in shares.values())
    message = [f"{name}: {_most(pieces, values)}" for name, values in shares.items()]

    def draw(width: float) -> Canvas:
        rows = in_rows(pieces, width)
        height = TALL * len(rows) + 30
        ax = canvas(width, height * len(shares))
        for i, (name, values) in enumerate(shares.items()):
            y = 12.0 + height * i
            ax.say((0, y), name, "muted", align="left", bold=True)
            _bars_above(ax, y, rows, values, most)
        return ax.describe(f"What “{pieces[-1]}” attends to, from the largest weight", *message)

    return for_desk_and_phone(draw)


def _bars_above(
    ax: Canvas, y: float, rows: list[list[str]], shares: np.ndarray, most: float
) -> None:
    """Draw tokens in rows, each with its bar above it."""
    values, largest = iter(shares.tolist()), float(shares.max())
    for i, pieces in enumerate(rows):
        x, floor = 0.0, y + TALL * (i + 1) - 24
        for piece in pieces:
            wide, share = size(piece), next(values)
            middle = x + wide / 2
            tall = (TALL - 44) * share / most
            ax.vbar((middle, floor), tall, "weights", thick=BAR)
            ax.box((middle, floor + 13), (wide - 2, 22), "key", visible(piece), width=1)
            if share >= largest / 2:
                at = (middle, floor - tall - 9)
                ax.note(at, number(share), "weights")
            x += wide


def _most(pieces: Sequence[str], shares: np.ndarray, count: int = 3) -> str:
    order = np.argsort(-shares, kind="stable")[:count]
    return ", ".join(f"“{pieces[i]}” {number(shares[i])}" for i in order)


def visible(piece: str) -> str:
    r"""Return a token with visible spaces and line ends.

    >>> visible(" the"), visible("\n")
    ('·the', '⏎')
    """
    return piece.replace(" ", "·").replace("\n", "⏎")


def size(piece: str) -> float:
    """Return the width of the box of a token in pixels.

    >>> size("il") < size("an") < size("mw")
    True
    """
    letters = [
        4.6 if letter in NARROW_LETTERS else 11.5 if letter in WIDE_LETTERS else 7.9
        for letter in piece
    ]
    return 10 + sum(letters)


def in_rows(pieces: Sequence[str], width: float) -> list[list[str]]:
    """Break tokens into rows of at most a width.

    >>> in_rows(["In", " the", " be"], 70)
    [['In', ' the'], [' be']]
    """
    rows: list[list[str]] = [[]]
    for piece in pieces:
        if rows[-1] and sum(map(size, [*rows[-1], piece])) > width:
            rows.append([])
        rows[-1].append(piece)
    return rows


def wrapped(text: str, width: float) -> list[str]:
    """Break a text into lines of at most a width, between words if possible.

    >>> wrapped("and the earth", 60), wrapped("x" * 9, 50)
    (['and the', 'earth'], ['xxxxxx', 'xxx'])
    """
    lines, current = [], ""
    for letter in text:
        current += letter
        if size(current) - 10 > width:
            head, space, rest = current.rpartition(" ")
            head, rest = (head, rest) if space and head else (current[:-1], letter)
            lines.append(head)
            current = rest
    return [*lines, current]
