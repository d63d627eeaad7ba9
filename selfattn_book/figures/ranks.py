"""Ranks that share a batch, and what each rank holds when a batch or a model is cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    listed,
    number,
)
from selfattn_book.draw.layout import WIDE

GROUNDS = ("word-0", "word-1", "word-2")  # one for each rank
ROW, GAP, TOP = 32, 18, 62  # pixels: an example, between ranks, above the first one
TILE, PAD = 9, 5  # pixels: what is held is drawn in tiles, in a box


@dataclass
class _Columns:
    """Where the columns lie, in pixels from the left edge, and how wide their boxes are."""

    example: float
    own: float
    mean: float
    step: float
    wide: float
    heads: tuple[str, str, str, str]


DESK = _Columns(62, 230, 396, 558, 74, ("gradients", "own mean", "mean over ranks", "step with"))
PHONE = _Columns(34, 118, 200, 277, 54, ("gradients", "own mean", "mean", "step with"))


def shared_batch(parts: Sequence[Tensor]) -> Canvas:
    r"""Draw how ranks, each with its part of a batch, come to one gradient.

    .. math:: \bar g = \frac1R \sum_r \frac1{n_r} \sum_{i \in r} g_i

    Args:
        parts: two or three of ``(N,)``: the gradient of each example, rank by rank; N is 1 to 4.

    Example:
        >>> import torch
        >>> ax = shared_batch([torch.tensor([-4.0, 2.0]), torch.tensor([4.0, 6.0])])
        >>> print(ax.get_label())
        A batch shared by 2 ranks.
        Rank 0 has examples with gradients -4.00, 2.00 and their mean -1.00.
        Rank 1 has examples with gradients 4.00, 6.00 and their mean 5.00.
        The mean over the ranks is 2.00, and every rank takes its step with it; the mean of all
        examples is 2.00.
    """
    sizes = [part.numel() for part in parts]
    means = [float(part.mean()) for part in parts]
    mean = sum(means) / len(means)
    whole = sum(float(part.sum()) for part in parts) / sum(sizes)

    def draw(width: float) -> Canvas:
        at = DESK if width == WIDE else PHONE
        ax = canvas(width, TOP + ROW * sum(sizes) + GAP * len(sizes) + 16)
        xs = (at.example, at.own, at.mean, at.step)
        ax.titles(list(zip(xs, at.heads, strict=True)), 14)
        _flow(ax, at, parts, mean)
        bottom = TOP + ROW * sum(sizes) + GAP * len(sizes) + 2
        note = f"mean of all examples: {number(whole)}"
        ax.note((at.example - at.wide / 2, bottom), note, align="left")
        return ax.describe(*_told(parts, means, mean, whole))

    return for_desk_and_phone(draw)


def _told(parts: Sequence[Tensor], means: Sequence[float], mean: float, whole: float) -> list[str]:
    """Say what a drawing of a shared batch shows."""
    each = [
        f"Rank {rank} has examples with gradients {listed(part)} and their mean {number(own)}"
        for rank, (part, own) in enumerate(zip(parts, means, strict=True))
    ]
    last = (
        f"The mean over the ranks is {number(mean)}, and every rank takes its step with it; "
        f"the mean of all examples is {number(whole)}"
    )
    return [f"A batch shared by {len(parts)} ranks", *each, last]


def _flow(ax: Canvas, at: _Columns, parts: Sequence[Tensor], mean: float) -> None:
    """Draw the parts, and what flows from them to the mean and back to the ranks."""
    tops = [TOP + ROW * sum(map(len, parts[:r])) + GAP * r for r in range(len(parts))]
    places = [top + ROW * (len(part) - 1) / 2 for top, part in zip(tops, parts, strict=True)]
    middle, half = (places[0] + places[-1]) / 2, at.wide / 2
    for rank, (top, y, part) in enumerate(zip(tops, places, parts, strict=True)):
        ground = GROUNDS[rank]
        for i, slope in enumerate(part.tolist()):
            place = (at.example, top + ROW * i)
            ax.wire([(place[0] + half, place[1]), (at.own - half, y)], ground)
            ax.box(place, (at.wide, ROW - 8), ground, number(slope))
        ax.wire([(at.own + half, y), (at.mean - half, middle)], ground, width=2.5)
        ax.wire([(at.mean + half, middle), (at.step - half, y)], width=2.5)
        own = (at.wide, ROW - 4)
        ax.box((at.own, y), own, ground, number(float(part.mean())), bold=True)
        ax.box((at.step, y), own, ground, number(mean), bold=True)
        for x in (at.own, at.step):
            ax.note((x, y - ROW / 2 - 7), f"rank {rank}")
    size = (at.wide, ROW + 4)
    ax.box((at.mean, middle), size, "ink", number(mean), bold=True, width=BOLD_LINE)


def holdings(ways: Mapping[str, tuple[Tensor, Tensor]]) -> Canvas:
    """Draw what each of two ranks holds of a batch and of a model, for several ways to cut them.

    Args:
        ways: for each, by name, what is held of the batch, ``(2, examples, positions)``, and of the
            model, ``(2, layers, width)``; boolean, at most 4 by 6.

    Example:
        >>> import torch
        >>> own = torch.eye(2).bool()
        >>> all_of = torch.ones(2, 2, 2).bool()
        >>> print(holdings({"data": (own[:, :, None] & all_of, all_of)}).get_label())
        What each of two ranks holds.
        data: rank 0 holds 2 of 4 places of the batch and 4 of 4 of the model, rank 1 2 of 4 and 4 of 4.
    """

    def draw(width: float) -> Canvas:
        across = min(len(ways), 5 if width == WIDE else 2)
        wide, high = width / across, 178
        ax = canvas(width, high * -(-len(ways) // across))
        for i, (name, pair) in enumerate(ways.items()):
            left, top = wide * (i % across), high * (i // across)
            _way(ax, (left + wide / 2, top), name, pair)
        message = (f"{name}: {_held(*pair)}" for name, pair in ways.items())
        return ax.describe("What each of two ranks holds", *message)

    return for_desk_and_phone(draw)


def _held(batch: Tensor, model: Tensor) -> str:
    """Say how much each rank holds."""
    counts = [
        [f"{int(table[rank].sum())} of {table[rank].numel()}" for rank in (0, 1)]
        for table in (batch, model)
    ]
    (a, c), (b, d) = counts
    first = f"rank 0 holds {a} places of the batch and {b} of the model"
    return f"{first}, rank 1 {c} and {d}"


def _way(ax: Canvas, at: Point, name: str, pair: tuple[Tensor, Tensor]) -> None:
    """Draw two ranks side by side, each with its tiles of the batch above those of the model."""
    x, top = at
    ax.say((x, top + 14), name, bold=True)
    rows = ((top + 66, "batch", pair[0]), (top + 130, "model", pair[1]))
    for y, what, table in rows:
        ax.note((x, y + 31), what, "muted")
        for rank in (0, 1):
            middle = x + (rank - 0.5) * 62
            _tiles(ax, (middle, y), table[rank], GROUNDS[rank])
            ax.note((middle, top + 36), f"rank {rank}")


def _tiles(ax: Canvas, at: Point, held: Tensor, ground: str) -> None:
    """Fill what is held, and leave open what is not."""
    rows, columns = held.shape
    size = (columns * TILE + PAD, rows * TILE + PAD)
    ax.box(at, size, "residual", filled=False, width=0.8)
    for i in range(rows):
        for j in range(columns):
            x = at[0] + (j - columns / 2) * TILE + 0.5
            y = at[1] + (i - (rows - 1) / 2) * TILE
            if held[i, j]:
                ax.hbar((x, y), TILE - 1, ground, thick=TILE - 1)
