"""A whole Transformer as a drawing: every part on the way from tokens to probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from matplotlib.axes import Axes
from torch import Tensor, nn

from selfattn_book.draw.canvas import (
    LINE,
    Point,
    box,
    canvas,
    for_desk_and_phone,
    node,
    say,
    shape,
    tell,
    titles,
    wire,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.sequence_to_sequence import Transformer

HALF = 14  # pixels of half a box
ROW = 48  # pixels from part to part
LONGEST = 24  # letters of a row of tokens


@dataclass
class _Places:
    """Where encoder and decoder stand: their middles, and how wide their boxes are."""

    left: float
    right: float
    wide: float


DESK = _Places(162, 478, 190)
PHONE = _Places(73, 239, 130)


@dataclass
class _Passed:
    """What passes from part to part, batch left out, and how many blocks there are."""

    source: Tensor
    read: Tensor
    memory: Tensor
    fed: Tensor
    states: Tensor
    logits: Tensor
    blocks: tuple[int, int]
    has_norm: bool


def whole(
    model: Transformer,
    source: Sequence[str],
    fed: Sequence[str],
    asked: Sequence[str],
) -> Axes:
    """Draw a whole Transformer, from the tokens on both sides to the words that are asked for.

    Args:
        model: what reads and writes; its sizes are drawn, and no number of it.
        source: the tokens of a source, as text.
        fed: those of a target that the decoder is fed.
        asked: for each of these the one that comes next.

    Returns:
        The axes.

    Raises:
        ValueError: a row of tokens has no letter or more than 24, or as many are not asked for
            as are fed.

    Example:
        >>> model = Transformer(13, 11, d_model=6, num_layers=2, num_heads=2, norm_first=True)
        >>> ax = whole(model, "7:50", ["start", "ten", "past"], ["ten", "past", "seven"])
        >>> print(ax.get_label())
        A whole Transformer. The encoder reads the tokens 7 : 5 0. Their embedding, (4, 6), and
        positions are added, and pass through 2 blocks of self-attention and small network, and a
        last norm: the memory, (4, 6). The decoder is fed the tokens start ten past. Their
        embedding, (3, 6), and positions are added, and pass through 2 blocks of causal
        self-attention, cross-attention, whose keys and values come from the memory, and small
        network, and a last norm. The unembedding makes logits of the states, (3, 11), and the
        softmax makes probabilities of these. Asked for: ten past seven.
        >>> whole(model, "7:50", ["start"], ["ten", "past"])
        Traceback (most recent call last):
        ValueError: as many tokens must be asked for as are fed; got 2 and 1
        >>> whole(model, "7" * 25, ["start"], ["ten"])
        Traceback (most recent call last):
        ValueError: a row of tokens must have 1 to 24 letters; got 25
    """
    rows = {"source": source, "fed": fed, "asked": asked}
    if len(fed) != len(asked):
        rule = "as many tokens must be asked for as are fed"
        raise ValueError(f"{rule}; got {len(asked)} and {len(fed)}")
    for letters in (len("".join(row)) for row in rows.values()):
        if not 1 <= letters <= LONGEST:
            rule = f"a row of tokens must have 1 to {LONGEST} letters"
            raise ValueError(f"{rule}; got {letters}")
    passed = _pass(model, len(source), len(fed))
    texts = {name: " ".join(row) for name, row in rows.items()}
    told = _told(passed, texts)

    def draw(width: float) -> Axes:
        ax = canvas(width, 10 * ROW + 52)
        at = DESK if width == WIDE else PHONE
        titles(ax, [(at.left, "encoder"), (at.right, "decoder")], 14)
        _encoder(ax, at, passed, texts["source"])
        _decoder(ax, at, passed, texts["fed"], texts["asked"])
        _memory(ax, at)
        return tell(ax, *told)

    return for_desk_and_phone(draw)


@torch.no_grad()
def _pass(model: Transformer, source: int, fed: int) -> _Passed:
    """Pass tokens through a model, to see of which shapes its parts make them."""
    is_training = model.training
    model.eval()
    tokens = [torch.zeros(1, length, dtype=torch.int64) for length in (source, fed)]
    read = model.place_source(model.source_embedding(tokens[0]))
    memory = model.encode(tokens[0])
    x = model.place_target(model.target_embedding(tokens[1]))
    states, *_ = model.decoder(x, memory, need_weights=False)
    logits = model.unembedding(states)
    model.train(is_training)
    counts = len(model.encoder.blocks), len(model.decoder.blocks)
    has_norm = not isinstance(model.decoder.norm, nn.Identity)
    steps = (tokens[0], read, memory, tokens[1], states, logits)
    source_, read, memory, _, states, logits = (step[0] for step in steps)
    return _Passed(source_, read, memory, x[0], states, logits, counts, has_norm)


def _told(passed: _Passed, texts: dict[str, str]) -> list[str]:
    norm = ", and a last norm" if passed.has_norm else ""
    blocks = [f"{n} block{'s' if n > 1 else ''}" for n in passed.blocks]
    return [
        "A whole Transformer",
        f"The encoder reads the tokens {texts['source']}",
        f"Their embedding, {shape(passed.read)}, and positions are added, and pass through "
        f"{blocks[0]} of self-attention and small network{norm}: the memory, {shape(passed.memory)}",
        f"The decoder is fed the tokens {texts['fed']}",
        f"Their embedding, {shape(passed.fed)}, and positions are added, and pass through "
        f"{blocks[1]} of causal self-attention, cross-attention, whose keys and values come "
        f"from the memory, and small network{norm}",
        f"The unembedding makes logits of the states, {shape(passed.logits)}, and the softmax "
        "makes probabilities of these",
        f"Asked for: {texts['asked']}",
    ]


def _height(row: float) -> float:
    return 44 + row * ROW


def _encoder(ax: Axes, at: _Places, passed: _Passed, text: str) -> None:
    x = at.left
    _begin(ax, at, x, (f"({len(passed.source)})", shape(passed.read)), text)
    _frame(ax, at, x, (3, 4), passed.blocks[0])
    _part(ax, at, x, 3, "self-attention")
    _part(ax, at, x, 4, "small network")
    end = 4.0
    if passed.has_norm:
        _part(ax, at, x, 6, "last norm", skipped=1)
        end = 6.0
    _down(ax, x, (end, 7), shape(passed.memory))
    box(ax, (x, _height(7)), (at.wide, 2 * HALF), "road", "memory", bold=True)


def _decoder(ax: Axes, at: _Places, passed: _Passed, fed: str, asked: str) -> None:
    x, causal = (
        at.right,
        "causal self-attention" if at is DESK else "causal attention",
    )
    _begin(ax, at, x, (f"({len(passed.fed)})", shape(passed.fed)), fed)
    _frame(ax, at, x, (3, 5), passed.blocks[1])
    _part(ax, at, x, 3, causal)
    _part(ax, at, x, 4, "cross-attention")
    _part(ax, at, x, 5, "small network")
    if passed.has_norm:
        _part(ax, at, x, 6, "last norm")
    skipped = 0 if passed.has_norm else 1
    _part(ax, at, x, 7, "unembedding", text=shape(passed.states), skipped=skipped)
    _part(ax, at, x, 8, "softmax", text=shape(passed.logits))
    _down(ax, x, (8, 9))
    say(
        ax,
        (x - 10, _height(8.5) - 1),
        "probabilities",
        "muted",
        size=SMALL,
        align="right",
    )
    box(ax, (x, _height(9)), (at.wide, 2 * HALF), "word-1", asked)
    say(ax, (x, _height(9) + 30), "asked for", "muted", size=SMALL)


def _begin(
    ax: Axes, at: _Places, x: float, shapes: tuple[str, str], text: str
) -> None:
    """Draw the way from tokens to vectors that know their place."""
    box(ax, (x, _height(0)), (at.wide, 2 * HALF), "word-0", text)
    _part(ax, at, x, 1, "token embedding", text=shapes[0])
    middle = (x, _height(2))
    wire(ax, [(x, _height(1) + HALF), (x, middle[1] - 8)], width=2)
    _shape(ax, (x, middle[1] - 20), shapes[1])
    node(ax, middle, "+")
    side = x - at.wide / 2 - (0 if at is DESK else 5)
    say(ax, (side, middle[1]), "positions", size=SMALL, align="left")
    wire(
        ax,
        [(side + (58 if at is DESK else 52), middle[1]), (x - 8, middle[1])],
        width=LINE,
    )


def _part(
    ax: Axes,
    at: _Places,
    x: float,
    row: int,
    name: str,
    *,
    text: str = "",
    skipped: int = 0,
) -> None:
    """Draw a part, and what comes down to it from the one above."""
    _down(ax, x, (row - 1 - skipped, row), text)
    is_attention = "attention" in name
    box(ax, (x, _height(row)), (at.wide, 2 * HALF), text=name, bold=is_attention)


def _down(ax: Axes, x: float, rows: tuple[float, float], text: str = "") -> None:
    radius = 8 if rows[0] == 2 else HALF  # of the plus, which is smaller than a box
    start, end = _height(rows[0]) + radius, _height(rows[1]) - HALF
    wire(ax, [(x, start), (x, end)], width=2)
    if text:
        _shape(ax, (x, (start + end) / 2 - 1), text)


def _shape(ax: Axes, place: Point, text: str) -> None:
    say(ax, (place[0] + 10, place[1]), text, "muted", size=SMALL, align="left")


def _frame(
    ax: Axes, at: _Places, x: float, rows: tuple[int, int], count: int
) -> None:
    """Draw around the parts of a block, and say how many blocks there are."""
    top, bottom = _height(rows[0]) - HALF - 9, _height(rows[1]) + HALF + 9
    size = (at.wide + 16, bottom - top)
    box(ax, (x, (top + bottom) / 2), size, "road", filled=False, order=2.5)
    outer = x + (at.wide / 2 + 14) * (-1 if x == at.left else 1)
    if at is DESK:
        align = "right" if x == at.left else "left"
        say(ax, (outer, (top + bottom) / 2), f"× {count}", align=align, bold=True)
    else:
        say(
            ax,
            (x - at.wide / 2 + 4, top + 9 + HALF + 24),
            f"× {count}",
            size=SMALL,
            bold=True,
            align="left",
        )


def _memory(ax: Axes, at: _Places) -> None:
    """Draw what the memory gives to the cross-attention of every block."""
    start, end = at.left + at.wide / 2, at.right - at.wide / 2
    low, high, middle = _height(7), _height(4), (start + end) / 2
    spread = 7 if at is DESK else 3
    for side, role in ((-1, "key"), (1, "value")):
        bend = middle + side * spread
        way = [(start, low + 5 * side), (bend, low + 5 * side)]
        way += [(bend, high + 5 * side), (end, high + 5 * side)]
        wire(ax, way, role, width=2)
    if at is DESK:
        words = ((middle - 14, "key", "right"), (middle + 14, "value", "left"))
        y = (low + high) / 2
    else:  # there is no room between the two
        words, y = (
            ((at.left - 3, "key", "right"), (at.left + 3, "value", "left")),
            low + 28,
        )
    for x, role, align in words:
        say(ax, (x, y), f"{role}s", role, size=SMALL, align=align)
