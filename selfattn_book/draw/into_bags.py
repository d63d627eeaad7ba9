"""Sentences on their way into bags: what a model sees that does not see the order of words."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    LINE,
    Point,
    box,
    canvas,
    for_desk_and_phone,
    say,
    tell,
    titles,
    wire,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL

TILE = 26  # pixels of a word
ROW = 40  # pixels from a sentence to the next
TOP = 60  # pixels above the middle of the first
GROUNDS = ["word-0", "word-1", "word-2", "word-3", "muted"]


def into_bags(tokens: Tensor, labels: Tensor) -> Axes:
    """Draw each sentence, and the bag that is left of it when the order of its words is gone.

    A bag into which sentences with different labels fall has a bold edge, and says so.

    Args:
        tokens: ``(B, 3)``, words as whole numbers from 0 to 4; B is 2 to 10.
        labels: ``(B,)``, 0 or 1.

    Returns:
        The axes.

    Raises:
        ValueError: the sentences do not have three words of five, there are too few or too many, or
            there are not as many labels, each 0 or 1, as sentences.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [2, 1, 0], [3, 1, 4]])
        >>> print(into_bags(tokens, torch.tensor([1.0, 0.0, 1.0])).get_label())
        3 sentences and their bags of words.
        Into the bag 0 1 2 fall 0 1 2 with label 1 and 2 1 0 with label 0: both labels in one bag.
        Into the bag 1 3 4 falls 3 1 4 with label 1.
        >>> into_bags(tokens + 3, torch.ones(3))
        Traceback (most recent call last):
        ValueError: tokens must have shape (B, 3), with B from 2 to 10, and words from 0 to 4; got shape
        (3, 3), with words from 3 to 7
        >>> into_bags(tokens, torch.ones(2))
        Traceback (most recent call last):
        ValueError: labels must be 0 or 1, one for each of 3 sentences; got [1.0, 1.0]
    """
    if tokens.dim() != 2 or tokens.size(1) != 3 or not 2 <= len(tokens) <= 10:
        raise ValueError(f"{RULE}; got shape {tuple(tokens.shape)}")
    if tokens.min() < 0 or tokens.max() > 4:
        found = f"with words from {int(tokens.min())} to {int(tokens.max())}"
        raise ValueError(f"{RULE}; got shape {tuple(tokens.shape)}, {found}")
    if labels.shape != tokens.shape[:1] or not set(labels.tolist()) <= {0, 1}:
        rule = f"labels must be 0 or 1, one for each of {len(tokens)} sentences"
        raise ValueError(f"{rule}; got {labels.tolist()}")
    inside: dict[tuple[int, ...], list[tuple[list[int], int]]] = {}
    for sentence, label in zip(tokens.tolist(), labels.int().tolist(), strict=True):
        inside.setdefault(tuple(sorted(sentence)), []).append((sentence, label))
    told = [_told(bag, fallen) for bag, fallen in inside.items()]
    opening = f"{len(tokens)} sentences and their bags of words"

    def draw(width: float) -> Axes:
        ax = canvas(width, TOP + ROW * len(tokens))
        narrow = width == NARROW
        left, right = (66, 250) if narrow else (210, 470)
        heads = [(left, "sentence, label"), (right, "its bag")]
        titles(ax, heads, 16)
        row = 0
        for bag, fallen in inside.items():
            rows = [TOP + ROW * (row + i) for i in range(len(fallen))]
            row += len(fallen)
            for y, (sentence, label) in zip(rows, fallen, strict=True):
                _tiles(ax, (left - 18, y), sentence)
                say(ax, (left + 38, y), str(label), bold=True)
            _bag(ax, (right, sum(rows) / len(rows)), bag, fallen, rows, left + 52)
        return tell(ax, opening, *told)

    return for_desk_and_phone(draw)


RULE = "tokens must have shape (B, 3), with B from 2 to 10, and words from 0 to 4"


def _told(bag: Sequence[int], fallen: list[tuple[list[int], int]]) -> str:
    each = " and ".join(
        f"{' '.join(map(str, words))} with label {label}" for words, label in fallen
    )
    verb = "falls" if len(fallen) == 1 else "fall"
    both = ": both labels in one bag" if _is_torn(fallen) else ""
    return f"Into the bag {' '.join(map(str, bag))} {verb} {each}{both}"


def _is_torn(fallen: list[tuple[list[int], int]]) -> bool:
    return len({label for _, label in fallen}) > 1


def _tiles(ax: Axes, at: Point, words: Sequence[int]) -> None:
    for i, word in enumerate(words):
        middle = (at[0] + TILE * (i - 1), at[1])
        box(ax, middle, (TILE - 2, TILE - 2), GROUNDS[word], str(word))


def _bag(
    ax: Axes,
    at: Point,
    bag: Sequence[int],
    fallen: list[tuple[list[int], int]],
    rows: Sequence[float],
    start: float,
) -> None:
    """Draw a bag, and a wire from each sentence that falls into it."""
    (x, y), torn = at, _is_torn(fallen)
    wide = 3 * TILE + 12
    for row, (_, label) in zip(rows, fallen, strict=True):
        ends = [(start, row), (x - wide / 2 - 1, y)]
        wire(ax, ends, "ink" if label else "muted", curved=True, dashed=not label)
    role, edge = ("ink", BOLD_LINE) if torn else ("road", LINE)
    box(ax, at, (wide, TILE + 7), role, filled=False, width=edge)
    _tiles(ax, at, bag)
    if torn:
        say(ax, (x, y + TILE / 2 + 16), "both labels", size=SMALL, bold=True)
