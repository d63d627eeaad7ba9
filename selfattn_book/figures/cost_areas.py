"""The multiply-adds of self-attention as areas: linear in the length, and quadratic."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, row, show, space

PARTS = (("Q", "query"), ("K", "key"), ("V", "value"), ("O", "context"))
GAP = 20  # pixels between lengths
TEXT = 132  # pixels of the text below a drawing


def cost_areas(lengths: Sequence[int], d_model: int) -> Canvas:
    """Draw the multiply-adds of a layer at two or three sequence lengths, all to one scale.

    Four projections take ``T D²``, the scores and the weighted sums ``T² D``. Divided by ``D``,
    these are areas: four rectangles of ``T`` by ``D``, and two squares of ``T`` by ``T``.

    Example:
        >>> print(cost_areas([100, 200], 100).get_label())
        Multiply-adds of one layer of dimension 100, as areas.
        Length 100: 4 million in the projections, 2 million in scores and weighted sums.
        Length 200: 8 million in the projections, 8 million in scores and weighted sums.
    """
    ratios = [length / d_model for length in lengths]
    wide = [4 + 2 * ratio for ratio in ratios]

    def build(narrow: bool) -> Node:
        room = 304 if narrow else 632 - GAP * (len(wide) - 1)
        unit = 304 / max(wide) if narrow else room / sum(wide)
        while not narrow and (over := sum(max(w * unit, TEXT) for w in wide) - room) > 0.5:
            unit -= over / (2 * sum(wide))
        nodes = []
        for length, ratio, across in zip(lengths, ratios, wide, strict=True):
            linear = f"{4 * length * d_model**2 / 1e6:,.0f}"
            quadratic = f"{2 * length**2 * d_model / 1e6:,.0f}"
            alt = (
                f"Length {length}: {linear} million in the projections, "
                f"{quadratic} million in scores and weighted sums"
            )
            look: Any = {"width": TEXT, "align": "left"}
            texts = column(
                label(f"T = {length:,} = {f'{ratio:g} ' * (ratio != 1)}D", bold=True, **look),
                label(f"linear: {linear} M", "muted", **look),
                label(f"quadratic: {quadratic} M", "weights", **look),
                gap=2,
            )
            area = space(across * unit, ratio * unit, partial(_layer, ratio, unit))
            nodes.append(column(area, texts, gap=8, align=0, alt=alt))
        if narrow:
            return column(*nodes, gap=GAP, align=0)
        return row(*nodes, gap=GAP, align=1)

    return show(build, f"Multiply-adds of one layer of dimension {d_model}, as areas")


def _layer(ratio: float, unit: float, ax: Canvas, middle: Point) -> None:
    """Draw the rectangles and the squares of one length."""
    high = ratio * unit
    left, y = middle[0] - (2 + ratio) * unit, middle[1]
    for i, (letter, role) in enumerate(PARTS):
        at = (left + (i + 0.5) * unit, y)
        ax.box(at, (unit, high), role, width=1)
        if unit >= 12 and high >= 12:
            ax.note(at, letter)
    for i, name in enumerate(("scores", "weighted sums")):
        x = left + 4 * unit + (i + 0.5) * high
        ax.box((x, y), (high, high), "weights", width=1)
        if high >= 110:
            ax.note((x, y - 9), name)
            ax.note((x, y + 9), "T × T")
