"""Three drawings about caches: receptive fields, a latent in place of keys, and a state in chunks."""

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, note, part, row, show, space, table

STEP, LAYER = 26, 46  # pixels: between positions, and between layers
SIDE = 22  # pixels: a weight
WIDE, HIGH = 104, 26  # pixels: a vector of a head; a latent has half the width


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


def latent_attention() -> Canvas:
    """Draw how a query meets a latent that is expanded, and one that is not.

    Example:
        >>> print(latent_attention().get_label())
        Two ways to attend to a cached latent.
        Expanded: up_key and up_value turn each latent c into a key k and a value v; the query q meets
        k, and the output is the weighted sum of v. Absorbed: up_key turns the query into a vector as
        short as a latent, which meets each c; up_value is applied once, to the weighted sum of c.
    """
    alts = (
        "Expanded: up_key and up_value turn each latent c into a key k and a value v; the query q "
        "meets k, and the output is the weighted sum of v",
        "Absorbed: up_key turns the query into a vector as short as a latent, which meets each c; "
        "up_value is applied once, to the weighted sum of c",
    )

    def build(narrow: bool) -> Node:
        nodes = []
        for title, alt in zip(("expanded", "absorbed"), alts, strict=True):
            area = space(300, 210, partial(_latent, title == "absorbed"))
            nodes.append(column(label(title, bold=True, width=200), area, gap=4, alt=alt))
        return (column if narrow else row)(*nodes, gap=16)

    return show(build, "Two ways to attend to a cached latent")


def _latent(is_absorbed: bool, ax: Canvas, middle: Point) -> None:
    """Draw query and output at the top, the cached latent below, and what is between them."""
    left, right = middle[0] - 82, middle[0] + 82
    top, between, low = middle[1] - 86, middle[1] - 6, middle[1] + 78
    half = HIGH / 2
    inner = WIDE / 2 if is_absorbed else WIDE
    key, summed = ("query", "context") if is_absorbed else ("key", "value")
    names = ("q′", "Σ w c") if is_absorbed else ("k", "v")
    ax.box((left, top), (WIDE, HIGH), "query", "q")
    ax.box((right, top), (WIDE, HIGH), "context", "output")
    ax.box((left, between), (inner, HIGH), key, names[0])
    ax.box((right, between), (inner, HIGH), summed, names[1])
    ax.box((middle[0], low), (WIDE / 2, HIGH), "muted", "c", bold=True)
    ax.note((middle[0], low + 22), "cached, one per token", "muted")
    ax.wire([(left, top + half), (left, between - half)], "query", head=is_absorbed)
    ax.wire([(right, between - half), (right, top + half)], "context")
    ends = (middle[0] - 16, middle[0] + 16)
    ax.wire([(ends[0], low - half), (left, between + half)], key, head=not is_absorbed)
    ax.wire([(ends[1], low - half), (right, between + half)], "value")
    upper, lower = (top + between) / 2, (between + low) / 2 + 4
    matrices, sums = ("up_key", "up_value"), ("score", "weighted sum")
    if is_absorbed:
        _beside(ax, (left, right), upper, matrices, "once", inward=True)
        _beside(ax, (left, right), lower, sums)
    else:
        _beside(ax, (left, right), upper, sums, inward=True)
        _beside(ax, (left, right), lower, matrices, "per token")


def _beside(
    ax: Canvas,
    xs: Point,
    y: float,
    texts: tuple[str, str],
    how_often: str = "",
    *,
    inward: bool = False,
) -> None:
    """Write beside two wires what they do and how often, between them or outside of them."""
    sides = (8, -8) if inward else (12, -12)
    aligns = ("left", "right") if inward else ("right", "left")
    for x, side, align, text in zip(xs, sides, aligns, texts, strict=True):
        ax.note((x + side, y - 8 * bool(how_often)), text, align=align)
        if how_often:
            ax.note((x + side, y + 8), how_often, "muted", align=align)


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
