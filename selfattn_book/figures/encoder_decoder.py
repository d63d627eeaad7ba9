"""Encoder and decoder with all shapes."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, shape
from selfattn_book.draw.scene import Node, column, label, part, row, show, slot, space, title
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.figures.attention_map import attended, attention_map, numbered
from selfattn_book.masks import causal_mask

KINDS = ["self-attention", "causal self-attention", "cross-attention"]


def encoder_decoder(
    model: EncoderDecoder,
    source: Tensor,
    shifted: Tensor,
    head: int | None = None,
    *,
    names: Sequence[Sequence[str]] = (),
) -> Canvas:
    """Draw encoder and decoder with all shapes, and the attention weights of one head if wanted.

    Source and shifted target are ``(T, d_input)``, with T at most 3. With names of the source, the
    shifted target and the target, these are drawn instead of the shapes.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> model = EncoderDecoder(d_model=8, num_heads=3, d_ff=10)
        >>> print(encoder_decoder(model, torch.eye(2), torch.ones(2, 2), head=0).get_label())
        Encoder and decoder. The encoder reads the source, (2, 2), with self-attention and a
        feed-forward network, and returns the memory, (2, 8).
        The decoder reads the shifted target, (2, 2), with causal self-attention. The results,
        (2, 8), are the queries of a cross-attention; its keys and values come from the memory.
        Its contexts, (2, 8), pass through a feed-forward network, which returns the next points, (2, 2).
        Weights of the self-attention, head 1: s₁ attends 0.50 to s₁, 0.50 to s₂; s₂ ...
    """
    shapes, weights = _both(model, source, shifted)
    read, memory = numbered("s", len(source)), numbered("m", len(source))
    inputs = [read[-1], *numbered("t", len(shifted))[:-1]]
    if names:
        read, inputs = [*names[0]], [*names[1]]
    sides = [(read, read), (inputs, inputs), (inputs, memory)]
    message = [
        "Encoder and decoder",
        f"The encoder reads the source, {shapes[0]}, with self-attention and a feed-forward "
        f"network, and returns the memory, {shapes[1]}",
        f"The decoder reads the shifted target, {shapes[2]}, with causal self-attention",
        f"The results, {shapes[3]}, are the queries of a cross-attention; its keys and values come "
        "from the memory",
        f"Its contexts, {shapes[4]}, pass through a feed-forward network, which returns the next "
        f"points, {shapes[5]}",
    ]
    maps = []
    if head is not None:
        maps = [(given[head], *side) for given, side in zip(weights, sides, strict=True)]
        message += [
            f"Weights of the {kind}, head {head + 1}: {attended(*given)}"
            for kind, given in zip(KINDS, maps, strict=True)
        ]
    texts = [f"source: {', '.join(read)}", f"input: {', '.join(inputs)}"]
    texts.append(f"predictions of {', '.join(names[2])}" if names else f"next points {shapes[-1]}")
    drawn = [""] * len(shapes) if names else shapes
    return show(lambda narrow: _whole(texts, drawn, maps, narrow=narrow), *message)


@torch.no_grad()
def _both(model: EncoderDecoder, source: Tensor, shifted: Tensor) -> tuple[list[str], list[Tensor]]:
    """Return the shapes from the source to the outputs, and the weights of the three layers."""
    decoder, mask = model.decoder, causal_mask(len(shifted))
    memory, reads = model.encoder(source[None])
    output, back, asks = decoder(shifted[None], memory, mask)
    x = decoder.positions(shifted[None])
    states, _ = decoder.self_attention(x, x, x, mask)
    contexts, _ = decoder.cross_attention(states, memory, memory)
    steps = source[None], memory, shifted[None], states, contexts, output
    return [shape(step[0]) for step in steps], [given[0] for given in (reads, back, asks)]


def _whole(
    texts: Sequence[str], shapes: Sequence[str], maps: Sequence[Any], *, narrow: bool
) -> Node:
    """Arrange encoder and decoder in rows of two, with the attention maps beside or below."""
    size: Any = {"width": 132 if narrow else 168, "height": 32}
    source, inputs = (part(text, **size) for text in texts[:2])
    kinds = KINDS[0], "causal attention" if narrow else KINDS[1], KINDS[2]
    reads, looks, asks = (part(text, bold=True, **size) for text in kinds)
    network: Any = {"text": "feed-forward network", "text_size": 13 if narrow else 14}
    first, last = part(**network, **size), part(**network, **size)
    memory = part("memory", "residual", bold=True, **size)
    result = label(texts[2], bold=True, width=size["width"])
    drawn = [attention_map(w, i, j, side=26) for w, i, j in maps] or [space(0)] * 3
    empty, none = space(size["width"]), space(0)
    lines = [
        (none, title("encoder"), title("decoder"), none),
        (none, source, inputs, none),
        (drawn[0], reads, looks, drawn[1]),
        (none, first, empty, none),
        (none, memory, asks, drawn[2]),
        (none, empty, last, none),
        (none, empty, result, none),
    ]
    root = column(*(_line(*nodes, narrow=narrow) for nodes in lines), gap=30)
    for start, end, role, text in (
        (source, reads, "ink", shapes[0]),
        (reads, first, "ink", ""),
        (first, memory, "ink", shapes[1]),
        (inputs, looks, "ink", shapes[2]),
        (looks, asks, "query", f"queries {shapes[3]}".strip()),
        (asks, last, "context", f"contexts {shapes[4]}".strip()),
        (last, result, "ink", ""),
    ):
        x = 0.17 if narrow else 0.5  # beside the attention maps
        root.link(start, end, role, text=text, ends=((x, 1), (x, 0)), width=2)
    for role, y in (("key", 0.28), ("value", 0.72)):
        root.link(memory, asks, role, ends=((1, y), (0, y)), text=f"{role}s", width=2)
    return root


def _line(left: Node, encoder: Node, decoder: Node, right: Node, *, narrow: bool) -> Node:
    if narrow:
        pairs = ((encoder, left), (decoder, right))
        sides = [column(node, below, space(132), gap=2) for node, below in pairs]
        return row(*sides, gap=40, align=0)
    nodes = slot(left, 104), slot(encoder, 168), space(64), slot(decoder, 168), slot(right, 104)
    return row(*nodes, gap=4)
