"""Encoder and decoder with all shapes."""

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import shape
from selfattn_book.draw.scene import Node, column, label, part, row, show, slot, space, title
from selfattn_book.draw.sheet import SMALL
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.figures.attention_map import attended, attention_map, numbered
from selfattn_book.masks import causal_mask

KINDS = ["self-attention", "causal self-attention", "cross-attention"]


def encoder_decoder(
    model: EncoderDecoder, source: Tensor, shifted: Tensor, head: int | None = None
) -> Axes:
    """Draw encoder and decoder with all shapes, and the attention weights of one head if wanted.

    Args:
        model: encoder-decoder.
        source: ``(S, d_input)``, with S at most 3.
        shifted: ``(T, d_input)``, the decoder's input; T is at most 3.
        head: head of which the weights are drawn, from 0.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> model = EncoderDecoder(d_model=8, num_heads=3, d_ff=10)
        >>> print(encoder_decoder(model, torch.eye(2), torch.ones(3, 2)).get_label())
        Encoder and decoder. The encoder reads the source, (2, 2), with self-attention and a
        feed-forward network, and returns the memory, (2, 8).
        The decoder reads the shifted target, (3, 2), with causal self-attention. The results,
        (3, 8), are the queries of a cross-attention; its keys and values come from the memory.
        Its contexts, (3, 8), pass through a feed-forward network, which returns the next points, (3, 2).
        >>> ax = encoder_decoder(model, torch.eye(2), torch.ones(2, 2), head=0)
        >>> print(ax.get_label().partition("Weights of the causal ")[2])
        self-attention, head 1: s₂ attends 1.00 to s₂; t₁ attends 0.50 to s₂, 0.50 to t₁. Weights ...
    """
    steps, weights = _both(model, source, shifted)
    read = numbered("s", len(source))
    fed = [read[-1], *numbered("t", len(shifted))[:-1]]
    sides = [(read, read), (fed, fed), (fed, numbered("m", len(source)))]
    message, maps = _sentences(steps), []
    for kind, given, side in zip(KINDS, weights, sides, strict=True):
        if head is not None:
            message.append(
                f"Weights of the {kind}, head {head + 1}: {attended(given[head], *side)}"
            )
            maps.append((given[head], *side))
    texts = [f"source: {', '.join(read)}", f"input: {', '.join(fed)}"]
    return show(lambda narrow: _whole(texts, steps, maps, narrow=narrow), *message)


def _sentences(steps: Sequence[Tensor]) -> list[str]:
    source, memory, shifted, states, contexts, output = map(shape, steps)
    return [
        "Encoder and decoder",
        f"The encoder reads the source, {source}, with self-attention and a feed-forward network, "
        f"and returns the memory, {memory}",
        f"The decoder reads the shifted target, {shifted}, with causal self-attention",
        f"The results, {states}, are the queries of a cross-attention; its keys and values come "
        "from the memory",
        f"Its contexts, {contexts}, pass through a feed-forward network, which returns the next "
        f"points, {output}",
    ]


@torch.no_grad()
def _both(
    model: EncoderDecoder, source: Tensor, shifted: Tensor
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the tensors from the source to the outputs, and the weights of the three layers."""
    decoder, mask = model.decoder, causal_mask(len(shifted))
    memory, reads = model.encoder(source[None])
    output, back, asks = decoder(shifted[None], memory, mask)
    x = decoder.place(shifted[None])
    states, _ = decoder.self_attention(x, x, x, mask)
    contexts, _ = decoder.cross_attention(states, memory, memory)
    steps = source[None], memory, shifted[None], states, contexts, output
    return [step[0] for step in steps], [given[0] for given in (reads, back, asks)]


def _whole(
    texts: Sequence[str], steps: Sequence[Tensor], maps: Sequence[Any], *, narrow: bool
) -> Node:
    """Arrange encoder and decoder in rows of two, with the attention maps beside or below."""
    wide = 132 if narrow else 168
    source, fed = (part(text, width=wide, height=32) for text in texts)
    reads, looks, asks = (
        part(text, width=wide, height=32, bold=True)
        for text in ("self-attention", "causal attention" if narrow else KINDS[1], KINDS[2])
    )
    small: Any = {"text_size": SMALL} if narrow else {}
    first, last = (part("feed-forward network", width=wide, height=32, **small) for _ in range(2))
    memory = part("memory", "residual", width=wide, height=32, bold=True)
    result = label(f"next points {shape(steps[-1])}", bold=True, width=wide)
    drawn = [attention_map(*given) for given in maps] or [space(0)] * 3
    empty = space(wide)
    lines = [
        (space(0), title("encoder"), title("decoder"), space(0)),
        (space(0), source, fed, space(0)),
        (drawn[0], reads, looks, drawn[1]),
        (space(0), first, empty, space(0)),
        (space(0), memory, asks, drawn[2]),
        (space(0), empty, last, space(0)),
        (space(0), empty, result, space(0)),
    ]
    rows = [_narrow(*nodes) if narrow else _beside(*nodes) for nodes in lines]
    root = column(*rows, gap=30)
    _flows(
        root, [source, reads, first, memory, fed, looks, asks, last, result], steps, narrow=narrow
    )
    return root


def _beside(left: Node, encoder: Node, decoder: Node, right: Node) -> Node:
    sides = slot(encoder, 168), space(64), slot(decoder, 168)
    return row(slot(left, 88), *sides, slot(right, 88), gap=4)


def _narrow(left: Node, encoder: Node, decoder: Node, right: Node) -> Node:
    pairs = ((encoder, left), (decoder, right))
    sides = [column(node, below, space(132), gap=2) for node, below in pairs]
    return row(*sides, gap=40, align=0)


def _flows(root: Node, nodes: Sequence[Node], steps: Sequence[Tensor], *, narrow: bool) -> None:
    """Connect the parts, with the shapes of the tensors between them."""
    source, reads, first, memory, fed, looks, asks, last, result = nodes
    texts = list(map(shape, steps))
    for start, end, role, text in (
        (source, reads, "ink", texts[0]),
        (reads, first, "ink", ""),
        (first, memory, "ink", texts[1]),
        (fed, looks, "ink", texts[2]),
        (looks, asks, "query", f"queries {texts[3]}"),
        (asks, last, "context", f"contexts {texts[4]}"),
        (last, result, "ink", ""),
    ):
        x = 0.17 if narrow else 0.5  # beside the attention maps
        root.link(start, end, role, text=text, ends=((x, 1), (x, 0)), width=2)
    for role, y in (("key", 0.28), ("value", 0.72)):
        root.link(memory, asks, role, ends=((1, y), (0, y)), text=f"{role}s", width=2)
