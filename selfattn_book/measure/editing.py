"""Attention knockout: run a model with an edited attention map, to see which weights it uses.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads, ``D`` dimension.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from torch import Tensor, nn

from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention

Edit = Callable[[Tensor], Tensor]


def remove(weights: Tensor, cells: Tensor) -> Tensor:
    r"""Remove cells from a map, and divide each row by the sum of the rest (attention knockout).

    .. math:: w'_{ij} = \frac{(1 - c_{ij})\, w_{ij}}{\sum_k (1 - c_{ik})\, w_{ik}}

    These are the weights under a mask that hides the cells. A row without a rest is zero.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
        >>> remove(weights, torch.tensor([True, False, False]))
        tensor([[0.0000, 0.6000, 0.4000],
                [0.0000, 0.0000, 0.0000]])
    """
    left = weights.masked_fill(cells, 0)
    total = left.sum(-1, keepdim=True)
    return left / total.masked_fill(total == 0, 1)


def keep_only(weights: Tensor, cells: Tensor) -> Tensor:
    """Remove all other cells from a map; a row without a kept cell is unchanged.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1]])
        >>> keep_only(weights, torch.tensor([[False, True, True], [False, False, False]]))
        tensor([[0.0000, 0.6000, 0.4000],
                [0.7000, 0.2000, 0.1000]])
    """
    return remove(weights, ~cells).where(cells.any(-1, keepdim=True), weights)


def edit_map(model: LanguageModel, layer: int, edit: Edit) -> LanguageModel:
    """Return a copy of a model in which the map ``(B, H, T, S)`` of one layer is edited before its use.

    Example:
        >>> import torch
        >>> from selfattn_book.language import decoder_only
        >>> model = decoder_only(5, d_model=4, num_layers=2, num_heads=1, context_length=3)
        >>> edited = edit_map(model, 1, lambda weights: 0 * weights)
        >>> _, (first, second) = edited.hidden_states(torch.tensor([[0, 1, 2]]))
        >>> first.sum().round(), second.sum()
        (tensor(3., ...), tensor(0., ...))
    """
    edited = deepcopy(model)
    block: Any = edited.blocks[layer]
    block.attention = EditedAttention(block.attention, edit)
    return edited


class EditedAttention(nn.Module):
    """Attention with edited weights."""

    def __init__(self, attention: MultiHeadAttention, edit: Edit) -> None:
        super().__init__()
        self.attention, self.edit = attention, edit

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = True,
        cache: object | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the context ``(B, T, D)`` and the edited weights, which are always computed."""
        if cache is not None:
            raise ValueError("an edited map must be used without a cache; got one")
        _, weights = self.attention(query, key, value, mask, is_causal=is_causal)
        weights = self.edit(weights)  # (B, H, T, S)
        heads = self.attention.num_heads, self.attention.d_head
        value = self.attention.project_value(value).unflatten(-1, heads)
        context = weights @ value.transpose(1, 2)  # (B, H, T, D)
        merged = context.transpose(1, 2).flatten(2)
        return self.attention.project_output(merged), weights
