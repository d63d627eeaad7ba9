"""Encoder and decoder as drawings: what passes through them, and how a target is shifted by one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    LINE,
    Point,
    bar,
    box,
    canvas,
    column,
    disc,
    for_desk_and_phone,
    hatch,
    line,
    listed,
    number,
    say,
    shape,
    tell,
    titles,
    vector,
    wire,
)
from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import POINT, SMALL
from selfattn_book.draw.style import line_names
from selfattn_book.encoder_decoder import Encoder, EncoderDecoder
from selfattn_book.masks import causal_mask

CELL = 36  # pixels of a number
UNIT = 8  # pixels of a unit of the small network; on a phone it has twice as many
ENTRY = 20  # pixels of a weight
STEPS = [
    "points",
    "contexts of the heads",
    "output layer",
    "small network",
    "states",
]
KINDS = ["self-attention", "causal self-attention", "cross-attention"]
HALF = 16  # pixels of half a box of encoder and decoder
PEEK = 286  # pixels that one way to attend to two points is high
PEEK_ROWS = (76, 206)  # pixels down to what is fed, and to what is received
PEEK_SIDES = (-66, 66)  # pixels from the middle to the two points


def encoder_steps(
    encoder: Encoder, source: Tensor, names: Sequence[str] | None = None
) -> Axes:
    """Draw two points on their way through an encoder, with their numbers.

    Args:
        encoder: of width 2, with at most 3 heads, and at most 10 units in the feed-forward part.
        source: ``(2, 2)``.
        names: one for each point.

    Returns:
        The axes.

    Raises:
        ValueError: the source or the encoder has other sizes, or there are not two names.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> ax = encoder_steps(Encoder(num_heads=1, d_ff=3), torch.eye(2), ["east", "north"])
        >>> print(ax.get_label())
        Two points on their way through an encoder, row by row. The points: east 1.00, 0.00; ...
        The weights of head 1: east gives 0.55 to east, 0.45 to north; north gives ...
        The contexts side by side, (2, 2): east -0.30, 0.28; north -0.29, 0.29.
        After the output layer, (2, 2): east -0.09, 0.61; north -0.09, 0.62.
        Inside of the small network, (2, 3), the ReLU leaves, of 3 units, 1 of east and 1 of north.
        The states, (2, 2): east 0.22, 0.11; north 0.22, 0.10. ...
        >>> said = [text.get_text() for text in ax.texts]
        >>> [text for text in said if text.endswith("apart")]
        ['1.414 apart', '0.008 apart']
        >>> encoder_steps(Encoder(), torch.ones(3, 2))
        Traceback (most recent call last):
        ValueError: source must have shape (2, 2); got (3, 2)
        >>> encoder_steps(Encoder(d_ff=11), torch.ones(2, 2))
        Traceback (most recent call last):
        ValueError: an encoder is drawn with at most 3 heads and 10 units; got 3 and 11
    """
    if source.shape != (2, 2):
        raise ValueError(
            f"source must have shape (2, 2); got {tuple(source.shape)}"
        )
    names = line_names(names, 2)
    weights, *steps = _pass(encoder, source)
    heads, units = len(weights), steps[3].size(1)
    if heads > 3 or units > 10:
        rule = "an encoder is drawn with at most 3 heads and 10 units"
        raise ValueError(f"{rule}; got {heads} and {units}")

    def draw(width: float) -> Axes:
        place = _steps_on_desk if width == WIDE else _steps_on_phone
        return tell(
            place(weights, steps, names), *_told_of_steps(weights, steps, names)
        )

    return for_desk_and_phone(draw)


def _told_of_steps(
    weights: Tensor, steps: Sequence[Tensor], names: Sequence[str]
) -> list[str]:
    return [
        "Two points on their way through an encoder, row by row",
        f"The points: {_rows(names, steps[0])}",
        *(
            f"The weights of head {h + 1}: {_shares(table, names, names)}"
            for h, table in enumerate(weights)
        ),
        f"The contexts side by side, {shape(steps[1])}: {_rows(names, steps[1])}",
        f"After the output layer, {shape(steps[2])}: {_rows(names, steps[2])}",
        _loud(names, steps[3]),
        f"The states, {shape(steps[4])}: {_rows(names, steps[4])}",
        f"The points are {_apart(steps[0])}, and the states {_apart(steps[4])}",
    ]


def shift_by_one(source: Tensor, target: Tensor) -> Axes:
    """Draw what a decoder is fed in training, and below it what it is asked for.

    Args:
        source: ``(S, 2)``, corners of a square with side 2 around the middle.
        target: ``(T, 2)``, the corners that follow; T is 1 to 3.

    Returns:
        The axes.

    Raises:
        ValueError: source or target has another shape.

    Example:
        >>> a, b, c, d = torch.tensor([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])
        >>> ax = shift_by_one(torch.stack([a, b]), torch.stack([c, d]))
        >>> print(ax.get_label())
        The target, shifted by one. Position 1 is fed s₂, (-1.00, 1.00), and asked for t₁,
        (1.00, 1.00). Position 2 is fed t₁, (1.00, 1.00), and asked for t₂, (1.00, -1.00).
        >>> shift_by_one(torch.ones(2, 2), torch.ones(4, 2))
        Traceback (most recent call last):
        ValueError: target must have shape (T, 2), with T from 1 to 3; got (4, 2)
        >>> shift_by_one(torch.ones(0, 2), torch.ones(3, 2))
        Traceback (most recent call last):
        ValueError: source must have shape (S, 2), with S at least 1; got (0, 2)
    """
    _check_points("source", "S", source)
    _check_points("target", "T", target, most=3)
    asked = list(zip(_numbered("t", len(target)), target, strict=True))
    fed = [(_numbered("s", len(source))[-1], source[-1]), *asked[:-1]]
    told = [
        f"Position {i} is fed {f}, ({listed(x)}), and asked for {a}, ({listed(y)})"
        for i, ((f, x), (a, y)) in enumerate(zip(fed, asked, strict=True), 1)
    ]
    return for_desk_and_phone(
        lambda width: tell(
            _shift(width, fed, asked), "The target, shifted by one", *told
        )
    )


def peeking(
    fed: Tensor, tables: Mapping[str, Tensor], names: Sequence[str] = ("b", "c")
) -> Axes:
    """Draw what position 1 receives of two points that are fed, the second of which is its answer.

    Args:
        fed: ``(2, 2)``, corners of a square with side 2 around the middle.
        tables: by the name of a way to attend, its weights ``(2, 2)``; one way or two.
        names: of the two points.

    Returns:
        The axes.

    Raises:
        ValueError: the points or a table have another shape, or there are more than two ways.

    Example:
        >>> b, c = torch.tensor([[-1.0, 1], [1, 1]])
        >>> free, masked = torch.tensor([[0.1, 0.9], [0.5, 0.5]]), torch.tensor([[1, 0], [0.5, 0.5]])
        >>> ax = peeking(torch.stack([b, c]), {"No mask": free, "Masked": masked})
        >>> print(ax.get_label())
        Position 1 is fed b and asked for c, which is fed at position 2.
        No mask: it takes 0.10 of b and 0.90 of c, and receives (0.80, 1.00), where c is (1.00, 1.00).
        Masked: it takes 1.00 of b and nothing of c, and receives (-1.00, 1.00), where c is ...
        >>> [text.get_text() for text in ax.texts if "receives" in text.get_text()]
        ['position 1 receives 0.10 b + 0.90 c', 'position 1 receives b']
        >>> peeking(torch.ones(3, 2), {"No mask": free})
        Traceback (most recent call last):
        ValueError: fed and each table must have shape (2, 2); got (3, 2) and (2, 2)
        >>> peeking(torch.ones(2, 2), {})
        Traceback (most recent call last):
        ValueError: there must be one way to attend or two; got 0
    """
    _check_peeking(fed, tables)
    points = line_names(names, 2)
    ways = [_Way(name, fed, table[0], points) for name, table in tables.items()]
    first, answer = points
    opening = f"Position 1 is fed {first} and asked for {answer}"

    def draw(width: float) -> Axes:
        beside = width == WIDE
        ax = canvas(width, PEEK if beside else PEEK * len(ways))
        for i, way in enumerate(ways):
            middle = width * (i + 0.5) / len(ways) if beside else width / 2
            _peek(ax, (middle, 0 if beside else PEEK * i), way)
        told = (way.told() for way in ways)
        return tell(ax, f"{opening}, which is fed at position 2", *told)

    return for_desk_and_phone(draw)


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

    def told(self) -> str:
        """Say what position 1 takes and receives, and what it should say."""
        (first, answer), (own, other) = self.names, self.weights.tolist()
        taken = f"{number(other)} of {answer}" if other else f"nothing of {answer}"
        return (
            f"{self.title}: it takes {number(own)} of {first} and {taken}, and receives "
            f"({listed(self.received)}), where {answer} is ({listed(self.fed[1])})"
        )


def _check_peeking(fed: Tensor, tables: Mapping[str, Tensor]) -> None:
    """Raise unless there are one or two ways to attend, each with two points."""
    if not 1 <= len(tables) <= 2:
        raise ValueError(
            f"there must be one way to attend or two; got {len(tables)}"
        )
    for table in tables.values():
        if fed.shape != (2, 2) or table.shape != (2, 2):
            rule = "fed and each table must have shape (2, 2)"
            raise ValueError(
                f"{rule}; got {tuple(fed.shape)} and {tuple(table.shape)}"
            )


def _peek(ax: Axes, at: Point, way: _Way) -> None:
    """Draw one way to attend: what is fed above, and below it what position 1 receives of it."""
    x, top = at
    say(ax, (x, top + 12), way.title, bold=True)
    high, low = (top + row for row in PEEK_ROWS)
    for i, (dx, name) in enumerate(zip(PEEK_SIDES, way.names, strict=True)):
        _corner(ax, (x + dx, high), f"word-{i}", name, way.fed[i])
        place = (x + dx, high - 38)
        say(ax, place, f"fed at position {i + 1}", "muted", size=SMALL)
    for i, weight in enumerate(way.weights.tolist()):
        _take(ax, at, i, weight)
    own = x + PEEK_SIDES[0]
    _blend(ax, (own, low), way)
    _mark(ax, (own, low), way.fed[1], 7, hollow=True)
    answer = f"and is asked for {way.names[1]}"
    for down, text in ((44, way.blend()), (64, answer)):
        say(ax, (own - 30, low + down), text, size=SMALL, align="left")
    disc(ax, (own - 40, low + 44), 4, "ink")
    _ring(ax, (own - 40, low + 64), 5)


def _blend(ax: Axes, at: Point, way: _Way) -> None:
    """Draw what position 1 receives, on the grounds of the points, each as wide as its weight."""
    left = at[0] - 44
    for i, weight in enumerate(way.weights.tolist()):
        bar(ax, (left, at[1]), 88 * weight, f"word-{i}-tint", thick=52)
        left += 88 * weight
    _corner(ax, at, "context", "y₁", way.received, filled=False)


def _take(ax: Axes, at: Point, i: int, weight: float) -> None:
    """Lead point i to position 1, as broad as its weight; where it is masked, stop it on its way."""
    x, (high, low) = at[0], (at[1] + row for row in PEEK_ROWS)
    start = (x + PEEK_SIDES[i], high + 27)
    mark = [(x - 76, high + 58), (x + 38, high + 62)][i]
    align = ("right", "left")[i]
    if weight:
        # Both ways end at the first position; the one from the second is slanted.
        end = (x + PEEK_SIDES[0] + 28 * i, low - 28)
        wire(ax, [start, end], "weights", width=1 + 6 * weight)
        say(ax, mark, number(weight), "weights", align=align, bold=True)
    else:
        stop = (x + 24, high + 62)
        wire(ax, [start, stop], "mask", head=False)
        box(ax, stop, (26, 26), "mask")
        hatch(ax, stop, (24, 24))
        say(ax, (x + 42, mark[1]), "masked", "muted", align=align, size=SMALL)


def _check_points(
    name: str, letter: str, points: Tensor, most: float = math.inf
) -> None:
    """Raise unless there are some points of the plane, and not too many."""
    if points.dim() != 2 or points.size(1) != 2 or not 1 <= len(points) <= most:
        sizes = "at least 1" if most == math.inf else f"from 1 to {most}"
        rule = f"{name} must have shape ({letter}, 2), with {letter} {sizes}"
        raise ValueError(f"{rule}; got {tuple(points.shape)}")


def _shift(
    width: float,
    fed: Sequence[tuple[str, Tensor]],
    asked: Sequence[tuple[str, Tensor]],
) -> Axes:
    on_desk = width == WIDE
    wide, left, top = (164, 128, 34) if on_desk else (100, 6, 54)
    low = top + 124
    ax = canvas(width, low + (56 if on_desk else 78))
    middles = [left + (i + 0.5) * wide for i in range(len(asked))]
    for i, x in enumerate(middles):
        # One point has one ground, wherever it stands.
        _corner(ax, (x, top), f"word-{(i - 1) % 4}", *fed[i])
        _corner(ax, (x, low), f"word-{i}", *asked[i])
        wire(ax, [(x, top + 27), (x, low - 27)], width=2)
        say(ax, (x, low + 42), f"position {i + 1}", "muted", size=SMALL)
    for x, after in pairwise(middles):
        way = [(x + 24, low - 27), (after - 24, top + 27)]
        wire(ax, way, "muted", dashed=True)
    places = [(116, top), (116, low)] if on_desk else [(12, 14), (12, low + 66)]
    for at, words in zip(places, ("is fed", "is asked for"), strict=True):
        say(ax, at, words, align="right" if on_desk else "left", bold=True)
    return ax


def _numbered(letter: str, count: int) -> list[str]:
    return [f"{letter}{'₁₂₃₄₅₆₇₈₉'[i]}" for i in range(count)]


def _corner(
    ax: Axes, at: Point, role: str, name: str, point: Tensor, *, filled: bool = True
) -> None:
    """A point by its name, and which corner of a small square it is."""
    x, y = at
    box(ax, at, (88, 52), role, filled=filled)
    say(ax, (x - 22, y), name, bold=True)
    box(ax, (x + 18, y), (28, 28), "ink", filled=False, width=1)
    _mark(ax, at, point, 5)


def _mark(
    ax: Axes, at: Point, point: Tensor, radius: float, *, hollow: bool = False
) -> None:
    """Mark a point in the small square of its box with a disc, or with a ring."""
    across, up = point.clamp(-1.3, 1.3).tolist()
    middle = (at[0] + 18 + 14 * across, at[1] - 14 * up)
    if hollow:
        _ring(ax, middle, radius)
    else:
        disc(ax, middle, radius, "ink")


def _ring(ax: Axes, at: Point, radius: float) -> None:
    """Mark what is asked for; it lies over the disc of what is received."""
    look: Any = {
        "fill": False,
        "edgecolor": light("ink"),
        "linewidth": LINE / POINT,
    }
    ax.add_patch(Circle(at, radius, zorder=5, **look))


def encoder_decoder(
    model: EncoderDecoder, source: Tensor, shifted: Tensor, head: int | None = None
) -> Axes:
    """Draw encoder and decoder whole, with shapes, and the weights of one head if wanted.

    Args:
        model: what reads and writes.
        source: ``(S, d_input)``, with S at most 3.
        shifted: ``(T, d_input)``, what the decoder is fed; T is at most 3.
        head: the head whose weights are drawn, from 0; without one, none are.

    Returns:
        The axes.

    Raises:
        ValueError: source or target is longer, or there is no such head.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> model = EncoderDecoder(d_model=8)
        >>> ax = encoder_decoder(model, torch.eye(2), torch.ones(3, 2))
        >>> print(ax.get_label())
        Encoder and decoder whole. The encoder reads the source, (2, 2), with self-attention and a
        small network, and leaves the memory, (2, 8).
        The decoder reads the shifted target, (3, 2), with causal self-attention, whose results,
        (3, 8), are the queries of a cross-attention; its keys and values are made from the memory.
        Its contexts, (3, 8), go through a small network, and come out as the next points, (3, 2).
        >>> ax = encoder_decoder(model, torch.eye(2), torch.ones(2, 2), head=0)
        >>> print(ax.get_label().partition("Weights in the causal ")[2])
        self-attention, head 1: s₂ gives 1.00 to s₂; t₁ gives 0.50 to s₂, 0.50 to t₁. Weights ...
        >>> encoder_decoder(model, torch.ones(4, 2), torch.ones(3, 2))
        Traceback (most recent call last):
        ValueError: at most 3 points are drawn on each side; got 4 and 3
        >>> encoder_decoder(model, torch.eye(2), torch.eye(2), head=3)
        Traceback (most recent call last):
        ValueError: head must be one of 0 to 2; got 3
    """
    if max(len(source), len(shifted)) > 3:
        rule = "at most 3 points are drawn on each side"
        raise ValueError(f"{rule}; got {len(source)} and {len(shifted)}")
    heads = model.encoder.attention.num_heads
    if head is not None and not 0 <= head < heads:
        raise ValueError(f"head must be one of 0 to {heads - 1}; got {head}")
    steps, weights = _both(model, source, shifted)
    read = _numbered("s", len(source))
    fed = [read[-1], *_numbered("t", len(shifted))[:-1]]
    states = _numbered("m", len(source))
    sides = [(read, read), (fed, fed), (fed, states)]
    tables = [] if head is None else [table[head] for table in weights]
    told = _told_of_whole(steps)
    for kind, table, side in zip(KINDS, tables, sides, strict=False):
        shares = _shares(table, *side)
        told.append(f"Weights in the {kind}, head {(head or 0) + 1}: {shares}")

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE_WITH_TABLES if tables else PHONE
        ax = _whole(at, steps, read, fed)
        for place, table, side in zip(at.tables(), tables, sides, strict=False):
            _table(ax, place, table, *side)
        return tell(ax, *told)

    return for_desk_and_phone(draw)


def _told_of_whole(steps: Sequence[Tensor]) -> list[str]:
    source, memory, shifted, states, contexts, output = map(shape, steps)
    return [
        "Encoder and decoder whole",
        f"The encoder reads the source, {source}, with self-attention and a small network, "
        f"and leaves the memory, {memory}",
        f"The decoder reads the shifted target, {shifted}, with causal self-attention, whose "
        f"results, {states}, are the queries of a cross-attention; its keys and values are "
        "made from the memory",
        f"Its contexts, {contexts}, go through a small network, and come out as the next "
        f"points, {output}",
    ]


@dataclass
class _Places:
    """Where encoder and decoder stand: middles, widths of boxes, and heights from the top down."""

    left: float
    right: float
    wide: float
    rows: Sequence[float]

    def tables(self) -> list[Point]:
        """Return where the weights of the three attention layers are drawn."""
        if self is not DESK:
            look, ask = self.rows[1] + 46, self.rows[3] + 46
            return [(self.left, look), (self.right, look), (self.right, ask)]
        beside = self.wide / 2 + 34
        return [
            (self.left - beside - 44, self.rows[1] - 20),
            (self.right + beside, self.rows[1] - 28),
            (self.right + beside, self.rows[3] - 28),
        ]


DESK = _Places(196, 452, 168, (44, 108, 172, 236, 300))
PHONE = _Places(76, 232, 136, (48, 122, 196, 270, 344))
PHONE_WITH_TABLES = _Places(76, 232, 136, (48, 122, 262, 336, 488))


@torch.no_grad()
def _both(
    model: EncoderDecoder, source: Tensor, shifted: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Return what passes, from the source to the outputs, and the weights of the three layers."""
    decoder, mask = model.decoder, causal_mask(len(shifted))
    memory, reads = model.encoder(source[None])
    output, back, asks = decoder(shifted[None], memory, mask)
    x = decoder.place(shifted[None])
    states, _ = decoder.self_attention(x, x, x, mask)
    contexts, _ = decoder.cross_attention(states, memory, memory)
    steps = source[None], memory, shifted[None], states, contexts, output
    return [step[0] for step in steps], [table[0] for table in (reads, back, asks)]


def _whole(
    at: _Places, steps: Sequence[Tensor], read: Sequence[str], fed: Sequence[str]
) -> Axes:
    first, look, small, ask, last = at.rows
    ax = canvas(WIDE if at is DESK else NARROW, last + 58)
    titles(ax, [(at.left, "encoder"), (at.right, "decoder")], 14)
    _flow(ax, at, steps)
    causal = "causal self-attention" if at is DESK else "causal attention"
    boxes = [
        (at.left, first, f"source: {', '.join(read)}"),
        (at.left, look, "self-attention"),
        (at.left, small, "small network"),
        (at.right, first, f"fed: {', '.join(fed)}"),
        (at.right, look, causal),
        (at.right, ask, "cross-attention"),
        (at.right, last, "small network"),
    ]
    for x, y, text in boxes:
        size = (at.wide, 2 * HALF)
        box(ax, (x, y), size, text=text, bold="attention" in text)
    box(ax, (at.left, ask), (at.wide, 2 * HALF), "road", "memory", bold=True)
    _keys_and_values(ax, at)
    say(ax, (at.right, last + 46), f"next points {shape(steps[-1])}", bold=True)
    return ax


def _flow(ax: Axes, at: _Places, steps: Sequence[Tensor]) -> None:
    """Draw what flows downwards, with its shape."""
    source, memory, shifted, states, contexts = map(shape, steps[:5])
    first, look, small, ask, last = at.rows
    flow = [
        (at.left, first, look, "ink", source),
        (at.left, look, small, "ink", ""),
        (at.left, small, ask, "ink", memory),
        (at.right, first, look, "ink", shifted),
        (at.right, look, ask, "query", f"queries {states}"),
        (at.right, ask, last, "context", f"contexts {contexts}"),
        (at.right, last, last + 48, "ink", ""),
    ]
    for middle, start, end, role, text in flow:
        x = middle - (0 if at is DESK else 44)
        wire(ax, [(x, start + HALF), (x, end - HALF)], role, width=2)
        say(ax, (x + 10, end - 30), text, role, size=SMALL, align="left")


def _keys_and_values(ax: Axes, at: _Places) -> None:
    """Draw what the memory gives to the cross-attention."""
    start, end = at.left + at.wide / 2, at.right - at.wide / 2
    ask, middle = at.rows[3], (start + end) / 2 - 4
    words: list[tuple[Point, Any]] = [
        ((middle, ask - 18), "center"),
        ((middle, ask + 18), "center"),
    ]
    if at is not DESK:  # there is no room between the two
        below = ask + 28
        words = [((at.left, below), "right"), ((at.left + 8, below), "left")]
    for dy, role, (place, align) in zip(
        (-7, 7), ("key", "value"), words, strict=True
    ):
        wire(ax, [(start, ask + dy), (end, ask + dy)], role, width=2)
        say(ax, place, f"{role}s", role, size=SMALL, align=align)


@torch.no_grad()
def _pass(encoder: Encoder, source: Tensor) -> list[Tensor]:
    """Return the weights, then points, contexts, outputs of the heads, units, and states."""
    x = encoder.place(source[None])
    heads = encoder.attention
    _, weights = heads(x, x, x)
    values = heads.project_value(x).unflatten(-1, (heads.num_heads, -1))
    contexts = (weights @ values.transpose(1, 2)).transpose(1, 2).flatten(2)
    outputs = heads.project_output(contexts)
    inside = encoder.feed_forward[:2](outputs)
    steps = weights, x, contexts, outputs, inside, encoder.feed_forward[2:](inside)
    return [step[0] for step in steps]


def _steps_on_desk(
    weights: Tensor, steps: Sequence[Tensor], names: Sequence[str]
) -> Axes:
    """Both points go from left to right, one above the other; only the heads' wires cross."""
    ax, rows = canvas(WIDE, 258), (144, 196)
    widths = [CELL * step.size(1) for step in steps]
    widths[3] = UNIT * steps[3].size(1)
    gap = (632 - sum(widths)) / 6  # the wires of the heads have three of the six
    lefts = [4 + sum(widths[:i]) + gap * (i + 2 * (i > 0)) for i in range(5)]
    middles = [left + w / 2 for left, w in zip(lefts, widths, strict=True)]
    titles(ax, zip(middles, STEPS, strict=True), 14)
    for i, step in enumerate(steps):
        _rows_of(ax, (lefts[i], rows), step, i, CELL)
        say(ax, (middles[i], 228), shape(step), "muted", size=SMALL)
        if i in (0, 4):
            say(ax, (middles[i], 248), _apart(step), size=SMALL, bold=True)
        if i > 1:
            for y in rows:
                wire(ax, [(lefts[i - 1] + widths[i - 1], y), (lefts[i], y)])
    for y, name in zip(rows, names, strict=True):
        say(ax, (lefts[0], y - 24), name, size=SMALL, align="left")
    _meet(ax, lefts[0] + widths[0], lefts[1], rows, weights.mean(0))
    _tables(ax, (lefts[1], 54), weights, widths[1] / len(weights))
    return ax


def _steps_on_phone(
    weights: Tensor, steps: Sequence[Tensor], names: Sequence[str]
) -> Axes:
    """The two points are two rows of each table, and the tables stand below each other."""
    ax, wide, tops = canvas(312, 592), 40, (44, 218, 325, 432, 539)
    for i, (step, title, top) in enumerate(zip(steps, STEPS, tops, strict=True)):
        size = step.size(1) * (2 * UNIT if i == 3 else wide)
        left, rows = 156 - size / 2, (top, top + 30)
        _rows_of(ax, (left, rows), step, i, wide)
        if i in (0, 4):
            at = (left + size + 8, top + 15)
            say(ax, at, _apart(step), size=SMALL, align="left", bold=True)
        if i == 0:
            for y, name in zip(rows, names, strict=True):
                say(ax, (left - 8, y), name, size=SMALL, align="right")
        else:
            wire(ax, [(156, tops[i - 1] + 45), (156, top - 40 - 70 * (i == 1))])
        if i == 1:
            _tables(ax, (left, top - 88), weights, size / len(weights))
        say(ax, (156, top - 28), f"{title} {shape(step)}", "muted", bold=True)
    return ax


def _apart(step: Tensor) -> str:
    return f"{number(float((step[0] - step[1]).norm()), 3)} apart"


def _rows_of(
    ax: Axes, at: tuple[float, Sequence[float]], step: Tensor, i: int, cell: float
) -> None:
    """Write one step of both points; the units of the small network are bars."""
    left, rows = at
    cuts = [2 * cell * head for head in range(1, step.size(1) // 2)] * (i == 1)
    greatest = float(step.max().clamp(min=1e-9))
    for y, entries in zip(rows, step, strict=True):
        if i == 3:
            unit = UNIT if cell == CELL else 2 * UNIT
            wide = unit * len(entries)
            box(ax, (left + wide / 2, y), (wide, 26))
            for n, entry in enumerate(entries.tolist()):
                middle = (left + (n + 0.5) * unit, y + 12)
                column(ax, middle, 22 * entry / greatest, "ink", thick=unit - 3)
        else:
            role, width = "context" if i == 1 else "ink", LINE + (i == 4)
            look: Any = {"cell": (cell, 26), "text_size": SMALL, "width": width}
            vector(ax, (left, y), entries, role, **look)
            for x in cuts:
                line(
                    ax,
                    [(left + x, y - 13), (left + x, y + 13)],
                    role,
                    width=BOLD_LINE,
                )


def _meet(
    ax: Axes, left: float, right: float, rows: Sequence[float], shares: Tensor
) -> None:
    """Each point gives to each context, as broad as its share."""
    for end, line_of in zip(rows, shares.tolist(), strict=True):
        for start, share in zip(rows, line_of, strict=True):
            way = [(left, start), (right, end)]
            wire(ax, way, "weights", width=0.5 + 5 * share, head=False)


def _tables(ax: Axes, corner: Point, weights: Tensor, pitch: float) -> None:
    """Draw the weights of each head over its contexts."""
    for h, table in enumerate(weights):
        middle = corner[0] + (h + 0.5) * pitch
        say(ax, (middle, corner[1] - 14), f"head {h + 1}", size=SMALL)
        _table(ax, (middle - table.size(1) * ENTRY / 2, corner[1]), table)


def _table(
    ax: Axes,
    corner: Point,
    weights: Tensor,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
) -> None:
    """Draw weights as discs whose areas they are; what is exactly zero is masked, and hatched."""
    x, y = corner
    for i, line_of in enumerate(weights.tolist()):
        for j, weight in enumerate(line_of):
            middle = (x + (j + 0.5) * ENTRY, y + (i + 0.5) * ENTRY)
            box(ax, middle, (ENTRY, ENTRY), "road", filled=False, width=0.8)
            if weight == 0:
                hatch(ax, middle, (ENTRY - 2, ENTRY - 2))
            disc(ax, middle, 0.45 * ENTRY * weight**0.5, "weights")
    for i, name in enumerate(rows):
        at = (x - 5, y + (i + 0.5) * ENTRY)
        say(ax, at, name, size=SMALL, align="right")
    for j, name in enumerate(columns):
        say(ax, (x + (j + 0.5) * ENTRY, y - 9), name, size=SMALL)


def _rows(names: Sequence[str], step: Tensor) -> str:
    told = [f"{name} {listed(row)}" for name, row in zip(names, step, strict=True)]
    return "; ".join(told)


def _shares(table: Tensor, rows: Sequence[str], columns: Sequence[str]) -> str:
    """Say who gives how much to whom; what is masked gets nothing."""
    told = []
    for name, weights in zip(rows, table.tolist(), strict=True):
        given = [
            f"{number(weight)} to {column}"
            for column, weight in zip(columns, weights, strict=True)
            if weight
        ]
        told.append(f"{name} gives {', '.join(given)}")
    return "; ".join(told)


def _loud(names: Sequence[str], inside: Tensor) -> str:
    counts = [int((row > 0).sum()) for row in inside]
    told = [f"{n} of {name}" for n, name in zip(counts, names, strict=True)]
    of = f"of {inside.size(1)} units"
    return f"Inside of the small network, {shape(inside)}, the ReLU leaves, {of}, {' and '.join(told)}"
