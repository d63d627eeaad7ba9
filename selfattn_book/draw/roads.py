"""Stacks of blocks as roads: what each part makes of a vector is added to the residual path."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.transformer import EncoderBlock, EncoderStack, Residual

UNIT = 7  # pixels of a road on which the vectors have size 1
TOP = 52  # pixels above the first block
END = 62  # pixels behind the last block
NOTE = 24  # pixels of what the numbers are
LARGEST = 4  # size of vectors whose road still covers nothing


@dataclass
class _Places:
    """Where things lie, in pixels from the left edge of a stack, and from the top of a part."""

    road: float
    begin: float  # where the part reads from the road
    plus: float  # where what it makes is added
    part: float  # how high a part is, with its norm


DESK = _Places(82, 17, 45, 76)
PHONE = _Places(44, 4, 43, 75)


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
    measured = _measure(stacks, x)
    depth = measured[0].depth

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE
        end, wide = TOP + 2 * at.part * depth + END, width / 2
        ax = canvas(width, end + NOTE)
        note = "numbers and width: size of the vectors on the road"
        say(ax, (width / 2, end + 12), note, "muted", size=SMALL)
        for i, road in enumerate(measured):
            _road(ax, at, (i * wide, wide), road)
        blocks = f"{depth} {'block' if depth == 1 else 'blocks'}"
        opening = f"Two stacks of {blocks}, each with its residual path as a straight road"
        return tell(ax, opening, *map(_told, measured))

    return for_desk_and_phone(draw)


@dataclass
class _Road:
    """A stack as a road, and the sizes along it: of what comes in, and behind each sum and norm."""

    name: str
    depth: int
    is_pre_norm: bool
    sizes: list[float]

    @property
    def sums(self) -> list[float]:
        """The sizes behind the sums, one for each part."""
        return self.sizes[1:-1] if self.is_pre_norm else self.sizes[1::2]

    @property
    def between(self) -> list[float]:
        """The sizes from part to part, before the first one and behind the last one, too."""
        return self.sizes[:-1] if self.is_pre_norm else self.sizes[::2]


def _measure(stacks: Mapping[str, EncoderStack], x: Tensor) -> list[_Road]:
    """Check what is given, and measure what is drawn."""
    _check(stacks)
    measured = [
        _Road(name, len(stack.blocks), _is_pre_norm(stack), _sizes(stack, x))
        for name, stack in stacks.items()
    ]
    largest = max(size for road in measured for size in road.sizes)
    if largest > LARGEST:
        rule = f"no vectors may be larger than {LARGEST}"
        why = "or their road covers what stands beside"
        raise ValueError(f"{rule}, {why}; got {number(largest)}")
    return measured


def _check(stacks: Mapping[str, EncoderStack]) -> None:
    """Refuse stacks that do not fit side by side."""
    depths = [len(stack.blocks) for stack in stacks.values()]
    if len(depths) != 2 or len(set(depths)) != 1 or not 1 <= depths[0] <= 3:
        rule = "there must be two stacks of equally many blocks, 1 to 3"
        blocks = "block" if depths == [1] else "blocks"
        many = "stack" if len(depths) == 1 else "stacks"
        said = " and ".join(map(str, depths)) or "0"
        raise ValueError(f"{rule}; got {said} {blocks} in {len(depths)} {many}")


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


def _told(road: _Road) -> str:
    """Say where the norms of a stack stand, and how large the vectors are along its road."""
    start, last = number(road.sizes[0]), number(road.sizes[-1])
    if road.is_pre_norm:
        stand = "on a side road"
        way = f"{start}, {listed(road.sums)}, behind the last norm {last}"
    else:
        stand = "on the road"
        pairs = zip(road.sums, road.between[1:], strict=True)
        steps = [f"{number(y)}, behind the norm {number(z)}" for y, z in pairs]
        way = ", ".join([start, *steps])
    return f"{road.name}: each norm stands {stand}. Size along the road: {way}"


def _road(ax: Axes, at: _Places, span: Point, road: _Road) -> None:
    """Draw one stack from the top down."""
    left, wide = span
    x, end = left + at.road, TOP + 2 * at.part * road.depth
    say(ax, (left + wide / 2, 14), road.name, bold=True)
    say(ax, (x, 38), "x", bold=True)
    say(ax, (x - 16, 38), number(road.sizes[0]), size=SMALL, align="right")
    for i in range(2 * road.depth):
        y = TOP + at.part * i
        if i % 2 == 0:
            _ground(ax, (left, y), (wide, 2 * at.part), i // 2 + 1)
        _part(ax, at, (x, y), road, i)
    _end(ax, (x, end), road)


def _part(ax: Axes, at: _Places, start: Point, road: _Road, i: int) -> None:
    """Draw a part beside the road, its way there and back, and the road as far as the next part."""
    x, y = start
    begin, plus, end = y + at.begin, y + at.plus, y + at.part
    comes, summed = road.between[i], road.sums[i]
    _lane(ax, x, (y, plus), comes)
    side = _side_road if at is DESK else _side_road_on_phone
    name = "attention" if i % 2 == 0 else "small network"
    edge = x + UNIT * comes / 2
    side(ax, edge, (x, begin, plus), name, norm=road.is_pre_norm)
    say(ax, (x - 16, plus), number(summed), size=SMALL, align="right")
    node(ax, (x, plus), "+", radius=9)
    if road.is_pre_norm:
        _lane(ax, x, (plus, end), summed)
    else:
        normed = road.between[i + 1]
        _lane(ax, x, (plus, plus + 20), summed)
        _lane(ax, x, (plus + 20, end), normed)
        _norm_on_road(ax, (x, plus + 20), normed)


def _end(ax: Axes, at: Point, road: _Road) -> None:
    """Draw the end of the road, in pre-norm with the last norm on it."""
    (x, y), size = at, road.sizes[-1]
    behind = y
    if road.is_pre_norm:
        behind = y + 22
        _lane(ax, x, (y, behind), road.sums[-1])
        _norm_on_road(ax, (x, y + 20), size)
    wire(ax, [(x, behind), (x, y + END - 12)], "road", width=UNIT * size)


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
