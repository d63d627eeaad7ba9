"""Sentences on their way into bags: what a model sees that does not see the order of words."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    LINE,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
)
from selfattn_book.draw.layout import WIDE

TILE = 26  # pixels of a word
ROW = 40  # pixels from a sentence to the next
TOP = 60  # pixels above the middle of the first
GROUNDS = ["word-0", "word-1", "word-2", "word-3", "muted"]


@dataclass
class _Places:
    """The middles of the columns, in pixels from the left edge."""

    sentence: float
    bag: float


DESK = _Places(210, 470)
PHONE = _Places(66, 250)


def into_bags(tokens: Tensor, labels: Tensor) -> Canvas:
    """Draw each sentence, and the bag that is left of it when the order of its words is gone.

    A bag into which sentences with different labels fall has a bold edge, and says so.

    Args:
        tokens: ``(B, 3)``, words as whole numbers from 0 to 4; B is 2 to 10.
        labels: ``(B,)``, 0 or 1.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [2, 1, 0], [3, 1, 4]])
        >>> print(into_bags(tokens, torch.tensor([1.0, 0.0, 1.0])).get_label())
        3 sentences and their bags of words.
        Into the bag 0 1 2 fall 0 1 2 with label 1 and 2 1 0 with label 0: both labels in one bag.
        Into the bag 1 3 4 falls 3 1 4 with label 1.
    """
    bags = _gather(tokens, labels)

    def draw(width: float) -> Canvas:
        at = DESK if width == WIDE else PHONE
        ax = canvas(width, TOP + ROW * len(tokens))
        ax.titles([(at.sentence, "sentence, label"), (at.bag, "its bag")], 16)
        top = TOP
        for bag in bags:  # its sentences stand one below the other
            rows = [top + ROW * i for i in range(len(bag.fallen))]
            _sentences(ax, at, bag, rows)
            _bag(ax, at, bag, rows)
            top += ROW * len(rows)
        opening = f"{len(tokens)} sentences and their bags of words"
        return ax.describe(opening, *map(_told, bags))

    return for_desk_and_phone(draw)


@dataclass
class _Bag:
    """A bag of words, and the sentences that fall into it, each with its label."""

    words: tuple[int, ...]
    fallen: list[tuple[list[int], int]]

    @property
    def is_torn(self) -> bool:
        """Whether sentences with different labels fall into it."""
        return len({label for _, label in self.fallen}) > 1


def _gather(tokens: Tensor, labels: Tensor) -> list[_Bag]:
    """Check what is given, and put each sentence into its bag."""
    bags: dict[tuple[int, ...], _Bag] = {}
    for sentence, label in zip(tokens.tolist(), labels.int().tolist(), strict=True):
        words = tuple(sorted(sentence))
        bags.setdefault(words, _Bag(words, [])).fallen.append((sentence, label))
    return list(bags.values())


def _told(bag: _Bag) -> str:
    """Say which sentences fall into a bag."""
    each = " and ".join(f"{_spaced(words)} with label {label}" for words, label in bag.fallen)
    verb = "falls" if len(bag.fallen) == 1 else "fall"
    both = ": both labels in one bag" if bag.is_torn else ""
    return f"Into the bag {_spaced(bag.words)} {verb} {each}{both}"


def _spaced(words: Sequence[int]) -> str:
    return " ".join(map(str, words))


def _sentences(ax: Canvas, at: _Places, bag: _Bag, rows: Sequence[float]) -> None:
    """Draw the sentences that fall into one bag, each with its label."""
    for y, (sentence, label) in zip(rows, bag.fallen, strict=True):
        _tiles(ax, (at.sentence - 18, y), sentence)
        ax.say((at.sentence + 38, y), str(label), bold=True)


def _tiles(ax: Canvas, at: Point, words: Sequence[int]) -> None:
    for i, word in enumerate(words):
        middle = (at[0] + TILE * (i - 1), at[1])
        ax.box(middle, (TILE - 2, TILE - 2), GROUNDS[word], str(word))


def _bag(ax: Canvas, at: _Places, bag: _Bag, rows: Sequence[float]) -> None:
    """Draw a bag, and a wire from each sentence that falls into it."""
    y, wide = sum(rows) / len(rows), 3 * TILE + 12
    for row, (_, label) in zip(rows, bag.fallen, strict=True):
        ends = [(at.sentence + 52, row), (at.bag - wide / 2 - 1, y)]
        ax.wire(ends, "ink" if label else "muted", curved=True, dashed=not label)
    role, edge = ("ink", BOLD_LINE) if bag.is_torn else ("residual", LINE)
    ax.box((at.bag, y), (wide, TILE + 7), role, filled=False, width=edge)
    _tiles(ax, (at.bag, y), bag.words)
    if bag.is_torn:
        below = (at.bag, y + TILE / 2 + 16)
        ax.note(below, "both labels", bold=True)
