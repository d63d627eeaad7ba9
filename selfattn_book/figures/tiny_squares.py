"""Squares of the task: inputs, targets and predictions; and two walks with one bag of states."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, listed
from selfattn_book.draw.scene import Node, cells, column, frame, grid, label, note, row, show, space
from selfattn_book.draw.style import as_array

CELL = 90  # pixels of a row


def tiny_squares(
    walks: Tensor, predicted: Tensor | None = None, *, notes: Sequence[str] = ()
) -> Canvas:
    """Draw walks around small squares, with an arrow for the side of the input.

    The corners of the input are filled, and those of the target are open. Each prediction is a
    cross, connected to its target. Walks are ``(N, 4, 2)``, predictions ``(N, 2, 2)``, and each
    square may have a note.

    Example:
        >>> import torch
        >>> walks = torch.tensor([[[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]]])
        >>> ax = tiny_squares(walks, torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]), notes=["0.50"])
        >>> print(ax.get_label())
        1 square. Square 1, 0.50: from (-1, -1) to (-1, 1), then (1, 1) and (1, -1);
        the model predicts (1.00, 0.00) and (1.00, 0.00).
    """
    corners = as_array(walks)
    answers = [[]] * len(corners) if predicted is None else list(as_array(predicted))
    kinds = ["input", "target", "prediction"][: 2 if predicted is None else 3]
    digits = 0 if (corners == corners.round()).all() else 1
    squares = []
    for i, (walk, answer) in enumerate(zip(corners, answers, strict=True)):
        name = ", ".join([f"Square {i + 1}", *notes[i : i + 1]])
        points = [f"({listed(corner, digits)})" for corner in walk]
        alt = f"{name}: from {points[0]} to {points[1]}, then {points[2]} and {points[3]}"
        if len(answer):
            alt += f"; the model predicts {' and '.join(f'({listed(c)})' for c in answer)}"
        squares.append((partial(_square, walk, answer), notes[i] if notes else "", alt))

    def build(narrow: bool) -> Node:
        across = 4 if narrow else max(4, len(corners) if len(corners) < 9 else 5)
        wide, nodes = (304 if narrow else 632) / across, []
        for draw, text, alt in squares:
            square = space(wide, CELL, draw, alt=alt)
            nodes.append(column(square, note(text), gap=-4) if text else square)
        key = [row(space(12, 12, partial(_mark, kind)), note(kind, "muted")) for kind in kinds]
        return column(grid(nodes, across), row(*key), gap=4)

    return show(build, f"{len(corners)} square{'s' * (len(corners) > 1)}")


def _square(walk: np.ndarray, answer: Sequence[np.ndarray], ax: Canvas, at: Point) -> None:
    """Draw one walk with its prediction, if there is one."""
    places = _outline(ax, at, walk, 18, 12, "1234")
    for i, place in enumerate(places):
        _mark("input" if i < 2 else "target", ax, place)
    for place, corner in zip(places[2:], answer, strict=False):
        cross = _on_canvas(at, corner, 18)
        if np.hypot(cross[0] - place[0], cross[1] - place[1]) > 8:
            ax.line([place, cross], "wrong", width=1.4, dashed=True)
        _mark("prediction", ax, cross)


def _outline(
    ax: Canvas, at: Point, walk: np.ndarray, half: float, away: float, names: Sequence[str]
) -> list[Point]:
    """Draw a square with an arrow along its first side, and return its corners."""
    places = [_on_canvas(at, corner, half) for corner in walk]
    ax.wire([*places[1:], places[0]], "residual", width=1, head=False)
    step = np.subtract(places[1], places[0])
    x, y = np.array(places[1]) - 5 * step / max(float(np.hypot(*step)), 1e-9)
    ax.wire([places[0], (float(x), float(y))], "ink", width=2.2)
    for name, corner, (x, y) in zip(names, walk, places, strict=True):
        dx, dy = away * np.sign(corner)
        ax.note((x + dx, y - dy), name)
    return places


def _on_canvas(at: Point, corner: np.ndarray, half: float) -> Point:
    return at[0] + half * float(corner[0]), at[1] - half * float(corner[1])


def _mark(kind: str, ax: Canvas, at: Point) -> None:
    """Draw the mark of a corner."""
    x, y = at
    if kind == "input":
        ax.disc(at, 5, "ink")
    elif kind == "target":
        ax.box(at, (10, 10), "query", order=4)
    else:
        for way in (-5, 5):
            ax.line([(x - 5, y - way), (x + 5, y + way)], "context", width=2.4)


def one_memory(walks: Tensor, memories: Tensor) -> Canvas:
    """Draw two walks that begin with the same two corners, in either order, and their memories.

    The second memory is the first one upside down, so both are the same bag of states, with two
    targets.

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
            square, pile = space(100, 100, partial(_begun, walk, i == 1)), _states(left, i == 1)
            line_ = row(square, pile, gap=20, alt=f"{way}, and has the states {one} and {other}")
            line_.link(square, pile)
            lines.append(line_)
            piles.append(pile)
        look: Any = {"role": "muted", "bold": True}
        heads = row(label("walk", width=100, **look), label("memory", width=112, **look), gap=20)
        bag = frame(_states(states[0], swapped=False), filled=True, pad=14)
        same = "As a bag the two memories are the same"
        bag.alt = f"{same}, so nothing in it tells which corner comes next"
        asked = label(f"corner 3: {thirds[0]} or {thirds[1]}?", bold=True)
        end = column(label("as a bag", **look), bag, space(0, 16), asked, gap=8)
        root: Node = row(column(heads, *lines, gap=8), end, gap=30 if narrow else 70)
        for i, pile in enumerate(piles):
            if narrow:
                root.link(pile, bag, around=26 - 14 * i)
            else:
                root.link(pile, bag, ends=((1, 0.5), (0, (0.25, 0.75)[i])), curved=True)
        root.link(bag, asked)
        return root

    return show(build, "Two walks, and one bag")


def _begun(walk: np.ndarray, swapped: bool, ax: Canvas, at: Point) -> None:
    """Draw a square: its first two corners in the colors of their states, and an open third one."""
    places = _outline(ax, at, walk, 24, 16, ("1", "2", "3?", ""))
    for i, place in enumerate(places[:2]):
        ax.box(place, (12, 12), f"word-{2 * (i ^ swapped)}", order=4)
    _mark("target", ax, places[2])


def _states(states: np.ndarray, swapped: bool) -> Node:
    """Draw two states, one below the other, each in the color of its corner."""
    roles = [f"word-{2 * (t ^ swapped)}" for t in range(2)]
    pairs = zip(states, roles, strict=True)
    return column(*(cells(s, r, cell=(56, 26), digits=3, text_size=13) for s, r in pairs), gap=4)
