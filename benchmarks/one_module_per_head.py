"""The yardstick of the training benchmark, not the book's code: every head is a module of its own.

This is how attention with many heads is often written first: a head has three maps, the heads are
called one after the other in a loop, and their contexts are concatenated.
It computes what :class:`selfattn_book.encoder_decoder.EncoderDecoder` computes without positions.
"""

import math

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
    """Return the yardstick with a copy of the weights of the book's model."""
    encoder, decoder = model.encoder, model.decoder
    attention, network = encoder.attention, encoder.feed_forward
    d_ff = len(network.get_parameter("0.bias"))
    d_input = attention.project_query.in_features
    yardstick = OneModulePerHead(attention.d_head, attention.num_heads, d_ff, d_input).to(
        attention.project_query.weight.dtype
    )
    copy_heads(attention, yardstick.source_heads)
    copy_heads(decoder.self_attention, yardstick.target_heads)
    copy_heads(decoder.cross_attention, yardstick.memory_heads)
    yardstick.source_network.load_state_dict(network.state_dict())
    yardstick.target_network.load_state_dict(decoder.feed_forward.state_dict())
    return yardstick


@torch.no_grad()
def copy_heads(attention: MultiHeadAttention, heads: Heads) -> None:
    """Give the heads, which have biases, a copy of the weights of the book's module."""
    heads.output_map.load_state_dict(attention.project_output.state_dict())
    maps = {
        "query_map": attention.project_query,
        "key_map": attention.project_key,
        "value_map": attention.project_value,
    }
    for name, whole in maps.items():
        weights = whole.weight.split(attention.d_head)
        biases = whole.bias.split(attention.d_head)
        for head, weight, bias in zip(heads.heads, weights, biases, strict=True):
            part = head.get_submodule(name)
            part.load_state_dict({"weight": weight, "bias": bias})
