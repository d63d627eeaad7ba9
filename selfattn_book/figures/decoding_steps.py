"""Prediction as a film: each output goes in at the next step, and the cache grows by one column."""

import numpy as np
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
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array

PITCH = 96  # pixels from one step to the next
TOP = 74  # to the middle of the first


def decoding_steps(
    points: Tensor | np.ndarray, weights: Tensor | np.ndarray, *, given: int = 1
) -> Canvas:
    """Draw prediction step by step, with what is kept of the steps before.

    Keys and values that are computed at a step are filled, and those that are kept are not.

    Args:
        points: ``(T + 1, 2)``, those that were given, then those that were predicted.
        weights: ``(T, T)``, of the query of each point but the last on the keys up to its own; T is
            at most 6.
        given: how many points there were to begin with; they go in at the first step.

    Example:
        >>> points = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
        >>> ax = decoding_steps(points, np.eye(3), given=2)
        >>> print(ax.get_label())
        Prediction as a film; each output goes in at the next step.
        Step 1: (-1.00, -1.00), (-1.00, 1.00) go in, the cache holds 2 keys with weights 0.00, 1.00,
        and (1.00, 1.00) comes out.
        Step 2: (1.00, 1.00) goes in, the cache holds 3 keys with weights 0.00, 0.00, 1.00,
        and (1.00, -1.00) comes out.
    """
    chain, shares = as_array(points), as_array(weights)
    message = []
    for step, t in enumerate(range(given - 1, len(shares)), start=1):
        new = chain[:given] if step == 1 else chain[t : t + 1]
        goes = "go" if len(new) > 1 else "goes"
        message.append(
            f"Step {step}: {', '.join(f'({listed(p)})' for p in new)} {goes} in, the cache "
            f"holds {t + 1} keys with weights {listed(shares[t, : t + 1])}, and "
            f"({listed(chain[t + 1])}) comes out"
        )

    def draw(width: float) -> Canvas:
        ax = canvas(width, TOP + PITCH * len(message) - 56)
        _Strip(ax, chain, shares, given, width == NARROW).draw()
        opening = "Prediction as a film; each output goes in at the next step"
        return ax.describe(opening, *message)

    return for_desk_and_phone(draw)


class _Strip:
    """Where things stand on the sheet."""

    def __init__(
        self, ax: Canvas, points: np.ndarray, weights: np.ndarray, given: int, narrow: bool
    ) -> None:
        self.ax, self.points, self.weights = ax, points, weights
        self.given, self.narrow, self.steps = given, narrow, len(weights)
        self.size = 44 if narrow else 64  # of a piece of paper
        self.left, self.right = (24, 288) if narrow else (44, 594)
        self.first, end = (54, 256) if narrow else (104, 532)
        self.column = (end - self.first) / self.steps

    def draw(self) -> None:
        cache = (self.first + self.right - self.size / 2 - 10) / 2
        heads = [(self.left, "goes in"), (cache, "cache"), (self.right, "comes out")]
        if self.narrow:
            heads = [(self.left + 2, "in"), (cache, "cache"), (self.right, "out")]
        self.ax.titles(heads, 16)
        for step, t in enumerate(range(self.given - 1, self.steps)):
            y, new = TOP + PITCH * step, self.given if step == 0 else 1
            self._paper((self.left, y), t + 1 - new, t + 1, "query")
            self._wires(y, last=t + 1 == self.steps)
            for s in range(self.steps):
                self._column(s, y, float(self.weights[t, s]), t, new)
            self._paper((self.right, y), 0, t + 2, "context")
        free = self.first + self.given * self.column, TOP - 26
        if not self.narrow and self.given < self.steps:
            self.ax.note(free, "weights", "weights", align="left")

    def _wires(self, y: float, *, last: bool) -> None:
        half = self.size / 2
        cache = self.first, self.first + self.steps * self.column - 6
        self.ax.wire([(self.left + half, y), (cache[0], y)], "query", width=2)
        self.ax.wire([(cache[1], y), (self.right - half, y)], "context", width=2)
        if not last:
            turn = y + 44
            back = [(self.right, y + half), (self.right, turn), (self.left, turn)]
            self.ax.wire([*back, (self.left, y + PITCH - half)], "context", width=2)

    def _column(self, s: int, y: float, weight: float, t: int, new: int) -> None:
        """Draw a key and a value, and the weight on them."""
        ax, wide = self.ax, self.column - 6
        x = self.first + s * self.column + wide / 2
        if s > t:  # it is not there yet
            for lower in (0, 24):
                at = (x, y - 8 + lower)
                ax.box(at, (wide, 20), "residual", filled=False, dashed=True, width=1)
            return
        self._kept(s, (x, y - 8), wide, fresh=s > t - new)
        left = x - wide / 2
        length = (wide if self.narrow else wide - 34) * weight
        ax.hbar((left, y - 26), length, "weights", thick=7)
        at = (left, y - 38) if self.narrow else (left + length + 4, y - 26)
        ax.note(at, number(weight), "weights", align="left")

    def _kept(self, s: int, at: Point, wide: float, *, fresh: bool) -> None:
        """Draw the key and the value of a point, bold where they are computed now."""
        for lower, role in ((0, "key"), (24, "value")):
            name = f"{role[0] if self.narrow else role + ' '}{s + 1}"
            self.ax.box(
                (at[0], at[1] + lower),
                (wide, 20),
                role,
                name,
                filled=fresh,
                bold=fresh,
                text_size=SMALL,
                width=BOLD_LINE if fresh else 1.0,
            )

    def _paper(self, at: Point, first: int, end: int, role: str) -> None:
        """Draw some of the points on a piece of paper, the last one in the colour of its role."""
        most = float(np.abs(self.points).max()) or 1.0
        scale = 0.36 * self.size / most
        places = [(at[0] + scale * x, at[1] - scale * y) for x, y in self.points[:end]]
        self.ax.box(at, (self.size, self.size), "residual", filled=False, width=1)
        if len(places[first:]) > 1:
            self.ax.wire(places[first:], "muted", head=False)
        for place in places[first:-1]:
            self.ax.disc(place, 3, "muted" if role == "context" else role)
        self.ax.disc(places[-1], 5, role)
