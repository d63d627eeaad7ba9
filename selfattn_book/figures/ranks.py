"""Ranks that share a batch, the two halves of an all-reduce, and what each rank holds and sends."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import WIDE

GROUNDS = ("word-0", "word-1", "word-2")  # one for each rank
ROW, GAP, TOP = 32, 18, 62  # pixels: an example, between ranks, above the first one
TILE, PAD = 9, 5  # pixels: what is held is drawn in tiles, in a box
PIECE = 30  # pixels: a part of a tensor


def shared_batch(parts: Sequence[Tensor]) -> Canvas:
    """Draw how ranks, each with its part of a batch, compute one gradient.

    A part is ``(N,)``, the gradient of each example; ranks are two or three, and N is 1 to 4.

    Example:
        >>> import torch
        >>> print(shared_batch([torch.tensor([-4.0, 2.0]), torch.tensor([4.0, 6.0])]).get_label())
        A batch shared by 2 ranks.
        Rank 0 has examples with gradients -4.00, 2.00 and their mean -1.00.
        Rank 1 has examples with gradients 4.00, 6.00 and their mean 5.00.
        The mean over the ranks is 2.00, and every rank takes its step with it; the mean of all
        examples is 2.00.
    """
    means = [float(part.mean()) for part in parts]
    mean = sum(means) / len(means)
    whole = sum(float(part.sum()) for part in parts) / sum(map(len, parts))
    message = [
        f"Rank {rank} has examples with gradients {listed(part)} and their mean {number(own)}"
        for rank, (part, own) in enumerate(zip(parts, means, strict=True))
    ]
    tops = [TOP + ROW * sum(map(len, parts[:r])) + GAP * r for r in range(len(parts))]
    ys = [top + ROW * (len(part) - 1) / 2 for top, part in zip(tops, parts, strict=True)]
    bottom, middle = tops[-1] + ROW * len(parts[-1]) + GAP, (ys[0] + ys[-1]) / 2

    def draw(width: float) -> Canvas:
        xs, half = ((62, 230, 396, 558), 37) if width == WIDE else ((34, 118, 200, 277), 27)
        heads = "gradients", "own mean", "mean over ranks" if width == WIDE else "mean", "step with"
        ax = canvas(width, bottom + 16)
        for x, head in zip(xs, heads, strict=True):
            ax.say((x, 14), head, "muted", bold=True)
        for ground, top, y, part, own in zip(GROUNDS, tops, ys, parts, means, strict=False):
            for i, gradient in enumerate(part.tolist()):
                at = (xs[0], top + ROW * i)
                ax.wire([(at[0] + half, at[1]), (xs[1] - half, y)], ground)
                ax.box(at, (2 * half, ROW - 8), ground, number(gradient))
            ax.wire([(xs[1] + half, y), (xs[2] - half, middle)], ground, width=2.5)
            ax.wire([(xs[2] + half, middle), (xs[3] - half, y)], width=2.5)
            for x, value in ((xs[1], own), (xs[3], mean)):
                ax.box((x, y), (2 * half, ROW - 4), ground, number(value), bold=True)
                ax.note((x, y - ROW / 2 - 7), f"rank {GROUNDS.index(ground)}")
        size = (2 * half, ROW + 4)
        ax.box((xs[2], middle), size, "ink", number(mean), bold=True, width=BOLD_LINE)
        ax.note((xs[0] - half, bottom + 2), f"mean of all examples: {number(whole)}", align="left")
        return ax.describe(
            f"A batch shared by {len(parts)} ranks",
            *message,
            f"The mean over the ranks is {number(mean)}, and every rank takes its step with it; "
            f"the mean of all examples is {number(whole)}",
        )

    return both_widths(draw)


def all_reduce(held: Tensor) -> Canvas:
    """Draw the two halves of an all-reduce; ``held`` is ``(R, R)``, the parts of each rank's tensor.

    Rank r receives the parts r of all others, adds them to its own, and sends the sum back.

    Example:
        >>> import torch
        >>> print(all_reduce(torch.tensor([[1.0, 4.0], [3.0, 2.0]])).get_label())
        An all-reduce by 2 ranks.
        Rank 0 has 1, 4; it sums part 1 of all ranks, 4, and ends with 4, 6.
        Rank 1 has 3, 2; it sums part 2 of all ranks, 6, and ends with 4, 6.
    """
    ranks, sums = range(len(held)), held.sum(0)
    ends = listed(sums, 0)
    message = [
        f"Rank {r} has {listed(held[r], 0)}; it sums part {r + 1} of all ranks, "
        f"{number(float(sums[r]), 0)}, and ends with {ends}"
        for r in ranks
    ]

    def draw(width: float) -> Canvas:
        xs, half = ((120, 330, 540), 38) if width == WIDE else ((44, 156, 268), 26)
        tall = PIECE * len(held)
        ax = canvas(width, 50 + (tall + 36) * len(held))

        def at(column: int, rank: int, piece: int) -> Point:
            return xs[column], 62 + (tall + 36) * rank + PIECE * (piece + 0.5)

        def put(place: Point, value: float, owner: int, edge: float = 1) -> None:
            size, bold = (2 * half, PIECE - 3), edge == BOLD_LINE
            ax.box(place, size, GROUNDS[owner], number(value, 0), bold=bold, width=edge)

        for i, name in enumerate(("reduce-scatter", "all-gather")):
            ax.say(((xs[i] + xs[i + 1]) / 2, 14), name, bold=True)
            ax.note(((xs[i] + xs[i + 1]) / 2, 34), ("send and sum", "send the sums")[i], "muted")
        for r in ranks:
            for x in xs:
                ax.note((x, at(0, r, 0)[1] - PIECE / 2 - 9), f"rank {r}")
            put(at(1, r, r), float(sums[r]), r, BOLD_LINE)
            for other in ranks:
                put(at(0, r, other), float(held[r, other]), r)
                put(at(2, r, other), float(sums[other]), other, BOLD_LINE)
                for start, end, sender in (
                    (at(0, other, r), at(1, r, r), other),
                    (at(1, r, r), at(2, other, r), r),
                ):
                    away = other != r
                    line = [(start[0] + half, start[1]), (end[0] - half, end[1])]
                    role = GROUNDS[sender] if away else "muted"
                    ax.wire(line, role, width=2.5 if away else 1, dashed=not away, over=away)
        return ax.describe(f"An all-reduce by {len(held)} ranks", *message)

    return both_widths(draw)


def exchanges(ways: Mapping[str, tuple[Tensor, ...]], sent: Mapping[str, str]) -> Canvas:
    """Draw what each of two ranks holds, and what a rank sends to the other in a step.

    A way to split them is boolean tensors: of the batch, ``(2, examples, positions)``, and of each
    of the two matrices of the model, ``(2, rows, columns)``. What is sent is named.

    Example:
        >>> import torch
        >>> own, all_of = torch.eye(2).bool(), torch.ones(2, 2, 2).bool()
        >>> ways = {"data": (own[:, :, None] & all_of, all_of, all_of)}
        >>> print(exchanges(ways, {"data": "gradients"}).get_label())
        What each of two ranks holds, and what it sends in a step. data: rank 0 holds 2 of 4 positions
        of the batch and 8 of 8 tiles of the model, rank 1 2 of 4 and 8 of 8. It sends gradients.
    """
    _, *first = next(iter(ways.values()))
    heights = [matrix.size(1) * TILE + PAD for matrix in first]  # the same in all ways
    tall = sum(heights) + PAD * (len(heights) - 1)

    def draw(width: float) -> Canvas:
        wide = width == WIDE
        above, pitch = (8, tall + 20) if wide else (34, tall + 46)  # pixels: over a way, of a way
        xs = ((118, 210), (514, 606)) if wide else ((34, 97), (215, 278))
        ax = canvas(width, 44 + pitch * len(ways))
        for rank, (left, right) in enumerate(xs):
            ax.say(((left + right) / 2, 12), f"rank {rank}", bold=True)
            ax.note((left, 33), "batch", "muted")
            ax.note((right, 33), "weights", "muted")
        for i, (name, (batch, *matrices)) in enumerate(ways.items()):
            top = 44 + pitch * i + above
            y = top + tall / 2
            for rank, (left, right) in enumerate(xs):
                _tiles(ax, (left, y), batch[rank], GROUNDS[rank])
                edge = top
                for index, matrix, height in zip("₁₂", matrices, heights, strict=True):
                    _tiles(ax, (right, edge + height / 2), matrix[rank], GROUNDS[rank])
                    if wide and i == 0:
                        at = right - matrix.size(2) * TILE / 2 - 8, edge + height / 2
                        ax.note(at, f"W{index}", "muted", align="right")
                    edge += height + PAD
            (start, end), what = (xs[0][1] + 38, xs[1][0] - 38), sent[name]
            ax.wire([((start + end) / 2, y), (end, y)], width=2)
            ax.wire([((start + end) / 2, y), (start, y)], width=2)
            ax.say((8, y) if wide else (4, top - 14), name, bold=True, align="left")
            if wide:
                ax.say(((start + end) / 2, y - 15), what)
            else:
                ax.note((width - 4, top - 14), what, align="right")
        message = [f"{_held(name, *way)}. It sends {sent[name]}" for name, way in ways.items()]
        return ax.describe("What each of two ranks holds, and what it sends in a step", *message)

    return both_widths(draw)


def _held(name: str, batch: Tensor, *matrices: Tensor) -> str:
    """Say what each of two ranks holds."""
    parts = [t.flatten(1) for t in (batch, torch.cat([m.flatten(1) for m in matrices], 1))]
    (a, c), (b, d) = ([f"{int(own.sum())} of {len(own)}" for own in part] for part in parts)
    first = f"{name}: rank 0 holds {a} positions of the batch and {b} tiles of the model"
    return f"{first}, rank 1 {c} and {d}"


def _tiles(ax: Canvas, at: Point, held: Tensor, ground: str) -> None:
    """Draw a box with a tile for each part that is held."""
    rows, columns = held.shape
    size = (columns * TILE + PAD, rows * TILE + PAD)
    ax.box(at, size, "residual", filled=False, width=0.8)
    for i, j in held.nonzero().tolist():
        place = (at[0] + (j - columns / 2) * TILE + 0.5, at[1] + (i - (rows - 1) / 2) * TILE)
        ax.hbar(place, TILE - 1, ground, thick=TILE - 1)
