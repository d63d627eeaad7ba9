"""Squares of the task: inputs, targets and predictions; and two walks with one bag of states."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import LINE, Canvas, Point, listed
from selfattn_book.draw.scene import (
    Node,
    cells,
    column,
    frame,
    label,
    note,
    row,
    show,
    slot,
    space,
    title,
)
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array

SIDE = 36  # pixels of a square
CELL = 90  # pixels of a row
ACROSS = 4  # on a phone
HALF = 24  # pixels of half a square beside a memory


def tiny_squares(
    walks: Tensor | np.ndarray,
    predicted: Tensor | np.ndarray | None = None,
    *,
    notes: Sequence[str] | None = None,
) -> Canvas:
    """Draw walks around small squares, with an arrow for the side of the input.

    The corners of the input are filled, and those of the target are open. Each prediction is a cross,
    connected to its target.

    Args:
        walks: ``(N, 4, 2)``, corners in their order; N is 1 to 8.
        predicted: ``(N, 2, 2)``, predictions of the third and the fourth corner.
        notes: line below each square.

    Example:
        >>> walks = np.array([[[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]])
        >>> ax = tiny_squares(walks, np.array([[[1.0, 0.0], [1.0, 0.0]]]), notes=["0.50"])
        >>> print(ax.get_label())
        1 square. Square 1, 0.50: from (-1, -1) to (-1, 1), then (1, 1) and (1, -1);
        the model predicts (1.00, 0.00) and (1.00, 0.00).
    """
    corners = as_array(walks)
    said = [None] * len(corners) if predicted is None else list(as_array(predicted))
    below = [""] * len(corners) if notes is None else list(notes)
    names = ["input", "target", "prediction"][: 2 if predicted is None else 3]

    def build(narrow: bool) -> Node:
        across = ACROSS if narrow else max(ACROSS, len(corners))
        wide = (304 if narrow else 632) / across
        nodes = []
        for i, (walk, answer, text) in enumerate(zip(corners, said, below, strict=True)):
            alt = _sentence(f"Square {i + 1}{', ' * bool(text)}{text}", walk, answer)
            square = space(wide, CELL, partial(_square, walk, answer), alt=alt)
            nodes.append(column(square, note(text), gap=-4) if text else square)
        rows = [row(*nodes[i : i + across], gap=0) for i in range(0, len(nodes), across)]
        key = row(*(node for name in names for node in (_key(name), note(name, "muted"))))
        return column(*rows, key, gap=4)

    return show(build, f"{len(corners)} square{'s' * (len(corners) > 1)}")


def _sentence(name: str, walk: np.ndarray, answer: np.ndarray | None) -> str:
    first, second, third, fourth = (f"({listed(c, 0)})" for c in walk)
    way = f"{name}: from {first} to {second}, then {third} and {fourth}"
    if answer is None:
        return way
    one, other = (f"({listed(corner)})" for corner in answer)
    return f"{way}; the model predicts {one} and {other}"


def _square(walk: np.ndarray, answer: np.ndarray | None, ax: Canvas, at: Point) -> None:
    """Draw one walk with its prediction, if there is one."""
    place = _outline(ax, at, walk, SIDE / 2, 12)
    for number, spot in enumerate(place):
        _mark(ax, spot, "input" if number < 2 else "target")
    for spot, corner in zip(place[2:], [] if answer is None else answer, strict=False):
        cross = _on_sheet(at, corner, SIDE / 2)
        if np.hypot(cross[0] - spot[0], cross[1] - spot[1]) > 8:
            ax.line([spot, cross], "wrong", width=1.4, dashed=True)
        _mark(ax, cross, "prediction")


def _outline(
    ax: Canvas, at: Point, walk: np.ndarray, half: float, away: float, names: str = "1234"
) -> list[Point]:
    """Draw a square with an arrow along its first side, and return its corners."""
    place = [_on_sheet(at, corner, half) for corner in walk]
    ax.wire([*place[1:], place[0]], "residual", width=1, head=False)
    step = np.subtract(place[1], place[0])
    stop = np.array(place[1]) - 5 * step / max(float(np.hypot(*step)), 1e-9)
    ax.wire([place[0], (float(stop[0]), float(stop[1]))], "ink", width=2.2)
    for name, corner, (x, y) in zip(names, walk, place, strict=True):
        dx, dy = away * np.sign(corner)
        ax.note((x + dx, y - dy), {"?": "3?", " ": ""}.get(name, name))
    return place


def _on_sheet(at: Point, corner: np.ndarray, half: float) -> Point:
    return at[0] + half * float(corner[0]), at[1] - half * float(corner[1])


def _mark(ax: Canvas, at: Point, kind: str) -> None:
    """Draw the mark of a corner."""
    x, y = at
    if kind == "input":
        ax.disc(at, 5, "ink")
    elif kind == "target":
        ax.box(at, (10, 10), "query", width=LINE, order=4)
    else:
        for way in (-5, 5):
            ax.line([(x - 5, y - way), (x + 5, y + way)], "context", width=2.4)


def _key(kind: str) -> Node:
    return space(12, 12, lambda ax, at: _mark(ax, at, kind))


def one_memory(walks: Tensor, memories: Tensor) -> Canvas:
    """Draw two walks that begin with the same two corners, in either order, and their memories.

    The second memory is the first one upside down, so both are the same bag of states, with two targets.

    Args:
        walks: ``(2, 4, 2)``, corners of a square in their order.
        memories: ``(2, 2, 2)``, states of the first two corners of each walk.

    Example:
        >>> import torch
        >>> there = torch.tensor([[-1.0, -1], [-1, 1], [1, 1], [1, -1]])
        >>> walks = torch.stack([there, there[[1, 0, 3, 2]]])
        >>> states = torch.tensor([[0.5, 0.0], [0.25, 1.0]])
        >>> print(one_memory(walks, torch.stack([states, states.flip(0)])).get_label())
        Two walks, and one bag. The walk from (-1, -1) to (-1, 1) goes on to (1, 1),
        and has the states (0.500, 0.000) and (0.250, 1.000).
        The walk from (-1, 1) to (-1, -1) goes on to (1, -1),
        and has the states (0.250, 1.000) and (0.500, 0.000).
        As a bag the two memories are the same, so nothing in it tells which corner comes next.
    """
    corners, states = as_array(walks), as_array(memories)
    thirds = [f"({listed(walk[2], 0)})" for walk in corners]

    def build(narrow: bool) -> Node:
        lines, piles = [], []
        for i, (walk, left) in enumerate(zip(corners, states, strict=True)):
            first, second, third = (f"({listed(corner, 0)})" for corner in walk[:3])
            one, other = (f"({listed(state, 3)})" for state in left)
            way = f"The walk from {first} to {second} goes on to {third}"
            square = space(100, 100, partial(_begun, walk, i == 1))
            pile = _states(left, swapped=i == 1)
            line_ = row(square, pile, gap=20, alt=f"{way}, and has the states {one} and {other}")
            line_.link(square, pile)
            lines.append(line_)
            piles.append(pile)
        heads = row(slot(title("walk"), 100), slot(title("memory"), 112), gap=20)
        bag = frame(_states(states[0], swapped=False), filled=True, pad=14)
        same = "As a bag the two memories are the same"
        bag.alt = f"{same}, so nothing in it tells which corner comes next"
        asked = label(f"corner 3: {thirds[0]} or {thirds[1]}?", bold=True)
        end = column(title("as a bag"), bag, space(0, 16), asked, gap=8)
        root: Node = row(column(heads, *lines, gap=8), end, gap=30 if narrow else 70)
        for i, pile in enumerate(piles if not narrow else []):
            root.link(pile, bag, ends=((1, 0.5), (0, (0.25, 0.75)[i])), curved=True)
        root.link(bag, asked)
        wires = space(0, 0, partial(_around, piles, bag) if narrow else None)
        return column(root, wires, gap=0)

    return show(build, "Two walks, and one bag")


def _around(piles: Sequence[Node], bag: Node, ax: Canvas, _: Point) -> None:
    """Lead both memories into the bag below them."""
    end = bag.at(1, 0.5)
    for pile, away in zip(piles, (26, 12), strict=True):
        x, y = pile.at(1, 0.5)
        ax.wire([(x, y), (x + away, y), (x + away, end[1]), end])


def _begun(walk: np.ndarray, swapped: bool, ax: Canvas, at: Point) -> None:
    """Draw a square: its first two corners in the colors of their states, and an open third one."""
    place = _outline(ax, at, walk, HALF, 16, "12? ")
    for i, spot in enumerate(place[:2]):
        ax.box(spot, (12, 12), f"word-{2 * (i ^ swapped)}", order=4)
    _mark(ax, place[2], "target")


def _states(states: np.ndarray, *, swapped: bool) -> Node:
    """Draw two states, one below the other, each in the color of its corner."""
    roles = [f"word-{2 * (t ^ swapped)}" for t in range(2)]
    pairs = zip(states, roles, strict=True)
    return column(*(cells(s, r, cell=(56, 26), digits=3, text_size=SMALL) for s, r in pairs), gap=4)
