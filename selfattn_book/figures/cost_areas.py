"""What a layer of self-attention multiplies, as areas: strips for projections, squares for scores."""

from collections.abc import Sequence
from typing import Any

from matplotlib.patches import Rectangle

from selfattn_book._arguments import check_integer
from selfattn_book.draw.canvas import Canvas, Point, canvas, for_desk_and_phone
from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import POINT

MOST = 10  # lengths, in times of the width; more would not fit on a page
PARTS = (("Q", "query"), ("K", "key"), ("V", "value"), ("O", "context"))
GAP = 20  # pixels between lengths


def cost_areas(lengths: Sequence[int], d_model: int) -> Canvas:
    """Draw the multiply-adds of a layer at several lengths, all to one scale.

    Four projections take ``T D²``, the scores and the weighted sums ``T² D``. Divided by ``D``, these
    are areas: four strips of ``T`` by ``D``, and two squares of ``T`` by ``T``.

    Args:
        lengths: two or three, each at most ten times the width.
        d_model: the width, ``D``.

    Example:
        >>> ax = cost_areas([100, 200], 100)
        >>> print(ax.get_label())
        Multiply-adds of one layer of width 100, as areas.
        Length 100: 4 million in the projections, 2 million in scores and weighted sums.
        Length 200: 8 million in the projections, 8 million in scores and weighted sums.
    """
    width = check_integer("d_model", d_model, least=1)
    lengths = [check_integer("length", length, least=1) for length in lengths]
    message = [
        f"Length {length}: {strips} million in the projections, "
        f"{squares} million in scores and weighted sums"
        for length in lengths
        for strips, squares in [_millions(length, width)]
    ]

    def draw(sheet: float) -> Canvas:
        ratios = [length / width for length in lengths]
        lines = [_lines(length, width) for length in lengths]
        ax = (_on_desk if sheet == WIDE else _on_phone)(ratios, lines)
        opening = f"Multiply-adds of one layer of width {width}, as areas"
        return ax.describe(opening, *message)

    return for_desk_and_phone(draw)


def _millions(length: int, width: int) -> tuple[str, str]:
    parts = 4 * length * width**2, 2 * length**2 * width
    strips, squares = (f"{part / 1e6:,.0f}" for part in parts)
    return strips, squares


def _lines(length: int, width: int) -> tuple[str, str, str]:
    strips, squares = _millions(length, width)
    times = f"{length / width:g} D" if length != width else "D"
    return (f"T = {length:,} = {times}", f"strips: {strips} M", f"squares: {squares} M")


def _on_desk(ratios: list[float], lines: list[tuple[str, str, str]]) -> Canvas:
    """Side by side, on one base line."""
    wide = [4 + 2 * ratio for ratio in ratios]
    # A narrow one still needs room for its words.
    unit = (WIDE - GAP * (len(ratios) - 1)) / sum(wide)
    while (over := _width(wide, unit) - WIDE) > 0.5:
        unit -= over / (2 * sum(wide))
    base = unit * max(ratios) + 8
    ax, x = canvas(WIDE, base + 72), 0.0
    for ratio, across, text in zip(ratios, wide, lines, strict=True):
        _layer(ax, (x, base), ratio, unit)
        for i, line in enumerate(text):
            role = ("ink", "muted", "weights")[i]
            ax.say((x, base + 18 + 20 * i), line, role, align="left", bold=i == 0)
        x += max(across * unit, ROOM) + GAP
    return ax


ROOM = 132  # pixels, for the words below a drawing


def _width(wide: list[float], unit: float) -> float:
    return sum(max(w * unit, ROOM) for w in wide) + GAP * (len(wide) - 1)


def _on_phone(ratios: list[float], lines: list[tuple[str, str, str]]) -> Canvas:
    """One below the other."""
    unit = 312 / max(4 + 2 * ratio for ratio in ratios)
    heights = [unit * ratio for ratio in ratios]
    ax, y = canvas(312, sum(heights) + 84 * len(ratios)), 0.0
    for ratio, height, text in zip(ratios, heights, lines, strict=True):
        _layer(ax, (0, y + height + 2), ratio, unit)
        for i, line in enumerate(text):
            role = ("ink", "muted", "weights")[i]
            at = (0, y + height + 18 + 19 * i)
            ax.say(at, line, role, align="left", bold=i == 0)
        y += height + 84
    return ax


def _layer(ax: Canvas, corner: Point, ratio: float, unit: float) -> None:
    """Draw the strips and the squares of one length, up from a lower left corner."""
    (x, base), high = corner, ratio * unit
    for i, (letter, role) in enumerate(PARTS):
        _area(ax, (x + i * unit, base - high), (unit, high), role)
        if unit >= 12 and high >= 12:
            middle = (x + (i + 0.5) * unit, base - high / 2)
            ax.note(middle, letter)
    for i, name in enumerate(("scores", "weighted sums")):
        left = x + 4 * unit + i * high
        _area(ax, (left, base - high), (high, high), "weights")
        if high >= 110:
            ax.note((left + high / 2, base - high / 2 - 9), name)
            ax.note((left + high / 2, base - high / 2 + 9), "T × T")


def _area(ax: Canvas, corner: Point, size: Point, role: str) -> None:
    look: Any = {"facecolor": light(f"{role}-tint"), "edgecolor": light(role)}
    ax.add_patch(Rectangle(corner, *size, linewidth=1 / POINT, zorder=3, **look))
