"""Two drawings about caches: receptive fields, and a state in chunks."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, note, part, row, show, space, table

STEP, LAYER = 26, 46  # pixels: between positions, and between layers
SIDE = 22  # pixels: a weight


def receptive_fields(stacks: Mapping[str, Sequence[Tensor]]) -> Canvas:
    """Draw on which inputs the last output of each stack of masked layers depends.

    A stack is one mask ``(T, T)`` for each layer, the first layer first.

    Example:
        >>> band = torch.ones(4, 4).tril() - torch.ones(4, 4).tril(-2)
        >>> print(receptive_fields({"two windows": [band > 0, band > 0]}).get_label())
        What the last of 4 outputs depends on. two windows: the last 3 inputs.
    """
    length = len(next(iter(stacks.values()))[0])

    def build(narrow: bool) -> Node:
        nodes = []
        for name, masks in stacks.items():
            reached = _reached(masks)
            alt = f"{name}: the last {int(reached[0].sum())} inputs"
            size = (STEP * (length - 1) + 84, LAYER * len(masks) + 24)
            area = space(*size, partial(_stack, masks, reached))
            nodes.append(column(label(name, bold=True, width=size[0]), area, gap=4, alt=alt))
        return (column if narrow else row)(*nodes, gap=20)

    return show(build, f"What the last of {length} outputs depends on")


def _reached(masks: Sequence[Tensor]) -> list[Tensor]:
    """Return for the inputs and for each layer the positions that the last output depends on."""
    reached = [torch.arange(len(masks[-1])) == len(masks[-1]) - 1]
    for mask in reversed(masks):
        reached.insert(0, mask[reached[0]].any(0))
    return reached


def _stack(masks: Sequence[Tensor], reached: Sequence[Tensor], ax: Canvas, middle: Point) -> None:
    """Draw a row of dots for the inputs and for each layer, and the ways to the last output."""
    length, count = len(masks[0]), len(masks)
    left = middle[0] - STEP * (length - 1) / 2 + 32
    low = middle[1] + LAYER * count / 2
    for n, mask in enumerate(masks):
        high = low - LAYER * n
        kind = "full" if mask[-1].all() else "window"
        ax.note((left - 14, high - LAYER / 2), kind, "weights", align="right")
        for i, j in (mask & reached[n + 1][:, None]).nonzero().tolist():
            ends = [(left + STEP * j, high), (left + STEP * i, high - LAYER)]
            ax.line(ends, "weights", width=1)
    for n, own in enumerate(reached):
        role = "value" if n == 0 else "context"
        for i, is_reached in enumerate(own.tolist()):
            at = (left + STEP * i, low - LAYER * n)
            if is_reached:
                ax.disc(at, 6, role)
            else:
                ax.ring(at, 5, "residual")


def chunked_form(chunks: int, size: int) -> Canvas:
    """Draw which weights the chunked form of linear attention computes, and what a state replaces.

    Args:
        chunks: number of chunks.
        size: number of tokens in a chunk.

    Example:
        >>> print(chunked_form(2, 3).get_label())
        Queries and keys in 2 chunks of 3 tokens. Chunk 1: weights for its own keys. Chunk 2: weights
        for its own keys; the 3 earlier keys are read from a state.
    """
    alts = [
        f"Chunk {c + 1}: weights for its own keys"
        + (f"; the {c * size} earlier keys are read from a state" if c else "")
        for c in range(chunks)
    ]
    length, side = chunks * size, SIDE

    def entry(ax: Canvas, middle: Point, i: int, j: int) -> None:
        if j <= i and i // size == j // size:
            ax.box(middle, (side, side), "weights", width=1)

    def states(ax: Canvas, corner: Point) -> None:
        for c in range(1, chunks):
            wide, high = c * size * side, size * side
            at = (corner[0] + wide / 2, corner[1] + (c + 0.5) * high)
            ax.box(at, (wide, high), "context", f"state after {c * size}")

    def build(narrow: bool) -> Node:
        matrix = table((length, length), (side, side), entry, body=states, axes=("query", "key"))
        swatches = [
            row(part("", role, width=side, height=side, edge=1), note(text), gap=6)
            for role, text in (("weights", "one weight"), ("context", "all earlier keys at once"))
        ]
        legend = column(*swatches, gap=8, align=0)
        return (column if narrow else row)(matrix, legend, gap=24, alt=". ".join(alts))

    return show(build, f"Queries and keys in {chunks} chunks of {size} tokens")
