"""Which heads of queries look at which heads of keys and values."""

from collections.abc import Sequence

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone
from selfattn_book.draw.layout import WIDE
from selfattn_book.multi_head import MultiHeadAttention

PANEL = 196  # pixels: how high one attention is drawn
HEAD = 26


def grouped_heads(attentions: Sequence[MultiHeadAttention]) -> Canvas:
    """Draw for each attention its heads of queries, above the heads of keys and values that they share.

    Args:
        attentions: one to three, each with at most 8 heads.

    Example:
        >>> ax = grouped_heads([MultiHeadAttention(8, 4, num_kv_heads=2)])
        >>> print(ax.get_label())
        4 heads of queries, 2 of keys and values: queries 0, 1 look at keys 0; queries 2, 3 look at
        keys 1. 8 numbers are kept for each word.
    """
    sizes = [attention.num_heads for attention in attentions]

    def draw(width: float) -> Canvas:
        across = len(sizes) if width == WIDE else 1
        room = width / across
        ax = canvas(width, PANEL * (len(sizes) // across))
        for i, attention in enumerate(attentions):
            column, row = (i, 0) if across > 1 or len(sizes) == 1 else (0, i)
            _panel(ax, (column * room, row * PANEL), room, attention)
        return ax.describe(*(part for one in attentions for part in _told(one)))

    return for_desk_and_phone(draw)


def _panel(
    ax: Canvas, corner: tuple[float, float], room: float, attention: MultiHeadAttention
) -> None:
    """Draw one attention: queries above, keys and values below, and who looks at whom."""
    (left, top), heads = corner, attention.num_heads
    step = min(34.0, (room - 24) / heads)
    size = (min(HEAD, step - 5), HEAD)
    middle = left + room / 2
    places = [middle + step * (h - (heads - 1) / 2) for h in range(heads)]
    ax.say((middle, top + 14), _name(attention), bold=True)
    ax.note((middle, top + 36), f"{heads} of queries", "muted")
    for group in _groups(attention):
        x = sum(places[h] for h in group) / len(group)
        for h in group:
            ax.box((places[h], top + 60), size, "query", "q")
            ax.wire([(places[h], top + 74), (x, top + 112)], "query", head=False)
        ax.box((x, top + 124), size, "key", "k")
        ax.box((x, top + 124 + HEAD), size, "value", "v")
    keys = f"{attention.num_kv_heads} of keys, {attention.num_kv_heads} of values"
    ax.note((middle, top + 178), keys, "muted")


def _name(attention: MultiHeadAttention) -> str:
    if attention.num_kv_heads == attention.num_heads:
        return "multi-head"
    return "multi-query" if attention.num_kv_heads == 1 else "grouped"


def _groups(attention: MultiHeadAttention) -> list[list[int]]:
    """Return which heads of queries share each head of keys."""
    times = attention.num_heads // attention.num_kv_heads
    return [list(range(g * times, (g + 1) * times)) for g in range(attention.num_kv_heads)]


def _told(attention: MultiHeadAttention) -> tuple[str, str]:
    heads, keys = attention.num_heads, attention.num_kv_heads
    looks = "; ".join(
        f"queries {', '.join(map(str, group))} look at keys {g}"
        for g, group in enumerate(_groups(attention))
    )
    kept = 2 * keys * attention.d_head
    return (
        f"{heads} heads of queries, {keys} of keys and values: {looks}",
        f"{kept} numbers are kept for each word",
    )
