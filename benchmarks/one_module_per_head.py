"""Multi-head attention with a module for each head, to compare the book's code with.

Attention is often first written like this: a head has three projections, the heads are called one
after the other in a loop, and their contexts are concatenated.
It computes what :class:`selfattn_book.encoder_decoder.EncoderDecoder` computes without positions.
"""

import math
from copy import deepcopy

import torch
from torch import Tensor, nn

from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.multi_head import MultiHeadAttention


class Head(nn.Module):
    """One head, with three maps."""

    def __init__(self, d_input: int, d_head: int) -> None:
        super().__init__()
        self.query_map = nn.Linear(d_input, d_head)
        self.key_map = nn.Linear(d_input, d_head)
        self.value_map = nn.Linear(d_input, d_head)

    def forward(self, asking: Tensor, asked: Tensor, mask: Tensor | None) -> Tensor:
        """Return the context of ``asking`` in ``asked``."""
        query, key = self.query_map(asking), self.key_map(asked)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=-1) @ self.value_map(asked)


class Heads(nn.Module):
    """Heads in a loop, and the map of their contexts."""

    def __init__(
        self, d_input: int, d_model: int, num_heads: int, d_head: int | None = None
    ) -> None:
        super().__init__()
        d_head = d_model if d_head is None else d_head
        self.output_map = nn.Linear(num_heads * d_head, d_model)
        self.heads = nn.ModuleList(Head(d_input, d_head) for _ in range(num_heads))

    def forward(self, asking: Tensor, asked: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return what the heads have found together."""
        contexts = [head(asking, asked, mask) for head in self.heads]
        return self.output_map(torch.cat(contexts, dim=-1))


class OneModulePerHead(nn.Module):
    """The encoder and decoder of Part III, built from such heads."""

    def __init__(
        self, d_model: int = 2, num_heads: int = 3, d_ff: int = 10, d_input: int = 2
    ) -> None:
        super().__init__()
        self.source_heads = Heads(d_input, d_model, num_heads)
        self.source_network = _network(d_model, d_ff, d_model)
        self.target_heads = Heads(d_input, d_model, num_heads)
        self.memory_heads = Heads(d_model, d_model, num_heads)
        self.target_network = _network(d_model, d_ff, d_input)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return for each target position what the model says of the next."""
        memory = self.source_network(self.source_heads(source, source))
        length = target.size(1)
        past = torch.ones(length, length, dtype=torch.bool).tril()
        states = self.target_heads(target, target, past)
        return self.target_network(self.memory_heads(states, memory))


def _network(d_in: int, d_ff: int, d_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(d_in, d_ff), nn.ReLU(), nn.Linear(d_ff, d_out))


def with_weights_of(model: EncoderDecoder) -> OneModulePerHead:
    """Return this model with a copy of the weights of the book's model."""
    encoder, decoder, copy = model.encoder, model.decoder, OneModulePerHead()
    copy.source_heads = heads_of(encoder.attention)
    copy.source_network = deepcopy(encoder.feed_forward)
    copy.target_heads = heads_of(decoder.self_attention)
    copy.memory_heads = heads_of(decoder.cross_attention)
    copy.target_network = deepcopy(decoder.feed_forward)
    return copy


@torch.no_grad()
def heads_of(attention: MultiHeadAttention) -> Heads:
    """Return separate heads with a copy of the weights of the book's module, which has biases."""
    output = attention.project_output
    d_input, width = attention.project_query.in_features, attention.d_head
    heads = Heads(d_input, output.out_features, attention.num_heads, width).to(output.weight)
    heads.output_map.load_state_dict(output.state_dict())
    for name in ("query", "key", "value"):
        whole = attention.get_submodule(f"project_{name}").state_dict()
        parts = [whole[kind].split(width) for kind in ("weight", "bias")]
        for head, weight, bias in zip(heads.heads, *parts, strict=True):
            head.get_submodule(f"{name}_map").load_state_dict({"weight": weight, "bias": bias})
    return heads
