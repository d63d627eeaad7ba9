"""Two points on their way through an encoder, with their numbers."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from selfattn_book.draw.canvas import LINE, Canvas, Point, listed, number, shape
from selfattn_book.draw.scene import Node, cells, column, note, row, show, space, step, title
from selfattn_book.encoder_decoder import Encoder
from selfattn_book.figures.attention_map import attended, attention_map

STEPS = ["points", "contexts of the heads", "output", "feed-forward", "states"]


def encoder_steps(encoder: Encoder, source: Tensor, names: Sequence[str] = ("0", "1")) -> Canvas:
    """Draw two points, ``(2, 2)``, on their way through an encoder with ``d_model=2``.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> encoder = Encoder(d_model=2, num_heads=1, d_ff=3)
        >>> print(encoder_steps(encoder, torch.eye(2), ["east", "north"]).get_label())
        Two points on their way through an encoder, row by row. The points: east 1.00, 0.00; ...
        The weights of head 1: east attends 0.55 to east, 0.45 to north; north attends ...
        The contexts side by side, (2, 2): east -0.30, 0.28; north -0.29, 0.29. ...
        After the output layer, (2, 2): east -0.09, 0.61; north -0.09, 0.62. They are 0.013 apart.
        In the feed-forward network, (2, 3), the ReLU keeps 1 of 3 hidden units of east and 1 of ...
        The states, (2, 2): east 0.22, 0.11; north 0.22, 0.10. ...
    """
    weights, *steps = _pass(encoder, source)
    tables = [
        f"The weights of head {h + 1}: {attended(w, names, names)}, factor {number(factor)}"
        for h, (w, factor) in enumerate(zip(weights, _factors(weights), strict=True))
    ]
    texts = [
        "; ".join(f"{name} {listed(x)}" for name, x in zip(names, xs, strict=True)) for xs in steps
    ]
    (first, second), units = (steps[3] > 0).sum(1).tolist(), steps[3].size(1)
    alts = [
        f"The points: {texts[0]}",
        ". ".join([*tables, f"The contexts side by side, {shape(steps[1])}: {texts[1]}"]),
        f"After the output layer, {shape(steps[2])}: {texts[2]}",
        f"In the feed-forward network, {shape(steps[3])}, the ReLU keeps {first} of {units} hidden "
        f"units of {names[0]} and {second} of {names[1]}",
        f"The states, {shape(steps[4])}: {texts[4]}",
    ]
    far = [f"{number(float(torch.dist(*x)), 3)} apart" for x in steps]
    alts = [f"{alt}. They are {gap}" for alt, gap in zip(alts, far, strict=True)]

    def build(narrow: bool) -> Node:
        cell, unit = (40, 16) if narrow else (36, 8)
        pairs = [_pair(x, i, cell, unit) for i, x in enumerate(steps)]
        groups = []
        for i, (x, pair, name, alt) in enumerate(zip(steps, pairs, STEPS, alts, strict=True)):
            above = [note("" if i else text) for text in names]
            rows = column(above[0], pair[0], above[1], pair[1], gap=3)
            if narrow:
                rows = column(*pair, gap=4)
            parts: list[Node] = [title(name), rows, note(shape(x), "muted")]
            if i == 0 and narrow:
                parts[1] = row(column(*map(note, names), gap=13), rows)
            if i == 1:
                parts.insert(1, _maps(weights, x.size(1) * cell))
            parts.append(note(far[i], bold=True))
            groups.append(column(*parts, gap=4, alt=alt))
        if narrow:
            return column(*[n for g in groups for n in (step(), g)][1:], gap=4)
        root = row(groups[0], space(24), *groups[1:], gap=8, align=1)
        _connect(root, pairs, weights.mean(0))
        return root

    return show(build, "Two points on their way through an encoder, row by row")


def _connect(root: Node, pairs: Sequence[Sequence[Node]], weights: Tensor) -> None:
    """Connect each step with the next one; contexts receive points, as thick as their weights."""
    for end, given in zip(pairs[1], weights.tolist(), strict=True):
        for start, weight in zip(pairs[0], given, strict=True):
            sides = ((1, 0.5), (0, 0.5))
            root.link(start, end, "weights", ends=sides, width=0.5 + 5 * weight, head=False)
    for before, after in pairwise(pairs[1:]):
        for start, end in zip(before, after, strict=True):
            root.link(start, end)


def _pair(x: Tensor, i: int, cell: float, unit: float) -> list[Node]:
    """Draw one step of both points: numbers, or bars for the units of the feed-forward network."""
    if i == 3:
        bars = partial(_units, float(x.max().clamp(min=1e-9)), unit)
        return [space(x.size(1) * unit, 26, partial(bars, entries)) for entries in x]
    heads = x.split(2, dim=1) if i == 1 else [x]
    look: Any = {"cell": (cell, 26), "text_size": 13, "width": LINE + (i == 4)}
    role = "context" if i == 1 else "ink"
    return [row(*(cells(h[p], role, **look) for h in heads), gap=0) for p in range(len(x))]


def _units(largest: float, unit: float, entries: Tensor, ax: Canvas, middle: Point) -> None:
    wide = len(entries) * unit
    ax.box(middle, (wide, 26))
    for n, entry in enumerate(entries.tolist()):
        foot = (middle[0] - wide / 2 + (n + 0.5) * unit, middle[1] + 12)
        ax.vbar(foot, 22 * entry / largest, "ink", thick=unit - 3)


def _maps(weights: Tensor, wide: float) -> Node:
    """Draw the weights of each head, and the factor between the gaps of its values and contexts."""
    maps = [
        column(note(f"head {h + 1}"), attention_map(head), note(f"× {number(factor)}"), gap=2)
        for h, (head, factor) in enumerate(zip(weights, _factors(weights), strict=True))
    ]
    return row(*maps, gap=wide / len(weights) - 40)


def _factors(weights: Tensor) -> list[float]:
    """Return how much more weight the first point has in its own row, for each head."""
    return (weights[:, 0, 0] - weights[:, 1, 0]).tolist()


@torch.no_grad()
def _pass(encoder: Encoder, source: Tensor) -> list[Tensor]:
    """Return the weights, points, contexts, outputs of the heads, hidden units, and states."""
    x = encoder.positions(source[None])
    heads = encoder.attention
    _, weights = heads(x, x, x)
    values = heads.project_value(x).unflatten(-1, (heads.num_heads, -1))
    contexts = (weights @ values.transpose(1, 2)).transpose(1, 2).flatten(2)
    outputs = heads.project_output(contexts)
    hidden = encoder.feed_forward[:2](outputs)
    steps = weights, x, contexts, outputs, hidden, encoder.feed_forward[2:](hidden)
    return [step[0] for step in steps]
