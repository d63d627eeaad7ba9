"""Multi-head attention with a module for each head, to compare the book's code with.

Attention is often first written like this: a head has three projections, the heads are called one
after the other in a loop, and their contexts are concatenated.
"""

import math
from copy import deepcopy

import torch
from torch import Tensor, nn

from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.multi_head import MultiHeadAttention


class Head(nn.Module):
    """One head, with three projections."""

    def __init__(self, d_input: int, d_head: int) -> None:
        super().__init__()
        self.project_query = nn.Linear(d_input, d_head)
        self.project_key = nn.Linear(d_input, d_head)
        self.project_value = nn.Linear(d_input, d_head)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Return the context of one head."""
        query, key = self.project_query(query), self.project_key(key)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=-1) @ self.project_value(value)


class Heads(nn.Module):
    """Heads in a loop, with a copy of the weights of the book's module, which has biases."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        super().__init__()
        d_input, d_head = attention.project_query.in_features, attention.d_head
        self.heads = nn.ModuleList(Head(d_input, d_head) for _ in range(attention.num_heads))
        self.project_output = deepcopy(attention.project_output)
        for name, _ in Head(1, 1).named_children():
            whole = attention.get_submodule(name).state_dict()
            parts = [whole[kind].split(d_head) for kind in ("weight", "bias")]
            for head, weight, bias in zip(self.heads, *parts, strict=True):
                head.get_submodule(name).load_state_dict({"weight": weight, "bias": bias})
        self.to(self.project_output.weight)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **_: bool
    ) -> tuple[Tensor, None]:
        """Return the context, and no weights."""
        contexts = [head(query, key, value, mask) for head in self.heads]
        return self.project_output(torch.cat(contexts, dim=-1)), None


def with_separate_heads(model: EncoderDecoder) -> EncoderDecoder:
    """Replace each attention of a model by separate heads with the same weights, in place."""
    for owner in (model.encoder, model.decoder):
        for name, part in list(owner.named_children()):
            if isinstance(part, MultiHeadAttention):
                setattr(owner, name, Heads(part))
    return model
