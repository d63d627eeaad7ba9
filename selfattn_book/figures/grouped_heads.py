"""Which query heads attend with which key-value heads."""

from collections.abc import Sequence
from typing import Any

from selfattn_book.draw.canvas import Canvas
from selfattn_book.draw.scene import Node, column, label, note, part, row, show, slot
from selfattn_book.multi_head import MultiHeadAttention

HEAD = 26  # pixels


def grouped_heads(attentions: Sequence[MultiHeadAttention]) -> Canvas:
    """Draw for each attention its query heads, above the key-value heads that they share.

    Example:
        >>> print(grouped_heads([MultiHeadAttention(8, 4, num_kv_heads=2)]).get_label())
        4 query heads, 2 key-value heads: query heads 0, 1 use key-value head 0; query heads 2, 3 use
        key-value head 1. The cache stores 8 numbers per token.
    """

    def build(narrow: bool) -> Node:
        wide = 304 if narrow else 632 / len(attentions)
        return row(*(slot(_panel(attention), wide) for attention in attentions), gap=16 * narrow)

    return show(build)


def _panel(attention: MultiHeadAttention) -> Node:
    """Draw the heads of one attention."""
    heads, keys = attention.num_heads, attention.num_kv_heads
    times, step, shares = heads // keys, min(34, 280 / heads), []
    groups = row(gap=5)
    look: Any = {"width": min(HEAD, step - 5), "height": HEAD}
    for g in range(keys):
        queries = [part("q", "query", **look) for _ in range(times)]
        key, value = part("k", "key", **look), part("v", "value", **look)
        groups.nodes.append(column(row(*queries, gap=5), column(key, value, gap=0), gap=38))
        for query in queries:
            groups.link(query, key, "query", ends=((0.5, 1), (0.5, 0)), head=False)
        members = ", ".join(map(str, range(g * times, (g + 1) * times)))
        shares.append(f"query heads {members} use key-value head {g}")
    kept = f"The cache stores {2 * keys * attention.d_head} numbers per token"
    return column(
        label(
            "multi-head" if keys == heads else "multi-query" if keys == 1 else "grouped-query",
            bold=True,
        ),
        note(f"{heads} query heads", "muted"),
        groups,
        note(f"{keys} key-value head{'s' * (keys > 1)}", "muted"),
        gap=5,
        alt=f"{heads} query heads, {keys} key-value heads: {'; '.join(shares)}. {kept}",
    )
