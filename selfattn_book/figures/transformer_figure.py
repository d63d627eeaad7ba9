"""The full Transformer: every part from tokens to probabilities."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from selfattn_book.draw.canvas import Canvas, Point, shape
from selfattn_book.draw.scene import Node, column, frame, note, part, row, show, space, title
from selfattn_book.transformer import Transformer

GAP = 20  # pixels between parts
STEP = 13  # pixels between a norm, its part, and their sum


def transformer_figure(
    model: Transformer, source: Sequence[str], decoder_input: Sequence[str], target: Sequence[str]
) -> Canvas:
    """Draw a Transformer, from the tokens on both sides to the target tokens.

    Example:
        >>> model = Transformer(13, 11, d_model=6, num_layers=2, num_heads=2, norm_first=True)
        >>> ax = transformer_figure(model, "7:50", ["start", "ten", "past"], ["ten", "past", "seven"])
        >>> print(ax.get_label())
        The full Transformer. The encoder reads the tokens 7 : 5 0. Their embedding, (4, 6), and
        positions are added, and pass through 2 blocks of self-attention and feed-forward network, and
        a final norm: the memory, (4, 6). The decoder's input is the tokens start ten past. Their
        embedding, (3, 6), and positions are added, and pass through 2 blocks of causal
        self-attention, cross-attention, whose keys and values come from the memory, and feed-forward
        network, and a final norm. Each part of a block has a norm before it and a residual connection
        around both. The unembedding turns the states into logits, (3, 11), and the softmax turns these
        into probabilities. The target: ten past seven.
    """
    shapes = _shapes(model, len(source), len(decoder_input))
    texts = [" ".join(tokens) for tokens in (source, decoder_input, target)]
    counts = [len(side.blocks) for side in (model.encoder, model.decoder)]
    has_norm = not isinstance(model.decoder.norm, nn.Identity)
    norm = ", and a final norm" if has_norm else ""
    residual = "a residual connection around it, and a norm after the sum"
    if has_norm:
        residual = "a norm before it and a residual connection around both"
    blocks = [_blocks(n) for n in counts]
    read, memory, x, _, logits = shapes
    return show(
        lambda narrow: _build(shapes, texts, counts, has_norm, narrow),
        "The full Transformer",
        f"The encoder reads the tokens {texts[0]}",
        f"Their embedding, {read}, and positions are added, and pass through "
        f"{blocks[0]} of self-attention and feed-forward network{norm}: the memory, {memory}",
        f"The decoder's input is the tokens {texts[1]}",
        f"Their embedding, {x}, and positions are added, and pass through "
        f"{blocks[1]} of causal self-attention, cross-attention, whose keys and values come "
        f"from the memory, and feed-forward network{norm}",
        f"Each part of a block has {residual}",
        f"The unembedding turns the states into logits, {logits}, and the softmax "
        "turns these into probabilities",
        f"The target: {texts[2]}",
    )


@torch.no_grad()
def _shapes(model: Transformer, source: int, target: int) -> list[str]:
    """Return the shapes of both embeddings, the memory, the states and the logits."""
    is_training = model.training
    model.eval()
    tokens = [torch.zeros(1, length, dtype=torch.int64) for length in (source, target)]
    memory, x = model.encode(tokens[0]), model.target_embedding(tokens[1])
    states, *_ = model.decoder(model.target_positions(x), memory, need_weights=False)
    made: list[Tensor] = [model.source_embedding(tokens[0]), memory, x, states]
    model.train(is_training)
    return [shape(step[0]) for step in [*made, model.unembedding(states)]]


def _build(
    shapes: Sequence[str], texts: Sequence[str], counts: Sequence[int], has_norm: bool, narrow: bool
) -> Node:
    wide, size, pad = (126, 12, 9) if narrow else (190, 14, 18)
    read, memory_, x, states, logits = shapes
    memory = part("memory", "residual", width=wide, bold=True)
    last = (
        part("unembedding", width=wide),
        part("softmax: probabilities", width=wide, text_size=size),
        part(texts[2], "word-1", width=wide, text_size=size),
    )
    names = "self-attention", "causal self-attention", "cross-attention", "feed-forward network"
    parts = [
        [part(name, width=wide, bold="att" in name, text_size=size) for name in side]
        for side in ((names[0], names[3]), names[1:])
    ]
    norms = [""] * has_norm
    above = [[f"({shapes[0].partition(',')[0][1:]})", read, "", *norms, memory_]]
    above += [[f"({x.partition(',')[0][1:]})", x, "", *norms, states, logits, ""]]
    sides = []
    for i, ends in enumerate(((memory,), last)):
        sublayers = [_sublayer(box, wide, pad, norm_first=has_norm) for box in parts[i]]
        inner = column(space(wide), *sublayers, gap=GAP)
        block = frame(inner, pad=pad, filled=False)
        _count(block, counts[i])
        first = part(texts[i], "word-0", width=wide), part("√D · embedding", width=wide)
        last_norm = [part("final norm", width=wide)] * has_norm
        top = [*first, _plus(wide)]
        stack = column(*top, block, *last_norm, *ends, gap=GAP)
        for one, other in pairwise(sublayers):
            inner.link(one.nodes[-1], other.nodes[0], width=2)
        before = pairwise([*top, sublayers[0].nodes[0]])
        after = pairwise([sublayers[-1].nodes[-1], *last_norm, *ends])
        for (start, end), text in zip([*before, *after], above[i], strict=False):
            stack.link(start, end, text=text, width=2)
        stack.nodes.insert(0, title(("encoder", "decoder")[i]))
        sides.append(stack)
    sides[1].nodes.append(note("target, for the loss", "muted"))
    wires = space(0, 0, lambda ax, _: _keys_and_values(ax, memory, parts[1][1]))
    return column(row(*sides, gap=14 if narrow else 100, align=0), wires, gap=0)


def _sublayer(box: Node, wide: float, pad: float, *, norm_first: bool) -> Node:
    """Surround a part of a block by its norm and its residual connection."""
    norm = part("norm", "muted", width=wide, height=20, text_size=12)
    plus = space(wide, 16, lambda ax, at: ax.node(at, "+"))
    nodes = [norm, box, plus] if norm_first else [box, plus, norm]
    sublayer = column(*nodes, gap=STEP)
    for start, end in pairwise(nodes):
        sublayer.link(start, end, width=2)

    def paint(ax: Canvas, _: Point) -> None:
        (x, top), right = sublayer.at(0.5, 0), sublayer.at(1, 0)[0] + pad / 2
        low = plus.at(0.5, 0.5)[1]
        ax.wire([(x, top - 11), (right, top - 11), (right, low), (x + 8, low)], width=2)

    sublayer.paint = paint
    return sublayer


def _plus(wide: float) -> Node:
    """Add the positions."""

    def paint(ax: Canvas, at: Point) -> None:
        left = at[0] - max(wide / 2, 71)
        ax.node(at, "+")
        ax.note((left, at[1]), "positions", align="left")
        ax.wire([(left + 58, at[1]), (at[0] - 8, at[1])])

    return space(wide, 16, paint)


def _count(block: Node, count: int) -> None:
    """Write the number of blocks into the frame of one."""

    def paint(ax: Canvas, _: Point) -> None:
        place = (block.left + 12, block.nodes[0].nodes[0].at(0, 1)[1] + GAP / 2)
        ax.say(place, _blocks(count), size=13, align="left", bold=True)

    block.paint = paint


def _blocks(count: int) -> str:
    return f"{count} block{'s' if count > 1 else ''}"


def _keys_and_values(ax: Canvas, memory: Node, attention: Node) -> None:
    """Lead the memory to the cross-attention of every block."""
    start, end = memory.at(1, 0.5), attention.at(0, 0.5)
    is_far = end[0] - start[0] > 60
    for side, role, align in ((-1, "key", "right"), (1, "value", "left")):
        x = (start[0] + end[0]) / 2 + side * (7 if is_far else 3)
        low, high = start[1] + 5 * side, end[1] + 5 * side
        ax.wire([(start[0], low), (x, low), (x, high), (end[0], high)], role, width=2)
        at = (x + 7 * side, (start[1] + end[1]) / 2)
        if not is_far:  # below the memory
            at = (memory.at(0.5, 0)[0] + 3 * side, start[1] + 28)
        ax.note(at, f"{role}s", role, align=align)
