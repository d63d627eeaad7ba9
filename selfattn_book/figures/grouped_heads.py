"""Which query heads attend with which key-value heads."""

from collections.abc import Sequence
from functools import partial

from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, row, show, space
from selfattn_book.multi_head import MultiHeadAttention

HEAD, PANEL = 26, 184  # pixels: a head, and the height of a panel


def grouped_heads(attentions: Sequence[MultiHeadAttention]) -> Canvas:
    """Draw for each attention its query heads, above the key-value heads that they share.

    Example:
        >>> print(grouped_heads([MultiHeadAttention(8, 4, num_kv_heads=2)]).get_label())
        4 query heads, 2 key-value heads: query heads 0, 1 use key-value head 0; query heads 2, 3 use
        key-value head 1. The cache stores 8 numbers per token.
    """
    panels = []
    for attention in attentions:
        heads, keys = attention.num_heads, attention.num_kv_heads
        times = heads // keys
        groups = [list(range(g * times, (g + 1) * times)) for g in range(keys)]
        shares = [
            f"query heads {', '.join(map(str, group))} use key-value head {g}"
            for g, group in enumerate(groups)
        ]
        kept = f"The cache stores {2 * keys * attention.d_head} numbers per token"
        opening = f"{heads} query heads, {keys} key-value heads"
        panels.append((partial(_panel, groups), f"{opening}: {'; '.join(shares)}. {kept}"))

    def build(narrow: bool) -> Node:
        wide = 304 if narrow else 632 / len(panels)
        nodes = [space(wide, PANEL, draw, alt=alt) for draw, alt in panels]
        return row(*nodes, gap=16 * narrow)

    return show(build)


def _panel(groups: Sequence[Sequence[int]], ax: Canvas, at: Point) -> None:
    """Draw the heads of one attention."""
    (middle, top), keys, heads = (at[0], at[1] - PANEL / 2), len(groups), sum(map(len, groups))
    name = "multi-head" if keys == heads else "multi-query" if keys == 1 else "grouped-query"
    ax.say((middle, top + 10), name, bold=True)
    ax.note((middle, top + 32), f"{heads} query heads", "muted")
    step = min(34, 280 / heads)
    size = (min(HEAD, step - 5), HEAD)
    for group in groups:
        xs = [middle + step * (h - (heads - 1) / 2) for h in group]
        x = sum(xs) / len(xs)
        for place in xs:
            ax.box((place, top + 56), size, "query", "q")
            ax.wire([(place, top + 70), (x, top + 108)], "query", head=False)
        ax.box((x, top + 120), size, "key", "k")
        ax.box((x, top + 120 + HEAD), size, "value", "v")
    ax.note((middle, top + 174), f"{keys} key-value head{'s' * (keys > 1)}", "muted")
