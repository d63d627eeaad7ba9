"""The parts of several blocks side by side, read from the modules themselves."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from torch import nn

from selfattn_book.blocks import EncoderBlock
from selfattn_book.draw.canvas import Canvas, Point
from selfattn_book.draw.scene import Node, column, label, note, row, show, slot, space
from selfattn_book.positions import PositionalEncoding

Named = Mapping[str, tuple[nn.Module, nn.Module | None]]
ROWS = ("positions", "norm", "norm position", "feed-forward", "heads", "biases")
NETWORKS = {
    ("relu", False): ("relu",),
    ("gelu_tanh", False): ("gelu",),
    ("silu", True): ("SwiGLU",),
}


def block_designs(named: Named) -> Canvas:
    """Draw a column of parts for each block; a part that is new in a column is filled.

    Each block comes with the module that adds positions to its input, if any.

    Example:
        >>> from selfattn_book.blocks import PreNormBlock
        >>> from selfattn_book.feed_forward import FeedForward
        >>> from selfattn_book.multi_head import MultiHeadAttention
        >>> norms = nn.RMSNorm(4), nn.RMSNorm(4)
        >>> network = FeedForward(4, 5, activation="silu", gated=True)
        >>> gpt = PreNormBlock(MultiHeadAttention(4, 2), network, norms)
        >>> old = EncoderBlock(4, 2), PositionalEncoding(4, max_len=9)
        >>> print(block_designs({"2017": old, "new": (gpt, nn.Embedding(9, 4))}).get_label())
        2017: positions, added, sines; norm, LayerNorm; norm position, after the sum; feed-forward,
        relu; heads, own keys and values; biases, yes. new: positions, added, learned; ...
    """
    parts = {name: _parts(*modules) for name, modules in named.items()}
    message = []
    for name, cells in parts.items():
        each = [f"{row_}, {' '.join(cell)}" for row_, cell in zip(ROWS, cells, strict=True)]
        message.append(f"{name}: {'; '.join(each)}")

    def build(narrow: bool) -> Node:
        wide = ((304 if narrow else 532) - 8 * len(parts)) / len(parts)
        heads = row(space(-8 if narrow else 92), *(slot(label(n, bold=True), wide) for n in parts))
        lines: list[Node] = [heads]
        for name, *cells in zip(ROWS, *parts.values(), strict=True):
            is_new = [False, *(one != other for one, other in pairwise(cells))]
            boxes = [_cell(c, wide, filled=new) for c, new in zip(cells, is_new, strict=True)]
            if narrow:
                lines.append(column(note(name, "muted"), row(*boxes), gap=2, align=0))
            else:
                lines.append(row(note(name, "muted", width=92, align="right"), *boxes))
        return column(*lines, gap=8 if narrow else 12)

    return show(build, *message)


def _cell(lines: Sequence[str], wide: float, *, filled: bool) -> Node:
    """Draw a part in one line of text or two."""

    def paint(ax: Canvas, at: Point) -> None:
        ax.box(at, (wide, 40), "context" if filled else "muted", filled=filled)
        for i, text in enumerate(lines):
            y = at[1] + 16 * (i - (len(lines) - 1) / 2)
            ax.note((at[0], y), text, bold=filled)

    return space(wide, 40, paint)


def _parts(block: Any, positions: nn.Module | None) -> list[tuple[str, ...]]:
    """Return a text for each row."""
    is_first = isinstance(block, EncoderBlock)
    norm = block.attention_residual.norm if is_first else block.attention_norm
    before = block.attention_residual.norm_first if is_first else True
    network, attention = block.feed_forward, block.attention
    biased = any(isinstance(part, nn.Linear) and part.bias is not None for part in block.modules())
    shared = attention.num_kv_heads < attention.num_heads
    added = "sines" if isinstance(positions, PositionalEncoding) else "learned"
    return [
        ("added,", added) if positions is not None else ("queries and", "keys rotated"),
        (type(norm).__name__,),
        ("before", "the sublayer") if before else ("after", "the sum"),
        NETWORKS[network.activation, network.gate is not None],
        ("shared keys" if shared else "own keys", "and values"),
        ("yes",) if biased else ("none",),
    ]
