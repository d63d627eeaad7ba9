"""Two sentences with the same words: one bag, and one point that is the mean of their vectors."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_matrix

WORD = (62, 32)  # pixels of a word's box
STEP = 66  # from one word of a sentence to the next
CHIP = 38  # from one word in the bag to the next
LETTERS = 7  # of the longest word
PLANE = 150  # pixels of the plane, across or up


def bag_of_words(sentences: Sequence[Sequence[int]], table: Tensor, words: Sequence[str]) -> Canvas:
    r"""Draw two sentences that have the same words, their bag, and the mean of its vectors.

    .. math:: \frac1T \sum_t e_{x_t}

    Args:
        sentences: two, each of T words by their numbers; T is 2 to 4.
        table: ``(N, 2)``, one vector per word.
        words: their names, each of at most seven letters.

    Example:
        >>> import torch
        >>> table = torch.tensor([[6.0, 0.0], [3.0, 6.0], [0.0, 3.0]])
        >>> ax = bag_of_words([[0, 1, 2], [2, 1, 0]], table, ["dog", "bites", "man"])
        >>> print(ax.get_label())
        Two sentences, dog bites man and man bites dog, have one bag: dog, bites, man.
        The vectors of the bag are dog (6, 0), bites (3, 6), man (0, 3).
        Their mean is one point for both sentences, (3, 3).
    """
    bag = sorted(sentences[0])
    points = as_matrix(table)[bag]
    mean = points.mean(axis=0)
    names = [words[word] for word in bag]
    said = [" ".join(words[word] for word in sentence) for sentence in sentences]
    places = [f"{name} {_entries(p)}" for name, p in zip(names, points, strict=True)]

    def draw(width: float) -> Canvas:
        place = _on_phone if width == NARROW else _on_desk
        ax = place(sentences, bag, points, words)
        return ax.describe(
            f"Two sentences, {said[0]} and {said[1]}, have one bag: {', '.join(names)}",
            f"The vectors of the bag are {', '.join(places)}",
            f"Their mean is one point for both sentences, {_entries(mean)}",
        )

    return for_desk_and_phone(draw)


def _on_desk(
    sentences: Sequence[Sequence[int]], bag: Sequence[int], points: np.ndarray, words: Sequence[str]
) -> Canvas:
    ax, middle = canvas(640, 236), 130
    left, end = 32, 32 + STEP * (len(bag) - 1) + WORD[0] / 2
    inside = end + 96  # the middle of the bag
    heads = [((end + 1) / 2, "two sentences"), (inside, "one bag")]
    corner = (inside + 128, middle - PLANE / 2 + 8)
    ax.titles([*heads, (corner[0] + PLANE / 2, "one point")], 16)
    for y, sentence in zip((middle - 50, middle + 50), sentences, strict=True):
        _words(ax, (left, y), sentence, bag, words)
        ax.wire([(end + 4, y), (inside - 42, middle)], curved=True)
    ax.box((inside, middle), (80, CHIP * len(bag) + 10), "muted", filled=False)
    top = middle - CHIP * (len(bag) - 1) / 2
    _words(ax, (inside, top), _mixed(bag), bag, words, step=(0, CHIP))
    _plane(ax, corner, points, bag, words)
    ax.wire([(inside + 42, middle), (inside + 86, middle)])
    ax.note((inside + 62, middle - 14), "mean")
    return ax


def _on_phone(
    sentences: Sequence[Sequence[int]], bag: Sequence[int], points: np.ndarray, words: Sequence[str]
) -> Canvas:
    ax = canvas(NARROW, 444)
    left = 138 - STEP * (len(bag) - 1) / 2
    end, trunk = left + STEP * (len(bag) - 1) + WORD[0] / 2, 296
    ax.titles([(138, "two sentences")], 14)
    for y, sentence in zip((46, 88), sentences, strict=True):
        _words(ax, (left, y), sentence, bag, words)
        ax.wire([(end + 2, y), (trunk, y)], head=False)
    ax.titles([(138, "one bag")], 132)
    ax.wire([(trunk, 46), (trunk, 168), (end + 8, 168)])
    ax.box((138, 168), (end - left + WORD[0] / 2 + 12, 44), "muted", filled=False)
    _words(ax, (left, 168), _mixed(bag), bag, words)
    ax.wire([(138, 192), (138, 232)])
    ax.note((146, 210), "mean", align="left")
    ax.titles([(40, "one point")], 246)
    _plane(ax, (82, 264), points, bag, words)
    return ax


def _words(
    ax: Canvas,
    first: Point,
    some: Sequence[int],
    bag: Sequence[int],
    words: Sequence[str],
    *,
    step: Point = (STEP, 0),
) -> None:
    """Draw words one after the other, each on its own ground."""
    for i, word in enumerate(some):
        at = (first[0] + step[0] * i, first[1] + step[1] * i)
        ax.box(at, WORD, _role(word, bag), words[word])


def _role(word: int, bag: Sequence[int]) -> str:
    return f"word-{sorted(set(bag)).index(word)}"


def _mixed(bag: Sequence[int]) -> Sequence[int]:
    """Return the words in an order that is not to be read."""
    return [*bag[1:], *bag[:1]]


def _plane(
    ax: Canvas, corner: Point, points: np.ndarray, bag: Sequence[int], words: Sequence[str]
) -> None:
    """Draw the words as points, and their mean in the midst of them."""
    low, span = points.min(axis=0), max(float(np.ptp(points, axis=0).max()), 1e-9)
    scaled = (np.vstack([points, points.mean(axis=0)]) - low) * PLANE / span
    *places, middle = [(corner[0] + x, corner[1] + PLANE - y) for x, y in scaled]
    ax.line([(corner[0], corner[1] + PLANE), (corner[0], corner[1])], "residual")
    ends = [(corner[0], corner[1] + PLANE), (corner[0] + PLANE, corner[1] + PLANE)]
    ax.line(ends, "residual")
    for place, word in zip(places, bag, strict=True):
        ax.wire([place, middle], "residual", head=False, dashed=True)
        ax.disc(place, 6, _role(word, bag))
        side = int(np.sign(round((place[0] - middle[0]) / PLANE, 1)))  # away from the mean
        at = (place[0] + 11 * side, place[1] - 15 * (side == 0))
        align = ("right", "center", "left")[side + 1]
        ax.note(at, words[word], align=align)
    ax.box(middle, (11, 11), "context", width=BOLD_LINE, order=5)
    mean = f"mean {_entries(points.mean(axis=0))}"
    at = (middle[0] + 14, middle[1] - 2)
    ax.note(at, mean, "context", align="left", bold=True)


def _entries(point: np.ndarray) -> str:
    """Write a point, without digits where there are none to write.

    >>> _entries(np.array([6.0, -1.0])), _entries(np.array([0.5, 1.0]))
    ('(6, -1)', '(0.50, 1.00)')
    """
    digits = 0 if (point == point.round()).all() else 2
    return f"({', '.join(number(x, digits) for x in point)})"
