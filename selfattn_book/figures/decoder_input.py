"""The decoder's input and target, and what a decoder without a mask sees of its target."""

from collections.abc import Mapping, Sequence
from functools import partial

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, listed, number
from selfattn_book.draw.scene import Node, column, label, note, row, show, space
from selfattn_book.figures.attention_map import numbered

PEEK = (300, 286)  # pixels of one way to attend to two points
GROUNDS = ("word-3", "word-0")  # of the two inputs, in both figures
HIGH, LOW, SIDE = 76, 206, 66  # pixels down to both inputs and the output, and aside to the inputs


def shift_by_one(source: Tensor, target: Tensor, names: Sequence[str] = ()) -> Canvas:
    """Draw the decoder's input in training, and below it its target.

    Both are corners, ``(T, 2)``, of a square with side 2 around the origin. The names, if any, are
    those of the last source point and of all target points.

    Example:
        >>> import torch
        >>> a, b, c, d = torch.tensor([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])
        >>> print(shift_by_one(torch.stack([a, b]), torch.stack([c, d])).get_label())
        The target, shifted by one. Position 1: input s₂, (-1.00, 1.00), target t₁, (1.00, 1.00).
        Position 2: input t₁, (1.00, 1.00), target t₂, (1.00, -1.00).
    """
    if not names:
        names = [numbered("s", len(source))[-1], *numbered("t", len(target))]
    targets = list(zip(names[1:], target, strict=True))
    inputs = [(names[0], source[-1]), *targets[:-1]]

    def build(narrow: bool) -> Node:
        tops = [_corner(f"word-{(i - 1) % 4}", *point) for i, point in enumerate(inputs)]
        lows = [_corner(f"word-{i}", *point) for i, point in enumerate(targets)]
        columns = []
        for i, (top, low) in enumerate(zip(tops, lows, strict=True)):
            (a, x), (b, y) = inputs[i], targets[i]
            alt = f"Position {i + 1}: input {a}, ({listed(x)}), target {b}, ({listed(y)})"
            below = column(low, note(f"position {i + 1}", "muted"), gap=4)
            columns.append(column(top, below, gap=72, alt=alt))
        body = row(*columns, gap=12 if narrow else 64)
        first, last = label("decoder input", bold=True), label("target", bold=True)
        if narrow:
            root = column(first, body, last, gap=6, align=0)
        else:
            words = space(0, 17), first, space(0, 106), last, space(0, 38)
            root = row(column(*words, gap=0, align=1), body, gap=24)
        for top, low in zip(tops, lows, strict=True):
            root.link(top, low, width=2)
        for low, after in zip(lows, tops[1:], strict=False):
            root.link(low, after, "muted", ends=((0.77, 0), (0.23, 1)), dashed=True)
        return root

    return show(build, "The target, shifted by one")


def leaked_target(
    decoder_input: Tensor, tables: Mapping[str, Tensor], names: Sequence[str] = ("b", "c")
) -> Canvas:
    """Draw what position 1 receives of two decoder inputs, the second of which is its target.

    The inputs are corners, ``(2, 2)``, as in ``shift_by_one``; one or two tables of attention
    weights, ``(2, 2)``, have names.

    Example:
        >>> import torch
        >>> b, c = torch.tensor([[-1.0, 1], [1, 1]])
        >>> free, masked = torch.tensor([[0.1, 0.9], [0.5, 0.5]]), torch.tensor([[1, 0], [0.5, 0.5]])
        >>> ax = leaked_target(torch.stack([b, c]), {"No mask": free, "Masked": masked})
        >>> print(ax.get_label())
        Position 1 has the input b and the target c, which is the input at position 2.
        No mask: it attends 0.10 to b and 0.90 to c, and receives (0.80, 1.00), where c is (1.00, 1.00).
        Masked: it attends 1.00 to b and nothing to c, and receives (-1.00, 1.00), where c is ...
    """
    (first, second), ways = names, []
    for title, table in tables.items():
        weights, received = table[0].tolist(), table[0] @ decoder_input
        seen = f"{number(weights[1])} to {second}" if weights[1] else f"nothing to {second}"
        alt = (
            f"{title}: it attends {number(weights[0])} to {first} and {seen}, and receives "
            f"({listed(received)}), where {second} is ({listed(decoder_input[1])})"
        )
        points = [*zip(names, decoder_input, strict=True), ("y₁", received)]
        ways.append((partial(_peek, title, points, weights), alt))

    def build(_: bool) -> Node:
        return row(*(space(*PEEK, draw, alt=alt) for draw, alt in ways))

    opening = f"Position 1 has the input {first} and the target {second}"
    return show(build, f"{opening}, which is the input at position 2")


def _peek(
    title: str,
    points: Sequence[tuple[str, Tensor]],
    weights: Sequence[float],
    ax: Canvas,
    middle: Point,
) -> None:
    """Draw one way to attend: both inputs above, and below them the output at position 1."""
    x, top = middle[0], middle[1] - PEEK[1] / 2
    own, low = x - SIDE, top + LOW
    ax.say((x, top + 12), title, bold=True)
    left, parts = own - 44, []
    for i, (weight, (name, point)) in enumerate(zip(weights, points, strict=False)):
        at = (own + 2 * SIDE * i, top + HIGH)
        _point(at, GROUNDS[i], name, point, ax)
        ax.note((at[0], at[1] - 38), f"input at position {i + 1}", "muted")
        _take(ax, (x, top), i, weight)
        ax.hbar((left, low), 88 * weight, f"{GROUNDS[i]}-tint", thick=52)
        left += 88 * weight
        if weight:
            parts.append(name if weight == 1 else f"{number(weight)} {name}")
    _point((own, low), "context", *points[2], ax, filled=False)
    ax.ring(_spot((own, low), points[1][1]), 7, "ink")
    texts = f"position 1 receives {' + '.join(parts)}", f"its target is {points[1][0]}"
    for down, text in zip((44, 64), texts, strict=True):
        ax.note((own - 30, low + down), text, align="left")
    ax.disc((own - 40, low + 44), 4, "ink")
    ax.ring((own - 40, low + 64), 5, "ink")


def _take(ax: Canvas, at: Point, i: int, weight: float) -> None:
    """Connect input i with position 1, as thick as its weight; stop the wire where it is masked."""
    x, high, low = at[0], at[1] + HIGH, at[1] + LOW
    start, align = (x - SIDE + 2 * SIDE * i, high + 27), ("right", "left")[i]
    if weight:
        # Both wires end at the first position; the one from the second is slanted.
        end = (x - SIDE + 28 * i, low - 28)
        ax.wire([start, end], "weights", width=1 + 6 * weight)
        mark = [(x - 76, high + 58), (x + 38, high + 62)][i]
        ax.say(mark, number(weight), "weights", align=align, bold=True)
    else:
        stop = (x + 24, high + 62)
        ax.wire([start, stop], "mask", head=False)
        ax.box(stop, (26, 26), "mask")
        ax.hatch(stop, (24, 24))
        ax.note((x + 42, stop[1]), "masked", "muted", align=align)


def _corner(role: str, name: str, point: Tensor) -> Node:
    """Draw a point by its name, and as a corner of a small square."""
    return space(88, 52, lambda ax, at: _point(at, role, name, point, ax))


def _point(
    at: Point, role: str, name: str, point: Tensor, ax: Canvas, *, filled: bool = True
) -> None:
    ax.box(at, (88, 52), role, filled=filled)
    ax.say((at[0] - 22, at[1]), name, bold=True)
    ax.box((at[0] + 18, at[1]), (28, 28), "ink", filled=False, width=1)
    ax.disc(_spot(at, point), 5, "ink")


def _spot(at: Point, point: Tensor) -> Point:
    """Return where a point is in the small square of its box."""
    across, up = point.clamp(-1.3, 1.3).tolist()
    return at[0] + 18 + 14 * across, at[1] - 14 * up
