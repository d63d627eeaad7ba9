"""The shapes of attention on one card: each tensor as a grid, with a letter for each axis."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.attention import attention_weights
from selfattn_book.draw.canvas import (
    Point,
    box,
    canvas,
    for_desk_and_phone,
    hatch,
    line,
    node,
    say,
    tell,
    wire,
)
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.multi_head import MultiHeadAttention

CELL = 9  # pixels of an entry
BEHIND = 5  # pixels by which a head stands out behind the one before it
LONGEST = 8  # entries of an axis that is drawn


@dataclass
class _Places:
    """Where the columns of the drawing lie, in pixels from its left edge."""

    query: float
    key: float
    value: float
    scores: float
    context: float
    mask: float
    height: float  # of the drawing
    blank: str  # between the letters of a shape

    @property
    def memory(self) -> float:
        return (self.key + self.value) / 2


DESK = _Places(90, 220, 350, 155, 230, 54, 560, " ")
PHONE = _Places(56, 156, 256, 106, 140, 34, 672, "")


def shapes(
    attention: MultiHeadAttention,
    x: Tensor,
    memory: Tensor,
    masks: Mapping[str, Tensor],
) -> Axes:
    """Draw the tensors of multi-head attention, from the input to the output, each with its shape.

    Args:
        attention: the module; its inputs have the width of its output.
        x: ``(B, T, d_model)``, what asks.
        memory: ``(B, S, d_model)``, what is asked.
        masks: by their names; the last one is used.

    Returns:
        The axes.

    Raises:
        ValueError: two sizes are equal, so that a letter could be taken for another; an axis is too
            long for the drawing; or there is no mask.

    Example:
        >>> import torch
        >>> from selfattn_book.masks import causal_mask
        >>> attention = MultiHeadAttention(6, num_heads=2, d_head=4)
        >>> x, memory = torch.ones(7, 3, 6), torch.ones(7, 5, 6)
        >>> ax = shapes(attention, x, memory, {"causal": causal_mask(3, 5)})
        >>> print(ax.get_label())
        The shapes of attention. X: (B, T, d_model). M: (B, S, d_model). Q: (B, H, T, d_head).
        K: (B, H, S, d_head). V: (B, H, S, d_head). scores: (B, H, T, S). weights: (B, H, T, S).
        context: (B, H, T, d_head). side by side: (B, T, H·d_head). output: (B, T, d_model).
        The mask causal: (T, S). Here B = 7, T = 3, S = 5, H = 2, d_model = 6, d_head = 4.
        >>> shapes(attention, x, x, {"causal": causal_mask(3)})
        Traceback (most recent call last):
        ValueError: sizes must differ, so that each has its own letter; got T = 3 and S = 3
        >>> shapes(attention, x, torch.ones(7, 9, 6), {"causal": causal_mask(3, 9)})
        Traceback (most recent call last):
        ValueError: an axis that is drawn must have at most 8 entries; got S = 9
        >>> shapes(attention, x, memory, {})
        Traceback (most recent call last):
        ValueError: there must be at least one mask
    """
    drawn = _compute(attention, x, memory, masks)

    def draw(width: float) -> Axes:
        at = DESK if width == WIDE else PHONE
        ax = canvas(width, at.height)
        _flow(ax, at)
        _pictures(ax, at, drawn)
        _hide(ax, (at.scores, 325), drawn.used)
        _masks(ax, at, drawn)
        _sizes(ax, at, drawn)
        return tell(ax, *_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """What is drawn: the tensors on the way, the masks, and the letter of each size."""

    tensors: dict[str, Tensor]
    masks: Mapping[str, Tensor]
    used: Tensor  # the mask that attention is computed with
    letters: dict[int, str]

    @property
    def here(self) -> str:
        """The sizes of this drawing."""
        named = [(a, n) for n, a in self.letters.items() if "·" not in a]
        return ", ".join(f"{letter} = {size}" for letter, size in named)

    def shape(self, tensor: Tensor, blank: str = " ") -> str:
        """Return the letters of a shape."""
        named = [self.letters[size] if size > 1 else "1" for size in tensor.shape]
        comma = f",{blank}"
        return f"({comma.join(named)})"


def _compute(
    attention: MultiHeadAttention,
    x: Tensor,
    memory: Tensor,
    masks: Mapping[str, Tensor],
) -> _Drawn:
    """Check what is given, and compute what is drawn."""
    if not masks:
        raise ValueError("there must be at least one mask")
    letters = _letters(attention, x, memory)
    used = list(masks.values())[-1]
    return _Drawn(_steps(attention, x, memory, used), masks, used, letters)


def _told(drawn: _Drawn) -> list[str]:
    """Say the shape of each tensor and of each mask."""
    masks = {f"The mask {name}": mask for name, mask in drawn.masks.items()}
    everything = drawn.tensors | masks
    return [
        "The shapes of attention",
        *(f"{name}: {drawn.shape(x)}" for name, x in everything.items()),
        f"Here {drawn.here}",
    ]


def _letters(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor
) -> dict[int, str]:
    """Return the letter of each size."""
    heads, width = attention.num_heads, attention.d_head
    named = [
        ("B", x.size(0)),
        ("T", x.size(1)),
        ("S", memory.size(1)),
        ("H", heads),
        ("d_model", attention.project_output.out_features),
        ("d_head", width),
        ("H·d_head", heads * width),
    ]
    letters: dict[int, str] = {}
    for letter, size in named:
        if size in letters:
            rule = "sizes must differ, so that each has its own letter"
            raise ValueError(
                f"{rule}; got {letters[size]} = {size} and {letter} = {size}"
            )
        if size > LONGEST:
            rule = f"an axis that is drawn must have at most {LONGEST} entries"
            raise ValueError(f"{rule}; got {letter} = {size}")
        letters[size] = letter
    return letters


def _steps(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor, mask: Tensor
) -> dict[str, Tensor]:
    """Return what the module makes on its way, one step after the other."""
    sizes = attention.num_heads, attention.d_head
    roles = [
        project(given).unflatten(-1, sizes).transpose(1, 2)
        for project, given in (
            (attention.project_query, x),
            (attention.project_key, memory),
            (attention.project_value, memory),
        )
    ]
    query, key, value = roles
    scores = query @ key.mT / attention.d_head**0.5
    weights = attention_weights(query, key, mask)
    context = weights @ value
    merged = context.transpose(1, 2).flatten(2)
    output = attention.project_output(merged)
    names = ["X", "M", "Q", "K", "V", "scores", "weights", "context"]
    made = [x, memory, *roles, scores, weights, context, merged, output]
    return dict(zip([*names, "side by side", "output"], made, strict=True))


def _flow(ax: Axes, at: _Places) -> None:
    """What goes where; pictures are drawn over it."""
    _to_weights(ax, at)
    _to_output(ax, at)
    _operations(ax, at)
    if at is DESK:
        _say_steps(ax, at)


def _to_weights(ax: Axes, at: _Places) -> None:
    """Lead the inputs to queries, keys and values, and the first two with the mask to the weights."""
    wire(ax, [(at.query, 76), (at.query, 119)], "query")
    for x, role in ((at.key, "key"), (at.value, "value")):
        wire(ax, [(at.memory, 84), (at.memory, 98), (x, 98), (x, 117)], role)
    for x, role in ((at.query, "query"), (at.key, "key")):
        wire(ax, [(x, 208), (x, 222), (at.scores, 222)], role, head=False)
    wire(ax, [(at.scores, 222), (at.scores, 242)])
    wire(ax, [(at.scores, 260), (at.scores, 306)])
    wire(ax, [(at.mask, 288), (at.scores, 288)], "mask", head=False)


def _to_output(ax: Axes, at: _Places) -> None:
    """Lead values and weights to the context, and the context to the output."""
    for x, y, role in ((at.value, 208, "value"), (at.scores, 325, "weights")):
        wire(ax, [(x, y), (x, 364), (at.context, 364)], role, head=False)
    steps, roles = pairwise([364, 386, 443, 495]), ("context", "context", "ink")
    for (start, end), role in zip(steps, roles, strict=True):
        wire(ax, [(at.context, start), (at.context, end)], role)


def _operations(ax: Axes, at: _Places) -> None:
    """Mark where two things become one: at the dot products, at the mask and at the weighted sum."""
    node(ax, (at.scores, 222), "·")
    node(ax, (at.context, 364), "×")
    box(ax, (at.mask, 288), (60, 26), "mask", "mask", bold=True)
    for side in (-1, 1):  # beside the word
        hatch(ax, (at.mask + 25 * side, 288), (10, 26))
    where = (at.scores + 10, 288)
    say(ax, where, "softmax over S", "muted", size=SMALL, align="left")


def _say_steps(ax: Axes, at: _Places) -> None:
    """Name what is done on the way, where there is room."""
    right = at.value + 68
    for y, text in (
        (98, "project, and split into heads"),
        (222, "dot products, ÷ √d_head"),
        (288, "hidden keys get the weight 0"),
        (364, "average the values"),
        (424, "put the heads side by side"),
        (478, "multiply by the output matrix"),
    ):
        say(ax, (right, y), text, "muted", size=SMALL, align="left")


def _pictures(ax: Axes, at: _Places, drawn: _Drawn) -> None:
    """Draw each tensor as a grid, with its name and its shape."""
    places = {
        "X": (at.query, 62),
        "M": (at.memory, 62),
        "Q": (at.query, 144),
        "K": (at.key, 144),
        "V": (at.value, 144),
        "scores": (at.scores, 258),
        "weights": (at.scores, 325),
        "context": (at.context, 404),
        "side by side": (at.context, 458),
        "output": (at.context, 510),
    }
    roles = ["ink", "ink", "query", "key", "value", "ink", "weights", "context"]
    roles += ["context", "ink"]
    for (name, place), role in zip(places.items(), roles, strict=True):
        tensor = drawn.tensors[name]
        _grid(ax, place, tensor, role)
        _label(ax, place, name, drawn.shape(tensor, at.blank), tensor.size(-1))


def _label(ax: Axes, at: Point, name: str, shape: str, columns: int) -> None:
    """Name a picture: above where nothing comes in, below where three share a row, else beside."""
    x, y = at
    if name in "XM":
        say(ax, (x, 12), "X" if name == "X" else "X, or a memory M", bold=True)
        say(ax, (x, 30), shape, "muted", size=SMALL)
    elif name in "QKV":
        say(ax, (x, 182), name, bold=True)
        say(ax, (x, 198), shape, "muted", size=SMALL)
    else:
        left = x + CELL * columns / 2 + BEHIND + 7
        say(ax, (left, y - 8), name, bold=True, align="left")
        say(ax, (left, y + 9), shape, "muted", size=SMALL, align="left")


def _grid(ax: Axes, at: Point, tensor: Tensor, role: str) -> None:
    """Draw the last two axes of a tensor as rows and columns, and a third from the end as sheets."""
    rows, columns = tensor.shape[-2:]
    sheets = tensor.size(-3) if tensor.dim() == 4 else 1
    width, height = CELL * columns, CELL * rows
    for sheet in reversed(range(sheets)):
        x, y = at[0] + BEHIND * sheet, at[1] - BEHIND * sheet
        order = 3 + (sheets - sheet) / 10
        box(ax, (x, y), (width, height), role, order=order)
    left, top = at[0] - width / 2, at[1] - height / 2
    right, bottom = left + width, top + height
    for y in (top + CELL * i for i in range(1, rows)):
        line(ax, [(left, y), (right, y)], role, width=0.5)
    for x in (left + CELL * j for j in range(1, columns)):
        line(ax, [(x, top), (x, bottom)], role, width=0.5)


def _hide(ax: Axes, at: Point, mask: Tensor) -> None:
    """Shade the entries of the first sequence that a mask hides."""
    while mask.dim() > 2:
        mask = mask[0]
    rows, columns = mask.shape
    left, top = at[0] - CELL * columns / 2, at[1] - CELL * rows / 2
    for i, j in (~mask).nonzero().tolist():
        middle = (left + CELL * (j + 0.5), top + CELL * (i + 0.5))
        hatch(ax, middle, (CELL, CELL))


def _masks(ax: Axes, at: _Places, drawn: _Drawn) -> None:
    """Show each mask with its shape: beside the flow on a desk, below it on a phone."""
    count = len(drawn.masks)
    if at is DESK:
        places = [(at.mask, 334.0 + 68 * i) for i in range(count)]
    else:
        step = NARROW / count
        places = [(step * (i + 0.5), 578.0) for i in range(count)]
        says = "masks: what is hatched is hidden"
        say(ax, (NARROW / 2, 550), says, "muted", size=SMALL)
    for (name, mask), (x, y) in zip(drawn.masks.items(), places, strict=True):
        flat = mask.reshape(-1, *mask.shape[-2:])[0]
        _grid(ax, (x, y), flat, "mask")
        _hide(ax, (x, y), mask)
        shape = drawn.shape(mask, at.blank)
        say(ax, (x, y + 24), name, bold=True, size=SMALL)
        say(ax, (x, y + 40), shape, "muted", size=SMALL)


def _sizes(ax: Axes, at: _Places, drawn: _Drawn) -> None:
    """Say below all what the letters are here; on a phone, in two lines."""
    here = f"drawn with {drawn.here}"
    if at is DESK:
        say(ax, (WIDE / 2, at.height - 14), here, "muted", size=SMALL)
    else:
        counts, widths = here.split(", d_model")
        say(ax, (NARROW / 2, at.height - 26), counts, "muted", size=SMALL)
        last = (NARROW / 2, at.height - 10)
        say(ax, last, f"d_model{widths}", "muted", size=SMALL)
