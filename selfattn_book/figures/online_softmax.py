"""The softmax in one pass, as a film: what is kept of the keys so far, block by block."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import Numbers, as_array

BAR = 46  # pixels, of an exponential of 1
PITCH = 104  # pixels from one block to the next
KEPT = {"highest": "ink", "normalizer": "weights", "accumulator": "value", "quotient": "context"}
SIGNS = ("m", "ℓ", "u", "u / ℓ")


def online_softmax(scores: Numbers, values: Numbers, block_size: int) -> Canvas:
    """Draw how one query processes its keys block by block, given its scores and values ``(S,)``.

    After each block, with the highest score so far :math:`m`: unnormalized weights :math:`e^{s_j - m}`,
    the normalizer (their sum), the accumulator (the sum of the values times them), and the quotient
    of the last two, the mean. When a higher score comes, all earlier weights shrink.

    Example:
        >>> print(online_softmax([0.0, 1.0, 3.0], [10, 20, 30], block_size=2).get_label())
        The softmax in one pass over 3 keys, in blocks of 2. The values are 10, 20, 30.
        After 2 keys: unnormalized weights 0.37, 1.00; highest 1.00, normalizer 1.37, accumulator
        23.68, mean 17.31. After 3 keys: unnormalized weights 0.05, 0.14, 1.00; highest 3.00,
        normalizer 1.19, accumulator 33.20, mean 28.02.
    """
    s, v = as_array(scores), as_array(values)
    message, frames = [], []
    for start in range(0, len(s), block_size):
        seen = min(start + block_size, len(s))
        highest = s[:seen].max()
        parts = np.exp(s[:seen] - highest)
        normalizer, accumulator = parts.sum(), parts @ v[:seen]
        kept = [number(n) for n in (highest, normalizer, accumulator, accumulator / normalizer)]
        names = ", ".join(map(" ".join, zip((*list(KEPT)[:3], "mean"), kept, strict=True)))
        message.append(f"After {seen} keys: unnormalized weights {listed(parts)}; {names}")
        frames.append((start, parts.tolist(), kept))

    def draw(width: float) -> Canvas:
        narrow, across, left = width == NARROW, 340, 372  # what is kept begins on the left
        if narrow:
            across, left = 176, 190
        ax = canvas(width, 62 + PITCH * len(frames))
        heads = [(left + 30 + 67 * i, text) for i, text in enumerate(SIGNS)]
        first = "unnormalized weights" if narrow else "unnormalized weights so far"
        for x, text in [(across / 2, first), *([(left + 60, "kept")] if narrow else heads)]:
            ax.say((x, 14), text, "muted", bold=True)
        for i, (start, parts, kept) in enumerate(frames):
            base = 36 + PITCH * i + BAR + 18
            ax.line([(0, base), (across, base)])
            _keys(ax, base, across / len(s), s, start, parts)
            _kept(ax, left, base, kept, narrow=narrow)
        low = 42 + PITCH * len(frames)
        for j, value in enumerate(v):
            text = f"{value:g}" if narrow else f"v = {value:g}"
            ax.note(((j + 0.5) * across / len(s), low), text, "value")
        ax.note((left + 4, low), "values", "value", align="left")
        opening = f"The softmax in one pass over {len(s)} keys, in blocks of {block_size}"
        return ax.describe(opening, f"The values are {listed(v, 0)}", *message)

    return both_widths(draw)


def _keys(
    ax: Canvas, base: float, slot: float, scores: np.ndarray, start: int, parts: list[float]
) -> None:
    """Draw the unnormalized weights so far, those of the last block filled."""
    equals = "=" if slot < 30 else " = "
    for j, score in enumerate(scores):
        x, is_new = (j + 0.5) * slot, j >= start
        if j >= len(parts):
            look: Any = {"filled": False, "dashed": True}
            ax.box((x, base - 12), (0.62 * slot, 20), "residual", width=1, **look)
            continue
        high = BAR * parts[j]
        if is_new:
            ax.vbar((x, base), high, "weights", thick=0.5 * slot)
        elif high >= 1:
            ax.box((x, base - high / 2), (0.5 * slot, high), "weights", width=1)
        ax.note((x, base - high - 9), number(parts[j]), "weights")
        role = "ink" if is_new else "muted"
        ax.note((x, base + 14), f"s{equals}{score:g}", role, bold=is_new)


def _kept(ax: Canvas, left: float, base: float, kept: Sequence[str], *, narrow: bool) -> None:
    """Draw what is kept after a block, beside each other or one below the other."""
    for i, ((name, role), sign, text) in enumerate(zip(KEPT.items(), SIGNS, kept, strict=True)):
        is_kept = name != "quotient"
        if narrow:
            at = (left + 62, base - 52 + 24 * i)
            look: Any = {"text_size": 13, "width": 1, "filled": is_kept}
            ax.box(at, (120, 20), role, f"{sign} = {text}", **look)
        else:
            at = (left + 30 + 67 * i, base - BAR / 2)
            ax.box(at, (60, 34), role, text, width=BOLD_LINE if is_kept else 1, filled=is_kept)
