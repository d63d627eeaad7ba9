"""Losses of models as bars, the highest first."""

from collections.abc import Mapping

from selfattn_book.draw.canvas import Canvas, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW

NAMES, STEP = 232, 30  # pixels of the names beside the bars, and from bar to bar


def loss_bars(losses: Mapping[str, float], unit: str, *, networks: str = "Transformer") -> Canvas:
    """Draw named losses as horizontal bars from 0, the highest first.

    The models whose names contain ``networks`` have a color of their own.

    Example:
        >>> print(loss_bars({"3-gram": 1.5, "Transformer": 1.25}, "bits per character").get_label())
        Bits per character, the highest first: 3-gram 1.50, Transformer 1.25.
    """
    ordered = sorted(losses.items(), key=lambda item: -item[1])
    largest = max(losses.values())

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        left, step = (8, STEP + 14) if narrow else (NAMES, STEP)
        ax = canvas(width, step * len(ordered) + 8)
        for i, (name, loss) in enumerate(ordered):
            role = "value" if networks in name else "residual"
            y = step * (i + 1) - 10
            at = (left, y - 20) if narrow else (left - 10, y)
            ax.note(at, name, align="left" if narrow else "right", bold=networks in name)
            length = (width - left - 52) * loss / largest
            ax.hbar((left, y), length, role)
            ax.note((left + length + 8, y), number(loss), align="left")
        ends = ", ".join(f"{name} {number(loss)}" for name, loss in ordered)
        return ax.describe(f"{unit.capitalize()}, the highest first: {ends}")

    return both_widths(draw)
