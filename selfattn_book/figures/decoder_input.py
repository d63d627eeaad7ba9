"""The decoder's input and target, and what a decoder without a mask sees of its target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.patches import Circle
from torch import Tensor

from selfattn_book.draw.canvas import LINE, Canvas, Point, listed, number
from selfattn_book.draw.colors import light
from selfattn_book.draw.scene import Node, column, label, note, row, show, space
from selfattn_book.draw.sheet import POINT
from selfattn_book.figures.attention_map import numbered

PEEK = (300, 286)  # pixels of one way to attend to two points
PEEK_ROWS = (76, 206)  # pixels down to the decoder's input, and to its output
PEEK_SIDES = (-66, 66)  # pixels from the middle to the two points


def shift_by_one(source: Tensor, target: Tensor) -> Canvas:
    """Draw the decoder's input in training, and below it its target.

    Args:
        source: ``(S, 2)``, corners of a square with side 2 around the origin.
        target: ``(T, 2)``, the corners that follow.

    Example:
        >>> import torch
        >>> a, b, c, d = torch.tensor([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])
        >>> print(shift_by_one(torch.stack([a, b]), torch.stack([c, d])).get_label())
        The target, shifted by one. Position 1: input s₂, (-1.00, 1.00), target t₁, (1.00, 1.00).
        Position 2: input t₁, (1.00, 1.00), target t₂, (1.00, -1.00).
    """
    asked = list(zip(numbered("t", len(target)), target, strict=True))
    fed = [(numbered("s", len(source))[-1], source[-1]), *asked[:-1]]

    def build(narrow: bool) -> Node:
        tops = [_corner(f"word-{(i - 1) % 4}", *point) for i, point in enumerate(fed)]
        lows = [_corner(f"word-{i}", *point) for i, point in enumerate(asked)]
        columns = []
        for i, (top, low) in enumerate(zip(tops, lows, strict=True)):
            (f, x), (a, y) = fed[i], asked[i]
            alt = f"Position {i + 1}: input {f}, ({listed(x)}), target {a}, ({listed(y)})"
            place = note(f"position {i + 1}", "muted")
            columns.append(column(top, column(low, place, gap=4), gap=72, alt=alt))
        body = row(*columns, gap=12 if narrow else 64)
        words: list[Node] = [label("decoder input", bold=True), label("target", bold=True)]
        if narrow:
            root = column(words[0], body, words[1], gap=6, align=0)
        else:
            words = [space(0, 17), words[0], space(0, 106), words[1], space(0, 38)]
            root = row(column(*words, gap=0, align=1), body, gap=24)
        for top, low in zip(tops, lows, strict=True):
            root.link(top, low, width=2)
        for low, after in zip(lows, tops[1:], strict=False):
            root.link(low, after, "muted", ends=((0.77, 0), (0.23, 1)), dashed=True)
        return root

    return show(build, "The target, shifted by one")


def peeking(fed: Tensor, tables: Mapping[str, Tensor], names: Sequence[str] = ("b", "c")) -> Canvas:
    """Draw what position 1 receives of two decoder inputs, the second of which is its target.

    Args:
        fed: ``(2, 2)``, corners of a square with side 2 around the origin.
        tables: attention weights ``(2, 2)`` by name; one or two of them.
        names: names of the points.

    Example:
        >>> import torch
        >>> b, c = torch.tensor([[-1.0, 1], [1, 1]])
        >>> free, masked = torch.tensor([[0.1, 0.9], [0.5, 0.5]]), torch.tensor([[1, 0], [0.5, 0.5]])
        >>> ax = peeking(torch.stack([b, c]), {"No mask": free, "Masked": masked})
        >>> print(ax.get_label())
        Position 1 has the input b and the target c, which is the input at position 2.
        No mask: it attends 0.10 to b and 0.90 to c, and receives (0.80, 1.00), where c is (1.00, 1.00).
        Masked: it attends 1.00 to b and nothing to c, and receives (-1.00, 1.00), where c is ...
    """
    ways = [_Way(name, fed, weights[0], names) for name, weights in tables.items()]
    opening = f"Position 1 has the input {names[0]} and the target {names[1]}"

    def node(way: _Way) -> Node:
        def paint(ax: Canvas, middle: Point) -> None:
            _peek(ax, (middle[0], middle[1] - PEEK[1] / 2), way)

        return space(*PEEK, paint, alt=way.message())

    return show(lambda _: row(*map(node, ways)), f"{opening}, which is the input at position 2")


@dataclass
class _Way:
    """One way to attend: the two points that are fed, and how much of each position 1 takes."""

    title: str
    fed: Tensor
    weights: Tensor  # (2,)
    names: Sequence[str]

    @property
    def received(self) -> Tensor:
        return self.weights @ self.fed

    def blend(self) -> str:
        """Say what position 1 receives, as a sum of what is fed."""
        parts = [
            name if weight == 1 else f"{number(weight)} {name}"
            for weight, name in zip(self.weights.tolist(), self.names, strict=True)
            if weight
        ]
        return f"position 1 receives {' + '.join(parts)}"

    def message(self) -> str:
        """Say what position 1 takes and receives, and what it should say."""
        (first, answer), (own, other) = self.names, self.weights.tolist()
        taken = f"{number(other)} to {answer}" if other else f"nothing to {answer}"
        return (
            f"{self.title}: it attends {number(own)} to {first} and {taken}, and receives "
            f"({listed(self.received)}), where {answer} is ({listed(self.fed[1])})"
        )


def _peek(ax: Canvas, at: Point, way: _Way) -> None:
    """Draw one way to attend: what is fed above, and below it what position 1 receives of it."""
    x, top = at
    ax.say((x, top + 12), way.title, bold=True)
    high, low = (top + row for row in PEEK_ROWS)
    for i, (dx, name) in enumerate(zip(PEEK_SIDES, way.names, strict=True)):
        _point(ax, (x + dx, high), f"word-{i}", name, way.fed[i])
        place = (x + dx, high - 38)
        ax.note(place, f"input at position {i + 1}", "muted")
    for i, weight in enumerate(way.weights.tolist()):
        _take(ax, at, i, weight)
    own = x + PEEK_SIDES[0]
    _blend(ax, (own, low), way)
    _mark(ax, (own, low), way.fed[1], 7, hollow=True)
    answer = f"its target is {way.names[1]}"
    for down, text in ((44, way.blend()), (64, answer)):
        ax.note((own - 30, low + down), text, align="left")
    ax.disc((own - 40, low + 44), 4, "ink")
    _ring(ax, (own - 40, low + 64), 5)


def _blend(ax: Canvas, at: Point, way: _Way) -> None:
    """Draw what position 1 receives, on the grounds of the points, each as wide as its weight."""
    left = at[0] - 44
    for i, weight in enumerate(way.weights.tolist()):
        ax.hbar((left, at[1]), 88 * weight, f"word-{i}-tint", thick=52)
        left += 88 * weight
    _point(ax, at, "context", "y₁", way.received, filled=False)


def _take(ax: Canvas, at: Point, i: int, weight: float) -> None:
    """Lead point i to position 1, as broad as its weight; where it is masked, stop it on its way."""
    x, (high, low) = at[0], (at[1] + row for row in PEEK_ROWS)
    start = (x + PEEK_SIDES[i], high + 27)
    mark = [(x - 76, high + 58), (x + 38, high + 62)][i]
    align = ("right", "left")[i]
    if weight:
        # Both ways end at the first position; the one from the second is slanted.
        end = (x + PEEK_SIDES[0] + 28 * i, low - 28)
        ax.wire([start, end], "weights", width=1 + 6 * weight)
        ax.say(mark, number(weight), "weights", align=align, bold=True)
    else:
        stop = (x + 24, high + 62)
        ax.wire([start, stop], "mask", head=False)
        ax.box(stop, (26, 26), "mask")
        ax.hatch(stop, (24, 24))
        ax.note((x + 42, mark[1]), "masked", "muted", align=align)


def _corner(role: str, name: str, point: Tensor) -> Node:
    """Draw a point by its name, and as a corner of a small square."""
    return space(88, 52, lambda ax, at: _point(ax, at, role, name, point))


def _point(
    ax: Canvas, at: Point, role: str, name: str, point: Tensor, *, filled: bool = True
) -> None:
    x, y = at
    ax.box(at, (88, 52), role, filled=filled)
    ax.say((x - 22, y), name, bold=True)
    ax.box((x + 18, y), (28, 28), "ink", filled=False, width=1)
    _mark(ax, at, point, 5)


def _mark(ax: Canvas, at: Point, point: Tensor, radius: float, *, hollow: bool = False) -> None:
    """Mark a point in the small square of its box with a disc, or with a ring."""
    across, up = point.clamp(-1.3, 1.3).tolist()
    middle = (at[0] + 18 + 14 * across, at[1] - 14 * up)
    if hollow:
        _ring(ax, middle, radius)
    else:
        ax.disc(middle, radius, "ink")


def _ring(ax: Canvas, at: Point, radius: float) -> None:
    """Mark the target, over the disc of the received point."""
    look: Any = {"fill": False, "edgecolor": light("ink"), "linewidth": LINE / POINT}
    ax.add_patch(Circle(at, radius, zorder=5, **look))
