"""Stacks of blocks along the residual stream, to which every part adds its output."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast

from torch import Tensor

from selfattn_book.blocks import EncoderBlock, EncoderStack
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed, number
from selfattn_book.draw.scene import Node, column, note, row, show, space

UNIT = 7  # pixels of the residual stream where the vectors have size 1
TOP, END = 52, 62  # pixels above the first block, and behind the last one
PART, PLUS = 76, 45  # pixels of a part with its norm, and down to its sum


def residual_stream(stacks: Mapping[str, EncoderStack], x: Tensor) -> Canvas:
    """Draw a pre-norm and a post-norm stack; a residual stream is as wide as its vectors are large.

    The size of the vectors ``(B, T, D)`` is their root mean square.

    Example:
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> norms = {"pre-norm": True, "post-norm": False}
        >>> stacks = {name: EncoderStack(1, 4, 2, norm_first=norms[name]) for name in norms}
        >>> x = torch.nn.functional.layer_norm(torch.randn(1, 3, 4), (4,))
        >>> print(residual_stream(stacks, x).get_label())
        Two stacks of 1 block along their residual streams.
        pre-norm: each norm is off the residual stream. Sizes along it: 1.00, 1.12, 1.31, after the
        final norm 1.00.
        post-norm: each norm is on the residual stream. Sizes along it: 1.00, 0.88, after the norm
        1.00, 0.93, after the norm 1.00.
    """
    streams = [_measure(name, stack, x) for name, stack in stacks.items()]
    depth = len(streams[0].sums) // 2

    def build(narrow: bool) -> Node:
        size = (152 if narrow else 312, TOP + 2 * PART * depth + END)
        nodes = [space(*size, partial(_draw, size, s), alt=s.sentence()) for s in streams]
        last = note("numbers and width: size of the vectors", "muted")
        return column(row(*nodes, gap=0), last, gap=4)

    return show(
        build, f"Two stacks of {depth} block{'s' * (depth > 1)} along their residual streams"
    )


@dataclass
class _Stream:
    """A stack, and the sizes along its residual stream."""

    name: str
    is_pre_norm: bool
    start: float
    sums: list[float]  # after the sum of each part
    normed: list[float]  # after each norm on the stream

    def sentence(self) -> str:
        side, way = "off", f"{listed(self.sums)}, after the final norm {number(self.normed[-1])}"
        if not self.is_pre_norm:
            pairs, side = zip(self.sums, self.normed, strict=True), "on"
            way = ", ".join(f"{number(y)}, after the norm {number(z)}" for y, z in pairs)
        sizes = f"Sizes along it: {number(self.start)}, {way}"
        return f"{self.name}: each norm is {side} the residual stream. {sizes}"


def _measure(name: str, stack: EncoderStack, x: Tensor) -> _Stream:
    """Measure the sizes along a stack."""
    blocks = list(cast("Iterable[EncoderBlock]", stack.blocks))
    stream = _Stream(name, blocks[0].attention_residual.norm_first, _size(x), [], [])
    for block in blocks:
        for residual in (block.attention_residual, block.feed_forward_residual):
            read = residual.before(x)
            is_first = residual is block.attention_residual
            change = block.attention(read, read, read)[0] if is_first else block.feed_forward(read)
            stream.sums.append(_size(x + change))
            x = residual.after(x, change)
            stream.normed.append(_size(x))
    if stream.is_pre_norm:
        stream.normed = [_size(stack.norm(x))]
    return stream


def _size(x: Tensor) -> float:
    return float(x.detach().square().mean().sqrt())


def _draw(size: Point, stream: _Stream, ax: Canvas, middle: Point) -> None:
    """Draw one stack from the top down."""
    left, top, narrow = middle[0] - size[0] / 2, middle[1] - size[1] / 2, size[0] < 200
    x = left + (42 if narrow else 82)
    ax.say((middle[0], top + 14), stream.name, bold=True)
    ax.say((x, top + 38), "x", bold=True)
    ax.note((x - 16, top + 38), number(stream.start), align="right")
    between = [stream.start, *(stream.sums if stream.is_pre_norm else stream.normed)]
    for i, before in enumerate(between[: len(stream.sums)]):
        y = top + TOP + PART * i
        plus = (x, y + PLUS)
        if i % 2 == 0:
            outer = (size[0] - 8, 2 * PART - 5)
            ax.box((middle[0], y + PART), outer, "residual", filled=False, order=1, width=0.8)
            at = (left + size[0] - 10, y + 2 * PART - 11)
            ax.note(at, f"block {i // 2 + 1}", "muted", align="right")
        _lane(ax, (x, y), PLUS, before)
        _branch(ax, (x + UNIT * before / 2, y), plus, i, stream.is_pre_norm, narrow=narrow)
        ax.note((x - 16, plus[1]), number(stream.sums[i]), align="right")
        ax.node(plus, "+", radius=9)
        if stream.is_pre_norm:
            _lane(ax, plus, PART - PLUS, stream.sums[i])
        else:
            _lane(ax, plus, 20, stream.sums[i])
            _lane(ax, (x, plus[1] + 20), PART - PLUS - 20, stream.normed[i])
            _norm(ax, (x, plus[1] + 20), stream.normed[i])
    y = after = top + TOP + PART * len(stream.sums)
    if stream.is_pre_norm:
        after = y + 22
        _lane(ax, (x, y), 22, stream.sums[-1])
        _norm(ax, (x, y + 20), stream.normed[-1])
    ax.wire([(x, after), (x, y + END - 12)], "residual", width=UNIT * stream.normed[-1])


def _branch(ax: Canvas, start: Point, plus: Point, i: int, norm: bool, *, narrow: bool) -> None:
    """Draw a part: its input leaves the stream to the right, and its output returns below."""
    (edge, y), (x, low), name = start, plus, "feed-forward" if i % 2 else "attention"
    if narrow:  # the norm is on top of the part, which is beside the sum
        aside, top = x + 64, low - (30 if norm else 12)
        ax.wire([(edge, y + 4), (aside, y + 4), (aside, top)])
        if norm:
            _norm(ax, (aside, low - 21))
        ax.box((aside, low), (82, 24), text=name, text_size=13)
        ax.wire([(aside - 41, low), (x + 9, low)])
        return
    aside, begin = x + 162, y + 17
    ax.wire([(edge, begin), (aside - 52, begin)])
    if norm:
        _norm(ax, (x + 60, begin))
    ax.box((aside, begin), (104, 25), text=name)
    ax.wire([(aside, begin + 12), (aside, low), (x + 9, low)])


def _lane(ax: Canvas, start: Point, length: float, size: float) -> None:
    end = (start[0], start[1] + length)
    ax.wire([start, end], "residual", width=UNIT * size, head=False)


def _norm(ax: Canvas, at: Point, size: float | None = None) -> None:
    """Draw a norm, with the size after it."""
    ax.box(at, (46, 18), text="norm", text_size=13, bold=True, width=BOLD_LINE)
    if size is not None:
        ax.note((at[0] + 30, at[1]), number(size), align="left")
