"""Stacks of blocks along the residual stream, to which every part adds its output."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from torch import Tensor

from selfattn_book.blocks import EncoderBlock, EncoderStack, ResidualConnection
from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, listed, number
from selfattn_book.draw.scene import Node, column, note, show, space
from selfattn_book.draw.scene import row as in_row
from selfattn_book.draw.sheet import SMALL

UNIT = 7  # pixels of the residual stream where the vectors have size 1
TOP = 52  # pixels above the first block
END = 62  # pixels behind the last block
PART = 76  # pixels of a part, with its norm
PLUS = 45  # pixels down to its sum


def residual_stream(stacks: Mapping[str, EncoderStack], x: Tensor) -> Canvas:
    r"""Draw two stacks side by side; the residual stream is as wide as its vectors are large.

    The size of the vectors is their root mean square:

    .. math:: \operatorname{size}(x) = \sqrt{\tfrac{1}{B T D} \sum_{btj} x_{btj}^2}

    Args:
        stacks: a pre-norm and a post-norm stack by name, with the same number of blocks.
        x: ``(B, T, D)``, input of both.

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
    opening = f"Two stacks of {depth} block{'s' * (depth > 1)} along their residual streams"

    def build(narrow: bool) -> Node:
        size = (152 if narrow else 312, TOP + 2 * PART * depth + END)
        nodes = [space(*size, partial(_draw, size, s), alt=s.sentence()) for s in streams]
        says = note("numbers and width: size of the vectors", "muted")
        return column(in_row(*nodes, gap=0), says, gap=4)

    return show(build, opening)


@dataclass
class _Stream:
    """A stack, and the sizes along its residual stream."""

    name: str
    is_pre_norm: bool
    start: float
    sums: list[float]  # after the sum of each part
    normed: list[float]  # after each norm on the stream

    @property
    def between(self) -> list[float]:
        """The sizes from part to part."""
        return [self.start, *(self.sums if self.is_pre_norm else self.normed)]

    def sentence(self) -> str:
        if self.is_pre_norm:
            place = "off the residual stream"
            way = f"{listed(self.sums)}, after the final norm {number(self.normed[-1])}"
        else:
            place = "on the residual stream"
            pairs = zip(self.sums, self.normed, strict=True)
            way = ", ".join(f"{number(y)}, after the norm {number(z)}" for y, z in pairs)
        return f"{self.name}: each norm is {place}. Sizes along it: {number(self.start)}, {way}"


def _measure(name: str, stack: EncoderStack, x: Tensor) -> _Stream:
    """Measure the sizes along a stack."""
    blocks = list(cast("Iterable[EncoderBlock]", stack.blocks))
    stream = _Stream(name, blocks[0].attention_residual.norm_first, _size(x), [], [])
    for block in blocks:
        read = block.attention_residual.before(x)
        x = _add(block.attention_residual, x, block.attention(read, read, read)[0], stream)
        change = block.feed_forward(block.feed_forward_residual.before(x))
        x = _add(block.feed_forward_residual, x, change, stream)
    if stream.is_pre_norm:
        stream.normed.append(_size(stack.norm(x)))
    return stream


def _add(residual: ResidualConnection, x: Tensor, change: Tensor, stream: _Stream) -> Tensor:
    """Return the next vectors of the stream, and store the sizes after the sum and its norm."""
    y = residual.after(x, change)
    stream.sums.append(_size(x + change))
    if not residual.norm_first:
        stream.normed.append(_size(y))
    return y


def _size(x: Tensor) -> float:
    return float(x.detach().square().mean().sqrt())


def _draw(size: Point, stream: _Stream, ax: Canvas, middle: Point) -> None:
    """Draw one stack from the top down."""
    left, top = middle[0] - size[0] / 2, middle[1] - size[1] / 2
    x = left + (42 if size[0] < 200 else 82)
    ax.say((middle[0], top + 14), stream.name, bold=True)
    ax.say((x, top + 38), "x", bold=True)
    ax.note((x - 16, top + 38), number(stream.start), align="right")
    for i in range(len(stream.sums)):
        y = top + TOP + PART * i
        if i % 2 == 0:
            outer = (size[0] - 8, 2 * PART - 5)
            ax.box((middle[0], y + PART), outer, "residual", filled=False, order=1, width=0.8)
            at = (left + size[0] - 10, y + 2 * PART - 11)
            ax.note(at, f"block {i // 2 + 1}", "muted", align="right")
        _part(ax, (x, y), stream, i, narrow=size[0] < 200)
    y = after = top + TOP + PART * len(stream.sums)
    if stream.is_pre_norm:
        after = y + 22
        _lane(ax, x, (y, after), stream.sums[-1])
        _norm(ax, (x, y + 20), stream.normed[-1])
    ax.wire([(x, after), (x, y + END - 12)], "residual", width=UNIT * stream.normed[-1])


def _part(ax: Canvas, start: Point, stream: _Stream, i: int, *, narrow: bool) -> None:
    """Draw a part beside the stream, its input and output, and the stream to the next part."""
    (x, y), size, total = start, stream.between[i], stream.sums[i]
    plus, end = y + PLUS, y + PART
    _lane(ax, x, (y, plus), size)
    _branch(ax, (x, y), i, norm=stream.is_pre_norm, edge=x + UNIT * size / 2, narrow=narrow)
    ax.note((x - 16, plus), number(total), align="right")
    ax.node((x, plus), "+", radius=9)
    if stream.is_pre_norm:
        _lane(ax, x, (plus, end), total)
    else:
        _lane(ax, x, (plus, plus + 20), total)
        _lane(ax, x, (plus + 20, end), stream.normed[i])
        _norm(ax, (x, plus + 20), stream.normed[i])


def _branch(ax: Canvas, start: Point, i: int, *, norm: bool, edge: float, narrow: bool) -> None:
    """Draw a part: its input leaves the stream to the right, and its output returns below."""
    (x, y), name = start, "feed-forward" if i % 2 else "attention"
    plus = y + PLUS
    if narrow:  # the norm is on top of the part, which is beside the sum
        aside, top = x + 64, plus - (30 if norm else 12)
        ax.wire([(edge, y + 4), (aside, y + 4), (aside, top)])
        if norm:
            _norm(ax, (aside, plus - 21))
        ax.box((aside, plus), (82, 24), text=name, text_size=SMALL)
        ax.wire([(aside - 41, plus), (x + 9, plus)])
        return
    aside, begin = x + 162, y + 17
    ax.wire([(edge, begin), (aside - 52, begin)])
    if norm:
        _norm(ax, (x + 60, begin))
    ax.box((aside, begin), (104, 25), text=name)
    ax.wire([(aside, begin + 12), (aside, plus), (x + 9, plus)])


def _lane(ax: Canvas, x: float, between: Point, size: float) -> None:
    ax.wire([(x, between[0]), (x, between[1])], "residual", width=UNIT * size, head=False)


def _norm(ax: Canvas, at: Point, size: float | None = None) -> None:
    """Draw a norm, with the size after it."""
    look: Any = {"text_size": SMALL, "bold": True, "width": BOLD_LINE}
    ax.box(at, (46, 18), text="norm", **look)
    if size is not None:
        ax.note((at[0] + 30, at[1]), number(size), align="left")
