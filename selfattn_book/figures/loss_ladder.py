"""Where training runs end, on a ladder: each rung is the least loss of a model that knows less."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book.draw.canvas import (
    Canvas,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_vector

HIGH = 400  # pixels from the highest loss to the lowest
ROLES = ["query", "key", "value"]


def loss_ladder(
    ends: Mapping[str, ArrayLike | Tensor],
    heights: Mapping[str, float],
    *,
    below: tuple[str, float] | None = None,
) -> Canvas:
    """Draw the losses at which runs have ended beside a ladder of named losses, in powers of ten.

    The runs of one model stand side by side, sorted, the best one first.

    Args:
        ends: one to three names of models, and ``(seeds,)`` losses each.
        heights: names of rungs, and the loss of each.
        below: the name of a dashed line, and its loss.

    Example:
        >>> ax = loss_ladder({"plain": [0.3, 0.02]}, {"lost": 1.0, "floor": 0.01})
        >>> print(ax.get_label())
        A ladder, in powers of ten. Rungs: lost at 1.00, floor at 0.01.
        plain, 2 runs: 0.02, 0.30.
        >>> ax = loss_ladder({"plain": [0.3, 0.02]}, {"floor": 0.01}, below=("arrived", 0.05))
        >>> print(ax.get_label())
        A ladder, in powers of ten. Rungs: floor at 0.01.
        Dashed line: arrived below 0.05; of the runs, plain 1 of 2. plain, 2 runs: 0.02, 0.30.
    """
    losses = {name: np.sort(as_vector(name, values)) for name, values in ends.items()}
    least_and_most = _range(losses, heights)
    message = _told(losses, heights, below)

    def draw(width: float) -> Canvas:
        lines = max(len(name.split()) for name in losses) if width == NARROW else 1
        ax = canvas(width, HIGH + 56 + 16 * lines)
        ladder = _Ladder(ax, least_and_most, width)
        ladder.draw(losses, heights)
        if below:
            ladder.dash(*below)
        return ax.describe(*message)

    return for_desk_and_phone(draw)


def _range(losses: Mapping[str, np.ndarray], heights: Mapping[str, float]) -> tuple[float, float]:
    """Return the least loss and the greatest, of runs and rungs; refuse what fits on no ladder."""
    seen = np.concatenate([*losses.values(), list(heights.values())])
    least, most = float(seen.min()), float(seen.max())
    return least, most


def _told(
    losses: Mapping[str, np.ndarray], heights: Mapping[str, float], below: tuple[str, float] | None
) -> list[str]:
    """Say where the rungs are, the dashed line if there is one, and the runs."""
    ladder = ", ".join(f"{name} at {number(y)}" for name, y in heights.items())
    runs = [
        f"{name}, {len(values)} runs: {', '.join(map(number, values))}"
        for name, values in losses.items()
    ]
    return [
        "A ladder, in powers of ten",
        f"Rungs: {ladder}",
        *([_told_of_the_line(below, losses)] if below else []),
        *runs,
    ]


def _told_of_the_line(below: tuple[str, float], losses: Mapping[str, np.ndarray]) -> str:
    name, limit = below
    counts = [
        f"{model} {int((values < limit).sum())} of {len(values)}"
        for model, values in losses.items()
    ]
    return f"Dashed line: {name} below {number(limit)}; of the runs, {', '.join(counts)}"


class _Ladder:
    """Where things stand on the sheet."""

    def __init__(self, ax: Canvas, ends: tuple[float, float], width: float) -> None:
        self.ax, self.narrow = ax, width == NARROW
        self.least, self.most = np.log(ends[0]), np.log(ends[1])
        self.rails = (8, width - 8) if self.narrow else (176, width - 16)
        self.runs = (136 if self.narrow else 200, self.rails[1] - 12)

    def y(self, loss: float) -> float:
        share = (self.most - np.log(loss)) / max(self.most - self.least, 1e-9)
        return 44 + (HIGH - 24) * float(share)

    def dash(self, name: str, limit: float) -> None:
        y, (left, right) = self.y(limit), self.rails
        self.ax.line([(left, y), (right, y)], "ink", width=1.4, dashed=True)
        at = (left + 8, y - 10) if self.narrow else (left - 12, y)
        align = "left" if self.narrow else "right"
        text = f"{name} below {number(limit)}"
        self.ax.note(at, text, align=align)

    def draw(self, losses: Mapping[str, np.ndarray], heights: Mapping[str, float]) -> None:
        ax, (left, right) = self.ax, self.rails
        for x in self.rails:
            ax.wire([(x, 26), (x, HIGH + 38)], "residual", width=4, head=False)
        for name, loss in heights.items():
            y = self.y(loss)
            ax.wire([(left, y), (right, y)], "residual", width=3, head=False)
            at = (left + 8, y - 10) if self.narrow else (left - 12, y)
            align = "left" if self.narrow else "right"
            ax.note(at, f"{name}, {number(loss)}", align=align)
        ax.note((left, 10), "loss", "muted", align="left")
        first, end = self.runs
        wide = (end - first) / len(losses)
        for i, (name, values) in enumerate(losses.items()):
            middle = first + (i + 0.5) * wide
            for j, part in enumerate(name.split() if self.narrow else [name]):
                under = middle, HIGH + 54 + 16 * j
                ax.note(under, part, ROLES[i], bold=True)
            spread = np.linspace(-0.42, 0.42, len(values)) * wide
            for x, loss in zip(middle + spread, values, strict=True):
                ax.disc((float(x), self.y(loss)), 5, ROLES[i])
        if len(losses) > 1:
            for i in range(1, len(losses)):
                x = first + i * wide
                ax.line([(x, 30), (x, HIGH + 38)], "muted", width=0.8, dashed=True)
