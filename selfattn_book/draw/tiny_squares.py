"""Kinds of squares as tiny squares: what is given, what is asked for, and what a model says."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    LINE,
    Point,
    box,
    canvas,
    disc,
    for_desk_and_phone,
    line,
    listed,
    say,
    tell,
    titles,
    vector,
    wire,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array, line_names

SIDE = 36  # pixels of a square
CELL = 90  # pixels of a row
NOTE = 20  # of a line below it
KEY = 26  # of the key to the marks
ACROSS = 4  # on a phone
HALF = 24  # pixels of half a square that stands alone
NUMBER = 56  # pixels of a number of a state, which has two
BAG = (144, 80)  # pixels of the bag of states


def tiny_squares(
    walks: Tensor | np.ndarray,
    predicted: Tensor | np.ndarray | None = None,
    *,
    notes: Sequence[str] | None = None,
) -> Axes:
    """Draw walks around squares, each a thumb's nail wide: an arrow for the side that is given.

    The corners that are given are filled, and those that are asked for are open, with their numbers.
    What a model says is a cross, tied to the corner that it should have been.

    Args:
        walks: ``(N, 4, 2)``, the corners in their order; N is 1 to 8.
        predicted: ``(N, 2, 2)``, what a model says of the third corner and of the fourth.
        notes: a short line under each square.

    Returns:
        The axes.

    Raises:
        ValueError: the walks or the predicted corners have another shape,
            or there are not as many notes as walks.

    Example:
        >>> walks = np.array([[[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]])
        >>> ax = tiny_squares(walks, np.array([[[1.0, 0.0], [1.0, 0.0]]]), notes=["0.50"])
        >>> print(ax.get_label())
        1 square. Square 1, 0.50: from (-1, -1) to (-1, 1), then (1, 1) and (1, -1);
        the model says (1.00, 0.00) and (1.00, 0.00).
        >>> print(tiny_squares(walks).get_label())
        1 square. Square 1: from (-1, -1) to (-1, 1), then (1, 1) and (1, -1).
        >>> tiny_squares(walks[0])
        Traceback (most recent call last):
        ValueError: walks must have shape (N, 4, 2), with N from 1 to 8; got (4, 2)
        >>> tiny_squares(walks, walks)
        Traceback (most recent call last):
        ValueError: predicted must have shape (1, 2, 2); got (1, 4, 2)
        >>> tiny_squares(walks, notes=["a", "b"])
        Traceback (most recent call last):
        ValueError: there must be one name for each of 1; got 2
    """
    corners = as_array(walks)
    said = None if predicted is None else as_array(predicted)
    _check(corners, said)
    notes = None if notes is None else line_names(notes, len(corners))

    def draw(width: float) -> Axes:
        across = ACROSS if width == NARROW else max(ACROSS, len(corners))
        rows = -(-len(corners) // across)
        high = CELL + (NOTE if notes else 0)
        ax = canvas(width, rows * high + KEY)
        for i, walk in enumerate(corners):
            at = (
                (i % across + 0.5) * width / across,
                i // across * high + CELL / 2,
            )
            _square(ax, at, walk, None if said is None else said[i])
            if notes:
                below = (at[0], at[1] + CELL / 2 + 4)
                say(ax, below, notes[i], size=SMALL)
        _key(ax, (width / 2, rows * high + KEY / 2), predicted=said is not None)
        return tell(ax, *_told(corners, said, notes))

    return for_desk_and_phone(draw)


def one_memory(walks: Tensor, memories: Tensor) -> Axes:
    """Draw two walks that begin with the same two corners, in either order, and the memories they leave.

    The second memory is the first one upside down, so both are one bag of states, for two answers.

    Args:
        walks: ``(2, 4, 2)``, corners of a square in their order.
        memories: ``(2, 2, 2)``, the states of the first two corners of each walk.

    Returns:
        The axes.

    Raises:
        ValueError: walks or memories have another shape, or the memories do not hold the same states.

    Example:
        >>> import torch
        >>> there = torch.tensor([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])
        >>> walks = torch.stack([there, there[[1, 0, 3, 2]]])
        >>> states = torch.tensor([[0.5, 0.0], [0.25, 1.0]])
        >>> print(one_memory(walks, torch.stack([states, states.flip(0)])).get_label())
        Two walks, and one bag. The walk from (-1, -1) to (-1, 1) goes on to (1, 1),
        and leaves the states (0.500, 0.000) and (0.250, 1.000).
        The walk from (-1, 1) to (-1, -1) goes on to (1, -1),
        and leaves the states (0.250, 1.000) and (0.500, 0.000).
        As a bag the two memories are the same, so nothing in it says which corner comes next.
        >>> one_memory(walks, torch.stack([states, states]))
        Traceback (most recent call last):
        ValueError: the second memory must hold the states of the first in the other order
        >>> one_memory(walks[:1], states[None])
        Traceback (most recent call last):
        ValueError: walks must have shape (2, 4, 2), and memories (2, 2, 2); got (1, 4, 2) and (1, 2, 2)
    """
    if walks.shape != (2, 4, 2) or memories.shape != (2, 2, 2):
        rule = "walks must have shape (2, 4, 2), and memories (2, 2, 2)"
        got = f"{tuple(walks.shape)} and {tuple(memories.shape)}"
        raise ValueError(f"{rule}; got {got}")
    corners, states = as_array(walks), as_array(memories)
    if not np.allclose(states[0], states[1][::-1]):
        rule = (
            "the second memory must hold the states of the first in the other order"
        )
        raise ValueError(rule)

    def draw(width: float) -> Axes:
        at = PHONE if width == NARROW else DESK
        ax = canvas(width, at.high)
        _columns(ax, at)
        for i, (walk, left) in enumerate(zip(corners, states, strict=True)):
            _remember(ax, at, i, walk, left)
        box(ax, at.bag, BAG, "road")
        _states(ax, (at.bag[0] - NUMBER, at.bag[1]), states[0], apart=17)
        ask = _ask_below if at is PHONE else _ask_beside
        ask(ax, at, [f"({listed(walk[2], 0)})" for walk in corners])
        return tell(ax, *_told_of_memories(corners, states))

    return for_desk_and_phone(draw)


@dataclass
class _Places:
    """Where two walks, the memories that they leave, and the bag stand, in pixels."""

    high: float  # the sheet
    rows: Point  # of the two walks
    square: float  # the middle of a walk
    pile: float  # the left edge of a memory
    bag: Point  # its middle

    @property
    def end(self) -> float:
        """The right edge of a memory."""
        return self.pile + 2 * NUMBER

    @property
    def edges(self) -> Point:
        """The left edge of the bag and the right one."""
        return self.bag[0] - BAG[0] / 2, self.bag[0] + BAG[0] / 2


# On a desk the bag is beside the memories, and on a phone below them.
DESK = _Places(252, (82, 200), 62, 124, (412, 141))
PHONE = _Places(424, (78, 194), 56, 142, (156, 314))


def _told_of_memories(corners: np.ndarray, states: np.ndarray) -> list[str]:
    """Say where each walk goes on, and which states it leaves."""
    told = ["Two walks, and one bag"]
    for walk, left in zip(corners, states, strict=True):
        first, second, third = (f"({listed(corner, 0)})" for corner in walk[:3])
        one, other = (f"({listed(state, 3)})" for state in left)
        way = f"The walk from {first} to {second} goes on to {third}"
        told.append(f"{way}, and leaves the states {one} and {other}")
    same = "As a bag the two memories are the same"
    return [*told, f"{same}, so nothing in it says which corner comes next"]


def _columns(ax: Axes, at: _Places) -> None:
    """Name the columns; on a phone the bag is in none, and gets its name beside it."""
    named = [(at.square, "walk"), (at.pile + NUMBER, "memory")]
    if at is DESK:
        named += [(at.bag[0], "as a bag"), (570, "corner 3")]
    titles(ax, named, 14)


def _remember(
    ax: Axes, at: _Places, i: int, walk: np.ndarray, left: np.ndarray
) -> None:
    """Draw a walk and the memory that it leaves; on a desk, lead this into the bag beside it."""
    y = at.rows[i]
    # The second walk has the two corners in the other order, and each keeps its ground.
    swapped = i == 1
    _begun(ax, (at.square, y), walk, swapped=swapped)
    wire(ax, [(at.square + 42, y), (at.pile, y)])
    _states(ax, (at.pile, y), left, apart=15, swapped=swapped)
    if at is DESK:
        into = (at.edges[0], at.bag[1] + (-22, 22)[i])
        wire(ax, [(at.end, y), into], curved=True)


def _ask_beside(ax: Axes, at: _Places, thirds: Sequence[str]) -> None:
    """Ask which third corner comes after the bag, on its right."""
    y = at.bag[1]
    wire(ax, [(at.edges[1], y), (534, y)])
    for dy, text in zip((-20, 0, 20), (thirds[0], "or", thirds[1]), strict=True):
        say(ax, (572, y + dy), text, bold=dy != 0)
    say(ax, (622, y), "?", bold=True, size=22)


def _ask_below(ax: Axes, at: _Places, thirds: Sequence[str]) -> None:
    """Lead both memories down into the bag, and ask below it which third corner comes next."""
    x, y = at.bag
    # The first memory goes around the second one.
    for row, away in zip(at.rows, (26, 12), strict=True):
        aside = at.end + away
        wire(ax, [(at.end, row), (aside, row), (aside, y), (at.edges[1], y)])
    say(ax, (76, y), "as a bag", "muted", align="right", bold=True)
    wire(ax, [(x, y + BAG[1] / 2), (x, y + 66)])
    text = f"corner 3: {thirds[0]} or {thirds[1]}?"
    say(ax, (x, y + 84), text, bold=True)


def _begun(ax: Axes, at: Point, walk: np.ndarray, *, swapped: bool) -> None:
    """Draw a square: its first two corners on the grounds of their states, and an open third one."""
    place = [(at[0] + HALF * float(x), at[1] - HALF * float(y)) for x, y in walk]
    wire(ax, [*place[1:], place[0]], "road", width=1, head=False)
    wire(ax, [place[0], _short_of(place[1], place[0])], "ink", width=2.4)
    for i, (corner, spot) in enumerate(zip(walk[:3], place, strict=False)):
        if i < 2:
            box(ax, spot, (12, 12), f"word-{2 * (i ^ swapped)}", order=4)
        else:
            box(ax, spot, (10, 10), "query", width=LINE, order=4)
        away = 16 * np.sign(corner)
        text = str(i + 1) if i < 2 else "3?"
        say(ax, (spot[0] + away[0], spot[1] - away[1]), text, size=SMALL)


def _states(
    ax: Axes,
    at: Point,
    states: np.ndarray,
    *,
    apart: float,
    swapped: bool = False,
) -> None:
    """Draw two states, one below the other, each on the ground of its corner."""
    look: Any = {"cell": (NUMBER, 26), "digits": 3, "text_size": SMALL}
    for t, state in enumerate(states):
        place = (at[0], at[1] + (-apart, apart)[t])
        vector(ax, place, state, f"word-{2 * (t ^ swapped)}", **look)


def _check(corners: np.ndarray, said: np.ndarray | None) -> None:
    if corners.ndim != 3 or corners.shape[1:] != (4, 2) or not 0 < len(corners) < 9:
        rule = "walks must have shape (N, 4, 2), with N from 1 to 8"
        raise ValueError(f"{rule}; got {corners.shape}")
    if said is not None and said.shape != (wanted := (len(corners), 2, 2)):
        raise ValueError(f"predicted must have shape {wanted}; got {said.shape}")


def _square(ax: Axes, at: Point, walk: np.ndarray, said: np.ndarray | None) -> None:
    place = [_on_sheet(at, corner) for corner in walk]
    wire(ax, [*place[1:], place[0]], "road", width=1, head=False)
    wire(ax, [place[0], _short_of(place[1], place[0])], "ink", width=2)
    for number, (corner, spot) in enumerate(zip(walk, place, strict=True), start=1):
        if number < 3:
            disc(ax, spot, 5, "ink")
        else:
            box(ax, spot, (10, 10), "query", width=LINE, order=4)
        away = 12 * np.sign(corner)
        say(ax, (spot[0] + away[0], spot[1] - away[1]), str(number), size=SMALL)
    if said is None:
        return
    for spot, told in zip(place[2:], said, strict=True):
        x, y = cross = _on_sheet(at, told)
        if np.hypot(x - spot[0], y - spot[1]) > 8:
            line(ax, [spot, cross], "wrong", width=1.4, dashed=True)
        for way in (-5, 5):
            line(ax, [(x - 5, y - way), (x + 5, y + way)], "context", width=2.4)


def _on_sheet(at: Point, corner: np.ndarray) -> Point:
    return at[0] + SIDE / 2 * float(corner[0]), at[1] - SIDE / 2 * float(corner[1])


def _short_of(end: Point, start: Point) -> Point:
    """Return a point that a disc at the end leaves free."""
    step = np.subtract(end, start)
    x, y = end - 5 * step / max(float(np.hypot(*step)), 1e-9)
    return float(x), float(y)


def _key(ax: Axes, at: Point, *, predicted: bool) -> None:
    """Say what the marks are."""
    names = ["given", "asked for"] + (["the model's answer"] if predicted else [])
    widths = [30 + 6.2 * len(name) for name in names]
    x = at[0] - sum(widths) / 2
    for i, (name, wide) in enumerate(zip(names, widths, strict=True)):
        spot = x + 6, at[1]
        if i == 0:
            disc(ax, spot, 5, "ink")
        elif i == 1:
            box(ax, spot, (10, 10), "query", width=LINE)
        else:
            for way in (-5, 5):
                ends = [(x + 1, at[1] - way), (x + 11, at[1] + way)]
                line(ax, ends, "context", width=2.4)
        say(ax, (x + 16, at[1]), name, "muted", size=SMALL, align="left")
        x += wide


def _told(
    walks: np.ndarray, said: np.ndarray | None, notes: Sequence[str] | None
) -> list[str]:
    count = len(walks)
    told = [f"{count} squares" if count > 1 else "1 square"]
    for i, walk in enumerate(walks):
        first, second, third, fourth = (f"({listed(c, 0)})" for c in walk)
        name = f"Square {i + 1}" + (f", {notes[i]}" if notes else "")
        way = f"{name}: from {first} to {second}, then {third} and {fourth}"
        if said is not None:
            one, other = (f"({listed(answer)})" for answer in said[i])
            way += f"; the model says {one} and {other}"
        told.append(way)
    return told
