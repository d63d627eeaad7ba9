"""The parts of several blocks side by side, read off the modules themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from selfattn_book.blocks import EncoderBlock, PreNormBlock
from selfattn_book.draw.canvas import Canvas, Point, canvas, for_desk_and_phone
from selfattn_book.draw.layout import WIDE
from selfattn_book.positions import PositionalEncoding

Named = Mapping[str, tuple[nn.Module, nn.Module | None]]
ROWS = ("positions", "norm", "norm position", "network", "heads", "biases")
NETWORKS = {
    ("relu", False): ("relu",),
    ("gelu_tanh", False): ("gelu",),
    ("silu", True): ("silu,", "gated"),
}
# Pixels: how high a cell is, from row to row, and above all rows.
CELL, STEP, TOP = 40, 52, 26


def block_designs(named: Named) -> Canvas:
    """Draw a column for each block, with what its parts are; what is new in a column stands out.

    Args:
        named: by name, a block, and the module that adds positions to what it reads, if any does.

    Example:
        >>> from selfattn_book.multi_head import MultiHeadAttention
        >>> norms = nn.RMSNorm(4), nn.RMSNorm(4)
        >>> from selfattn_book.feed_forward import FeedForward
        >>> network = FeedForward(4, 5, activation="silu", gated=True)
        >>> gpt = PreNormBlock(MultiHeadAttention(4, 2), network, norms)
        >>> old = EncoderBlock(4, 2), PositionalEncoding(4, max_len=9)
        >>> print(block_designs({"2017": old, "new": (gpt, nn.Embedding(9, 4))}).get_label())
        2017: positions, added, sines; norm, LayerNorm; norm position, after the sum; network, relu;
        heads, 2 of queries, 2 of keys; biases, yes. new: positions, added, learned; norm, RMSNorm; ...
    """
    columns = {name: _parts(*modules) for name, modules in named.items()}

    def draw(width: float) -> Canvas:
        on_desk = width == WIDE
        left, step = (100, STEP) if on_desk else (0, STEP + 18)
        ax = canvas(width, TOP + 6 + step * len(ROWS))
        room = (width - left) / len(columns)
        for c, name in enumerate(columns):
            ax.say((left + (c + 0.5) * room, 12), name, bold=True)
        for r, row in enumerate(ROWS):
            y = TOP + (r + 1) * step - STEP / 2  # the middle of the cells
            at, side = ((92, y), "right") if on_desk else ((4, y - 35), "left")
            ax.note(at, row, "muted", align=side)
            cells = [parts[r] for parts in columns.values()]
            _row(ax, (left, y), room, cells)
        return ax.describe(*_told(columns))

    return for_desk_and_phone(draw)


def _row(ax: Canvas, at: Point, room: float, cells: Sequence[Sequence[str]]) -> None:
    """Draw one part in all blocks."""
    for c, lines in enumerate(cells):
        new = c > 0 and cells[c - 1] != lines
        middle = (at[0] + (c + 0.5) * room, at[1])
        _cell(ax, middle, room - 8, lines, new=new)


def _cell(ax: Canvas, at: Point, width: float, lines: Sequence[str], *, new: bool) -> None:
    """Draw what a part is, in one line or two; a part that is new is filled."""
    ax.box(at, (width, CELL), "context" if new else "muted", filled=new)
    for i, line in enumerate(lines):
        y = at[1] + 16 * (i - (len(lines) - 1) / 2)
        ax.note((at[0], y), line, bold=new)


def _parts(block: nn.Module, positions: nn.Module | None) -> list[tuple[str, ...]]:
    """Say of each part of a block what it is."""
    norm: nn.Module
    if isinstance(block, EncoderBlock):
        norm, before = block.attention_residual.norm, block.attention_residual.norm_first
    elif isinstance(block, PreNormBlock):
        norm, before = block.attention_norm, True
    else:
        rule = "a block must be an EncoderBlock or a PreNormBlock"
        raise TypeError(f"{rule}; got {type(block).__name__}")
    attention: Any = block.attention
    network: Any = block.feed_forward
    heads = int(attention.num_heads)
    keys = int(attention.num_kv_heads)
    biased = any(isinstance(part, nn.Linear) and part.bias is not None for part in block.modules())
    return [
        _positions(block, positions),
        (type(norm).__name__,),
        ("before", "the part") if before else ("after", "the sum"),
        NETWORKS[network.activation, network.gate is not None],
        (f"{heads} of queries,", f"{keys} of keys"),
        ("yes",) if biased else ("none",),
    ]


def _positions(block: nn.Module, positions: nn.Module | None) -> tuple[str, ...]:
    if isinstance(positions, PositionalEncoding):
        return "added,", "sines"
    if isinstance(positions, nn.Embedding):
        return "added,", "learned"
    if getattr(block.attention, "rotary_base", None) is not None:
        return "queries and", "keys turned"
    rule = "positions must be sines, learned, or those of a rotation"
    raise TypeError(f"{rule}; got {type(positions).__name__}")


def _told(columns: Mapping[str, Sequence[Sequence[str]]]) -> list[str]:
    """Say what is drawn."""
    return [
        f"{name}: "
        + "; ".join(f"{row}, {' '.join(lines)}" for row, lines in zip(ROWS, parts, strict=True))
        for name, parts in columns.items()
    ]
