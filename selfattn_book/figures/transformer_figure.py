"""The full Transformer: every part from tokens to probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from selfattn_book.draw.canvas import LINE, Canvas, Point, shape
from selfattn_book.draw.scene import Node, column, frame, note, part, row, show, space, title
from selfattn_book.transformer import Transformer

GAP = 20  # pixels between parts


@dataclass
class _Passed:
    """The tensors between the parts, without the batch axis, and the numbers of blocks."""

    source: Tensor
    read: Tensor
    memory: Tensor
    fed: Tensor
    states: Tensor
    logits: Tensor
    blocks: tuple[int, int]
    has_norm: bool


def transformer_figure(
    model: Transformer, source: Sequence[str], fed: Sequence[str], asked: Sequence[str]
) -> Canvas:
    """Draw a Transformer, from the tokens on both sides to the target tokens.

    Args:
        model: Transformer; only its sizes are drawn.
        source: source tokens.
        fed: tokens of the decoder's input.
        asked: tokens of the target.

    Example:
        >>> model = Transformer(13, 11, d_model=6, num_layers=2, num_heads=2, norm_first=True)
        >>> ax = transformer_figure(model, "7:50", ["start", "ten", "past"], ["ten", "past", "seven"])
        >>> print(ax.get_label())
        The full Transformer. The encoder reads the tokens 7 : 5 0. Their embedding, (4, 6), and
        positions are added, and pass through 2 blocks of self-attention and feed-forward network, and
        a final norm: the memory, (4, 6). The decoder's input is the tokens start ten past. Their
        embedding, (3, 6), and positions are added, and pass through 2 blocks of causal
        self-attention, cross-attention, whose keys and values come from the memory, and feed-forward
        network, and a final norm. The unembedding turns the states into logits, (3, 11), and the
        softmax turns these into probabilities. The target: ten past seven.
    """
    passed = _pass(model, len(source), len(fed))
    texts = [" ".join(tokens) for tokens in (source, fed, asked)]
    return show(lambda narrow: _build(passed, texts, narrow=narrow), *_sentences(passed, texts))


@torch.no_grad()
def _pass(model: Transformer, source: int, fed: int) -> _Passed:
    """Pass tokens through a model, for the shapes of its tensors."""
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


def _sentences(passed: _Passed, texts: Sequence[str]) -> list[str]:
    norm = ", and a final norm" if passed.has_norm else ""
    blocks = [f"{n} block{'s' if n > 1 else ''}" for n in passed.blocks]
    return [
        "The full Transformer",
        f"The encoder reads the tokens {texts[0]}",
        f"Their embedding, {shape(passed.read)}, and positions are added, and pass through "
        f"{blocks[0]} of self-attention and feed-forward network{norm}: the memory, "
        f"{shape(passed.memory)}",
        f"The decoder's input is the tokens {texts[1]}",
        f"Their embedding, {shape(passed.fed)}, and positions are added, and pass through "
        f"{blocks[1]} of causal self-attention, cross-attention, whose keys and values come "
        f"from the memory, and feed-forward network{norm}",
        f"The unembedding turns the states into logits, {shape(passed.logits)}, and the softmax "
        "turns these into probabilities",
        f"The target: {texts[2]}",
    ]


def _build(passed: _Passed, texts: Sequence[str], *, narrow: bool) -> Node:
    wide = 126 if narrow else 190
    size = 12 if narrow else 14
    names = ["self-attention", "feed-forward network"]
    read = [part(name, width=wide, bold="att" in name, text_size=size) for name in names]
    names = ["causal self-attention", "cross-attention", "feed-forward network"]
    wrote = [part(name, width=wide, bold="att" in name, text_size=size) for name in names]
    memory = part("memory", "residual", width=wide, bold=True)
    target = part(texts[2], "word-1", width=wide, text_size=size)
    norms = [part("final norm", width=wide)] * passed.has_norm
    ends = [
        part("unembedding", width=wide),
        part("softmax: probabilities", width=wide, text_size=size),
    ]
    left = _stack(
        [part(texts[0], "word-0", width=wide), part("token embedding", width=wide), _plus(wide)],
        frame(column(*read, gap=GAP), pad=9, filled=False),
        [*norms, memory],
        [f"({len(passed.source)})", shape(passed.read), "", "", shape(passed.memory)],
    )
    norms = [part("final norm", width=wide)] * passed.has_norm
    named = shape(passed.states), shape(passed.logits), ""
    right = _stack(
        [part(texts[1], "word-0", width=wide), part("token embedding", width=wide), _plus(wide)],
        frame(column(*wrote, gap=GAP), pad=9, filled=False),
        [*norms, *ends, target],
        [f"({len(passed.fed)})", shape(passed.fed), *([""] * (1 + passed.has_norm)), *named],
    )
    for side, stack, count in ((0, left, passed.blocks[0]), (1, right, passed.blocks[1])):
        _count(stack.nodes[3], count, side, narrow=narrow)
    left.nodes.insert(0, title("encoder"))
    right.nodes.insert(0, title("decoder"))
    right.nodes.append(note("target", "muted"))
    sides = row(left, right, gap=14 if narrow else 100, align=0)
    wires = space(0, 0, lambda ax, _: _keys_and_values(ax, memory, wrote[1]))
    return column(sides, wires, gap=0)


def _stack(first: Sequence[Node], block: Node, last: Sequence[Node], texts: Sequence[str]) -> Node:
    """Connect the parts of one side, with the shapes of the tensors between them."""
    inner = block.nodes[0]
    for start, end in pairwise(inner.nodes):
        inner.link(start, end, width=2)
    stack = column(*first, block, *last, gap=GAP)
    solid = [*first, inner.nodes[0], inner.nodes[-1], *last]
    pairs = [pair for pair in pairwise(solid) if pair[0] is not inner.nodes[0]]
    for (start, end), text in zip(pairs, texts, strict=False):
        stack.link(start, end, text=text, width=2)
    return stack


def _plus(wide: float) -> Node:
    """Add the positions."""

    def paint(ax: Canvas, at: Point) -> None:
        ax.node(at, "+")
        left = at[0] - max(wide / 2, 71)
        ax.note((left, at[1]), "positions", align="left")
        ax.wire([(left + 58, at[1]), (at[0] - 8, at[1])], width=LINE)

    return space(wide, 16, paint)


def _count(block: Node, count: int, side: int, *, narrow: bool) -> None:
    """Write the number of blocks beside the frame of one, or in it on a phone."""

    def paint(ax: Canvas, at: Point) -> None:
        inner = block.nodes[0].nodes[0]
        place = (block.left + 12, inner.at(0, 1)[1] + GAP / 2)
        if not narrow:
            place = (block.at(side, 0)[0] + (8 if side else -8), at[1])
        align = "left" if narrow or side else "right"
        ax.say(place, f"× {count}", size=13 if narrow else 14, align=align, bold=True)

    block.paint = paint


def _keys_and_values(ax: Canvas, memory: Node, attention: Node) -> None:
    """Lead the memory to the cross-attention of every block."""
    start, end = memory.at(1, 0.5), attention.at(0, 0.5)
    middle, spread = (start[0] + end[0]) / 2, 7 if end[0] - start[0] > 60 else 3
    for side, role in ((-1, "key"), (1, "value")):
        x, dy = middle + side * spread, 5 * side
        low, high = start[1] + dy, end[1] + dy
        ax.wire([(start[0], low), (x, low), (x, high), (end[0], high)], role, width=2)
        if spread > 3:
            align = "left" if side > 0 else "right"
            y = (start[1] + end[1]) / 2
            ax.note((x + 7 * side, y), f"{role}s", role, align=align)
        else:  # below the memory
            at = (memory.at(0.5, 0)[0] + 3 * side, start[1] + 28)
            align = "left" if side > 0 else "right"
            ax.note(at, f"{role}s", role, align=align)
