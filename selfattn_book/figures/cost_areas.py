"""The FLOPs of self-attention as areas: linear in the length, and quadratic."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, note, row, show, space

PARTS = (("Q", "query"), ("K", "key"), ("V", "value"), ("O", "context"))
GAP = 20  # pixels between lengths
TEXT = 132  # pixels of the text below a drawing
ROW = 5  # pixels: the row of one token


def cost_areas(lengths: Sequence[int], d_model: int) -> Canvas:
    """Draw the FLOPs of a layer at two or three sequence lengths, all to one scale.

    Four projections take ``2 T D²`` each, the scores and the weighted sums ``2 T² D``. Divided by
    ``2 D``, these are areas: four rectangles of ``T`` by ``D``, and two squares of ``T`` by ``T``.
    They are counted in squares of ``D`` by ``D``.

    Example:
        >>> print(cost_areas([100, 200], 100).get_label())
        FLOPs of one layer of dimension 100, as areas.
        Length 100: 4 squares of projections, 2 squares of scores and weighted sums.
        Length 200: 8 squares of projections, 8 squares of scores and weighted sums.
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
            linear, quadratic = f"{4 * ratio:g} squares", f"{2 * ratio**2:g} squares"
            alt = (
                f"Length {length}: {linear} of projections, {quadratic} of scores and weighted sums"
            )
            look: Any = {"width": TEXT, "align": "left"}
            texts = column(
                label(f"T = {length:,} = {f'{ratio:g} ' * (ratio != 1)}D", bold=True, **look),
                label(f"linear: {linear}", "muted", **look),
                label(f"quadratic: {quadratic}", "weights", **look),
                gap=2,
            )
            area = space(across * unit, ratio * unit, partial(_layer, ratio, unit))
            nodes.append(column(area, texts, gap=8, align=0, alt=alt))
        if narrow:
            return column(*nodes, gap=GAP, align=0)
        return row(*nodes, gap=GAP, align=1)

    return show(build, f"FLOPs of one layer of dimension {d_model}, as areas")


def next_token_areas(length: int, d_model: int) -> Canvas:
    """Draw the FLOPs of a layer in prefill, and those of the last token in decode.

    The areas are those of ``cost_areas``. In decode, only the last row of each is computed; the other
    rows of keys and values are in the cache.

    Example:
        >>> print(next_token_areas(200, 100).get_label())
        FLOPs of one layer of dimension 100 for 200 tokens, as areas.
        Prefill: all rows of projections, scores and weighted sums, 16 squares.
        Next token: the last row of each, 1/200 of the prefill; the other keys and values are cached.
    """
    ratio = length / d_model
    works = f"{4 * ratio + 2 * ratio**2:g} squares", f"1/{length:,} of the prefill"
    alts = (
        f"Prefill: all rows of projections, scores and weighted sums, {works[0]}",
        f"Next token: the last row of each, {works[1]}; the other keys and values are cached",
    )

    def build(narrow: bool) -> Node:
        unit = (300 if narrow else 290) / (4 + 2 * ratio)
        nodes = []
        for is_next, alt in enumerate(alts):
            texts = (
                label(("prefill", f"token {length:,}, in decode")[is_next], bold=True, width=200),
                note(works[is_next], "muted"),
            )
            paint = partial(_layer, ratio, unit, last=bool(is_next))
            area = space((4 + 2 * ratio) * unit, ratio * unit, paint)
            nodes.append(column(texts[0], area, texts[1], gap=6, alt=alt))
        return (column if narrow else row)(*nodes, gap=GAP)

    opening = f"FLOPs of one layer of dimension {d_model} for {length} tokens, as areas"
    return show(build, opening)


def _layer(ratio: float, unit: float, ax: Canvas, middle: Point, *, last: bool = False) -> None:
    """Draw the rectangles and the squares of one length, or of each only the last row."""
    high = ratio * unit
    left, y = middle[0] - (2 + ratio) * unit, middle[1]

    def area(x: float, wide: float, role: str, *, is_cached: bool = False) -> None:
        look: Any = {"filled": is_cached, "dashed": not is_cached} if last else {}
        ax.box((x, y), (wide, high), role, width=1, **look)
        if last:
            ax.hbar((x - wide / 2, y + (high - ROW) / 2), wide, role, thick=ROW)

    for i, (letter, role) in enumerate(PARTS):
        x = left + (i + 0.5) * unit
        area(x, unit, role, is_cached=letter in "KV")
        if unit >= 12 and high >= 12:
            ax.note((x, y), letter)
    for i, name in enumerate(("scores", "weighted sums")):
        x = left + 4 * unit + (i + 0.5) * high
        area(x, high, "weights")
        words = [name, "T × T"] if high >= 110 else name.split()
        for j, text in enumerate(words if high >= 64 else []):
            ax.note((x, y + 18 * (j - (len(words) - 1) / 2)), text)
