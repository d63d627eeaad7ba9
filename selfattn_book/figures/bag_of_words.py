"""Two sentences with the same words: one bag, and one point that is the mean of their vectors."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed
from selfattn_book.draw.scene import Node, column, frame, part, row, show, space, title
from selfattn_book.draw.style import as_array

PLANE = 150  # pixels of the plane, across or up


def bag_of_words(sentences: Sequence[Sequence[int]], table: Tensor, words: Sequence[str]) -> Canvas:
    """Draw two sentences that have the same words, their bag, and the mean of its vectors.

    Sentences are word numbers, 2 to 4 each; ``table`` has one vector per word, ``(N, 2)``.

    Example:
        >>> import torch
        >>> table = torch.tensor([[6.0, 0.0], [3.0, 6.0], [0.0, 3.0]])
        >>> print(bag_of_words([[0, 1, 2], [2, 1, 0]], table, ["dog", "bites", "man"]).get_label())
        Two sentences, dog bites man and man bites dog, have one bag: dog, bites, man.
        The vectors of the bag are dog (6, 0), bites (3, 6), man (0, 3).
        Their mean is one point for both sentences, (3, 3).
    """
    bag = sorted(sentences[0])
    names, roles = [words[i] for i in bag], {word: f"word-{i}" for i, word in enumerate(bag)}
    points = as_array(table)[bag]
    one, other = (" ".join(words[word] for word in sentence) for sentence in sentences)
    each = [f"{name} {_entries(p)}" for name, p in zip(names, points, strict=True)]
    plane = partial(_plane, points, names, list(roles.values()))

    def build(narrow: bool) -> Node:
        def parts(some: Sequence[int]) -> list[Node]:
            return [part(words[word], roles[word], width=62, height=32) for word in some]

        rows = [row(*parts(sentence), gap=4) for sentence in sentences]
        mixed = parts([*bag[1:], *bag[:1]])  # an order that is not to be read
        inside = row(*mixed, gap=4) if narrow else column(*mixed, gap=6)
        sack = frame(inside, "muted", pad=8, filled=False)
        point = space(PLANE + 108, PLANE + 30, plane)
        heads = title("two sentences"), title("one bag"), title("one point")
        both = column(*rows, gap=10 if narrow else 68)
        bodies = [row(node, space(0, 0 if narrow else 180), gap=0) for node in (both, sack, point)]
        nodes = [column(*pair) for pair in zip(heads, bodies, strict=True)]
        root = column(*nodes, gap=34) if narrow else row(*nodes, gap=50)
        for sentence in rows:
            if narrow:
                root.link(sentence, sack, around=16)
            else:
                root.link(sentence, sack, ends=((1, 0.5), (0, 0.5)), curved=True)
        root.link(sack, heads[2] if narrow else point, text="mean")
        return root

    return show(
        build,
        f"Two sentences, {one} and {other}, have one bag: {', '.join(names)}",
        f"The vectors of the bag are {', '.join(each)}",
        f"Their mean is one point for both sentences, {_entries(points.mean(axis=0))}",
    )


def _plane(
    points: np.ndarray, names: Sequence[str], roles: Sequence[str], ax: Canvas, at: Point
) -> None:
    """Draw the words as points, and their mean."""
    x, y = at[0] - PLANE / 2 - 12, at[1] + PLANE / 2 + 10
    span = max(float(np.ptp(points, axis=0).max()), 1e-9)
    scaled = (np.vstack([points, points.mean(axis=0)]) - points.min(axis=0)) * PLANE / span
    *places, middle = [(x + across, y - up) for across, up in scaled.tolist()]
    ax.line([(x, y - PLANE), (x, y), (x + PLANE, y)], "residual")
    for place, name, role in zip(places, names, roles, strict=True):
        ax.wire([place, middle], "residual", head=False, dashed=True)
        ax.disc(place, 6, role)
        side = int(np.sign(round((place[0] - middle[0]) / PLANE, 1)))  # away from the mean
        at = (place[0] + 11 * side, place[1] - 15 * (side == 0))
        ax.note(at, name, align=("right", "center", "left")[side + 1])
    ax.box(middle, (11, 11), "context", width=BOLD_LINE, order=5)
    text = f"mean {_entries(points.mean(axis=0))}"
    ax.note((middle[0] + 14, middle[1] - 2), text, "context", align="left", bold=True)


def _entries(point: np.ndarray) -> str:
    """Write a point, without decimals if they are zero."""
    return f"({listed(point, 0 if (point == point.round()).all() else 2)})"
