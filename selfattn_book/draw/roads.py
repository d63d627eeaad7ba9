"""Stacks of blocks as roads: what each part makes of a vector is added to the residual path."""

from collections.abc import Iterable, Mapping
from typing import cast

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    Point,
    box,
    canvas,
    for_desk_and_phone,
    listed,
    node,
    number,
    say,
    tell,
    wire,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.transformer import EncoderBlock, EncoderStack, Residual

UNIT = 7  # pixels of a road on which the vectors have size 1
TOP = 52  # pixels above the first block
END = 62  # pixels behind the last block
NOTE = 24  # pixels of what the numbers are


def roads(stacks: Mapping[str, EncoderStack], x: Tensor) -> Axes:
    r"""Draw two stacks side by side, each residual path a road as wide as the vectors on it are large.

    The size of vectors is the root of their mean square, of ``x`` and of all that becomes of it:

    .. math:: \operatorname{size}(x) = \sqrt{\tfrac{1}{B T D} \sum_{btj} x_{btj}^2}

    Args:
        stacks: two, each with its name, pre-norm or post-norm, of equally many blocks, 1 to 3.
        x: ``(B, T, D)``, what comes into both.

    Returns:
        The axes.

    Raises:
        ValueError: there are not two stacks of 1 to 3 blocks each, or vectors become larger than 4,
            so that a road would cover what stands beside it.

    Example:
        >>> import torch
        >>> _ = torch.manual_seed(0)
        >>> norms = {"pre-norm": True, "post-norm": False}
        >>> stacks = {name: EncoderStack(1, 4, 2, norm_first=norms[name]) for name in norms}
        >>> x = torch.nn.functional.layer_norm(torch.randn(1, 3, 4), (4,))
        >>> print(roads(stacks, x).get_label())
        Two stacks of 1 block, each with its residual path as a straight road.
        pre-norm: each norm stands on a side road. Size along the road: 1.00, 1.12, 1.31,
        behind the last norm 1.00.
        post-norm: each norm stands on the road. Size along the road: 1.00, 0.88, behind the norm 1.00,
        0.93, behind the norm 1.00.
        >>> roads(stacks, 5 * x)
        Traceback (most recent call last):
        ValueError: no vectors may be larger than 4, or their road covers what stands beside; got 5.57
        >>> roads({"alone": stacks["pre-norm"]}, x)
        Traceback (most recent call last):
        ValueError: there must be two stacks of equally many blocks, 1 to 3; got 1 block in 1 stack
    """
    depths = [len(stack.blocks) for stack in stacks.values()]
    if len(depths) != 2 or len(set(depths)) != 1 or not 1 <= depths[0] <= 3:
        rule = "there must be two stacks of equally many blocks, 1 to 3"
        said = " and ".join(map(str, depths)) or "0"
        many = "" if depths == [1] else "s"
        found = f"{said} block{many} in {len(depths)} stack" + "s" * (
            len(depths) != 1
        )
        raise ValueError(f"{rule}; got {found}")
    sizes = {name: _sizes(stack, x) for name, stack in stacks.items()}
    largest = max(size for steps in sizes.values() for size in steps)
    if largest > 4:
        rule = "no vectors may be larger than 4, or their road covers what stands beside"
        raise ValueError(f"{rule}; got {number(largest)}")
    told = [_told(name, stack, sizes[name]) for name, stack in stacks.items()]
    many = "block" if depths[0] == 1 else "blocks"
    opening = f"Two stacks of {depths[0]} {many}, each with its residual path as a straight road"

    def draw(width: float) -> Axes:
        stage = 75 if width == NARROW else 76  # pixels of a part, with its norm
        end = TOP + 2 * stage * depths[0] + END
        ax = canvas(width, end + NOTE)
        note = "numbers and width: size of the vectors on the road"
        say(ax, (width / 2, end + 12), note, "muted", size=SMALL)
        for i, (name, stack) in enumerate(stacks.items()):
            left = i * width / 2
            _road(ax, left, width / 2, stage, name, stack, sizes[name])
        return tell(ax, opening, *told)

    return for_desk_and_phone(draw)


def _sizes(stack: EncoderStack, x: Tensor) -> list[float]:
    """Return the size of what comes in, and behind each sum and each norm on the road."""
    sizes = [_size(x)]
    for block in cast("Iterable[EncoderBlock]", stack.blocks):
        read = block.attention_path.before(x)
        x = _add(
            block.attention_path, x, block.attention(read, read, read)[0], sizes
        )
        change = block.feed_forward(block.feed_forward_path.before(x))
        x = _add(block.feed_forward_path, x, change, sizes)
    return [*sizes, _size(stack.norm(x))] if _is_pre_norm(stack) else sizes


def _add(path: Residual, x: Tensor, change: Tensor, sizes: list[float]) -> Tensor:
    """Return what goes on along the road, and note the size of the sum, and behind its norm."""
    y = path.after(x, change)
    sizes += [_size(y)] if path.norm_first else [_size(x + change), _size(y)]
    return y


def _is_pre_norm(stack: EncoderStack) -> bool:
    return cast("EncoderBlock", stack.blocks[0]).attention_path.norm_first


def _size(x: Tensor) -> float:
    return float(x.detach().square().mean().sqrt())


def _told(name: str, stack: EncoderStack, sizes: list[float]) -> str:
    if _is_pre_norm(stack):
        way = f"{listed(sizes[:-1])}, behind the last norm {number(sizes[-1])}"
        return (
            f"{name}: each norm stands on a side road. Size along the road: {way}"
        )
    pairs = zip(sizes[1::2], sizes[2::2], strict=True)
    way = ", ".join(
        f"{number(sum_)}, behind the norm {number(normed)}"
        for sum_, normed in pairs
    )
    begin = f"{name}: each norm stands on the road. Size along the road: {number(sizes[0])}"
    return f"{begin}, {way}"


def _road(
    ax: Axes,
    left: float,
    wide: float,
    stage: float,
    name: str,
    stack: EncoderStack,
    sizes: list[float],
) -> None:
    narrow, first = wide < 200, _is_pre_norm(stack)
    at = left + (44 if narrow else 82)
    say(ax, (left + wide / 2, 14), name, bold=True)
    say(ax, (at, 38), "x", bold=True)
    say(ax, (at - 16, 38), number(sizes[0]), size=SMALL, align="right")
    rest, size, y = iter(sizes[1:]), sizes[0], float(TOP)
    for i in range(2 * len(stack.blocks)):
        if i % 2 == 0:
            _ground(ax, (left, y), (wide, 2 * stage), i // 2 + 1)
        begin, plus, end = (
            y + (4 if narrow else 17),
            y + (43 if narrow else 45),
            y + stage,
        )
        part = "attention" if i % 2 == 0 else "small network"
        _lane(ax, at, (y, plus), size)
        edge = at + UNIT * size / 2
        side = _side_road_on_phone if narrow else _side_road
        side(ax, edge, (at, begin, plus), part, norm=first)
        size = next(rest)
        say(ax, (at - 16, plus), number(size), size=SMALL, align="right")
        node(ax, (at, plus), "+", radius=9)
        if first:
            _lane(ax, at, (plus, end), size)
        else:
            _lane(ax, at, (plus, plus + 20), size)
            size = next(rest)
            _lane(ax, at, (plus + 20, end), size)
            _norm_on_road(ax, (at, plus + 20), size)
        y = end
    if first:
        _lane(ax, at, (y, y + 22), size)
        size = next(rest)
        _norm_on_road(ax, (at, y + 20), size)
    behind = y + (22 if first else 0)
    wire(ax, [(at, behind), (at, y + END - 12)], "road", width=UNIT * size)


def _ground(ax: Axes, corner: Point, size: Point, count: int) -> None:
    """Say which parts are one block."""
    (x, y), (w, h) = corner, size
    middle = (x + w / 2, y + h / 2)
    box(ax, middle, (w - 8, h - 5), "road", filled=False, order=1, width=0.8)
    at = (x + w - 10, y + h - 11)
    say(ax, at, f"block {count}", "muted", size=SMALL, align="right")


def _lane(ax: Axes, x: float, between: Point, size: float) -> None:
    top, end = between
    wire(ax, [(x, top), (x, end)], "road", width=UNIT * size, head=False)


def _norm_on_road(ax: Axes, at: Point, size: float) -> None:
    _norm(ax, at)
    say(ax, (at[0] + 30, at[1]), number(size), size=SMALL, align="left")


def _norm(ax: Axes, at: Point) -> None:
    box(ax, at, (46, 18), text="norm", text_size=SMALL, bold=True, width=BOLD_LINE)


def _side_road(
    ax: Axes,
    edge: float,
    places: tuple[float, float, float],
    part: str,
    *,
    norm: bool,
) -> None:
    """What the part reads leaves the road to the right, and what it makes of it comes back below."""
    at, begin, plus = places
    aside = at + 162
    wire(ax, [(edge, begin), (aside - 52, begin)])
    if norm:
        _norm(ax, (at + 60, begin))
    box(ax, (aside, begin), (104, 25), text=part)
    wire(ax, [(aside, begin + 12), (aside, plus), (at + 9, plus)])


def _side_road_on_phone(
    ax: Axes,
    edge: float,
    places: tuple[float, float, float],
    part: str,
    *,
    norm: bool,
) -> None:
    """The same, with the norm on top of the part, which stands beside the sum."""
    at, begin, plus = places
    aside, top = at + 64, plus - 12
    wire(ax, [(edge, begin), (aside, begin), (aside, top - (18 if norm else 0))])
    if norm:
        _norm(ax, (aside, top - 9))
    box(ax, (aside, plus), (82, 24), text=part, text_size=SMALL)
    wire(ax, [(aside - 41, plus), (at + 9, plus)])
