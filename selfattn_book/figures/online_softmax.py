"""The softmax in one pass, as a film: what is kept of the keys so far, block by block."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book._arguments import check_integer
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    TEXT,
    Canvas,
    Point,
    canvas,
    for_desk_and_phone,
    listed,
    number,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_vector

MOST_KEYS = 8
BAR = 46  # pixels, of a share of 1
PITCH = 104  # pixels from one block to the next


@dataclass(frozen=True)
class _Frame:
    """What has been seen after a block, and what is kept of it."""

    fresh: int  # the first key of the block
    seen: int  # the keys so far
    shares: np.ndarray  # exp(score - highest), of the keys so far
    highest: float
    total: float
    mixture: float

    @property
    def mean(self) -> float:
        return self.mixture / self.total

    def message(self) -> str:
        kept = f"highest {number(self.highest)}, total {number(self.total)}"
        means = f"mixture {number(self.mixture)}, mean {number(self.mean)}"
        return f"After {self.seen} keys: shares {listed(self.shares)}; {kept}, {means}"


def online_softmax(scores: ArrayLike | Tensor, values: ArrayLike | Tensor, block: int) -> Canvas:
    r"""Draw how one query meets its keys block by block.

    After each block, with the highest score so far :math:`m`: the shares :math:`e^{s_j - m}`, their
    total, the mixture (the values times their shares), and the quotient of the last two, their mean.
    When a higher score comes, all earlier shares shrink.

    Args:
        scores: ``(S,)``, of one query; S is 2 to 8.
        values: ``(S,)``, a number for each key.
        block: how many keys are looked at together.

    Example:
        >>> ax = online_softmax([0.0, 1.0, 3.0], [10, 20, 30], block=2)
        >>> print(ax.get_label())
        The softmax in one pass over 3 keys, in blocks of 2. The values are 10, 20, 30.
        After 2 keys: shares 0.37, 1.00; highest 1.00, total 1.37, mixture 23.68, mean 17.31.
        After 3 keys: shares 0.05, 0.14, 1.00; highest 3.00, total 1.19, mixture 33.20, mean 28.02.
    """
    asked, given = as_vector("scores", scores), as_vector("values", values)
    block = check_integer("block", block, least=1)
    frames = _frames(asked, given, block)
    message = [frame.message() for frame in frames]

    def draw(width: float) -> Canvas:
        ax = canvas(width, 62 + PITCH * len(frames))
        _Film(ax, (asked, given), width == NARROW).draw(frames)
        opening = f"The softmax in one pass over {len(asked)} keys, in blocks of {block}"
        values = f"The values are {listed(given, 0)}"
        return ax.describe(opening, values, *message)

    return for_desk_and_phone(draw)


def _frames(scores: np.ndarray, values: np.ndarray, block: int) -> list[_Frame]:
    starts = range(0, len(scores), block)
    frames = []
    for start in starts:
        seen = min(start + block, len(scores))
        highest = float(scores[:seen].max())
        shares = np.exp(scores[:seen] - highest)
        total = float(shares.sum())
        mixture = float(shares @ values[:seen])
        frames.append(_Frame(start, seen, shares, highest, total, mixture))
    return frames


class _Film:
    """Where things stand on the sheet."""

    def __init__(self, ax: Canvas, row: tuple[np.ndarray, np.ndarray], narrow: bool) -> None:
        self.ax, (self.scores, self.values), self.narrow = ax, row, narrow
        scores = self.scores
        self.slot = (176 if narrow else 340) / len(scores)
        self.kept = 190 if narrow else 372  # where begins what is kept

    def draw(self, frames: list[_Frame]) -> None:
        across = len(self.scores) * self.slot
        heads = [(across / 2, "shares of the keys so far")]
        if self.narrow:
            heads = [(across / 2, "shares so far"), (self.kept + 60, "kept")]
        else:
            names = ("highest m", "total ℓ", "mixture u", "u / ℓ")
            heads += [(self.kept + 30 + 67 * i, n) for i, n in enumerate(names)]
        self.ax.titles(heads, 14)
        for i, frame in enumerate(frames):
            self._frame(frame, 36 + PITCH * i + BAR + 18)
        self._name_values(42 + PITCH * len(frames))

    def _name_values(self, low: float) -> None:
        for j, value in enumerate(self.values):
            name = f"{value:g}" if self.narrow else f"v = {value:g}"
            at = ((j + 0.5) * self.slot, low)
            self.ax.note(at, name, "value")
        end = (self.kept + 4, low)
        self.ax.note(end, "values", "value", align="left")

    def _frame(self, frame: _Frame, base: float) -> None:
        across = len(self.scores) * self.slot
        self.ax.line([(0, base), (across, base)])
        for j, score in enumerate(self.scores):
            x = (j + 0.5) * self.slot
            if j >= frame.seen:
                size = (0.62 * self.slot, 20)
                at = (x, base - 12)
                self.ax.box(at, size, "residual", filled=False, dashed=True, width=1)
                continue
            self._share((x, base), float(frame.shares[j]), fresh=j >= frame.fresh)
            name = f"s = {score:g}" if not self.narrow else f"s={score:g}"
            role = "ink" if j >= frame.fresh else "muted"
            bold = j >= frame.fresh
            self.ax.note((x, base + 14), name, role, bold=bold)
        self._keep(frame, base)

    def _share(self, at: Point, share: float, *, fresh: bool) -> None:
        x, base = at
        thick, high = 0.5 * self.slot, BAR * share
        if fresh:
            self.ax.vbar(at, high, "weights", thick=thick)
        elif high >= 1:
            self.ax.box((x, base - high / 2), (thick, high), "weights", width=1)
        above = (x, base - high - 9)
        self.ax.note(above, number(share), "weights")

    def _keep(self, frame: _Frame, base: float) -> None:
        kept = (
            ("highest", frame.highest, "ink"),
            ("total", frame.total, "weights"),
            ("mixture", frame.mixture, "value"),
            ("quotient", frame.mean, "context"),
        )
        for i, (name, value, role) in enumerate(kept):
            solid = i < len(kept) - 1  # the last one is not kept
            text, size = number(value), (60, 34)
            at = (self.kept + 30 + 67 * i, base - BAR / 2)
            if self.narrow:
                text, size = f"{name} {text}", (120, 20)
                at = (self.kept + 62, base - 52 + 24 * i)
            width = BOLD_LINE if solid and not self.narrow else 1
            letters = SMALL if self.narrow else TEXT
            self.ax.box(at, size, role, text, width=width, filled=solid, text_size=letters)
