"""Run a model with an attention map that was changed by hand, to see what the model uses.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads, ``D`` width.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from torch import Tensor, nn

from selfattn_book._arguments import check_boolean, check_integer
from selfattn_book.language import LanguageModel
from selfattn_book.multi_head import MultiHeadAttention

Edit = Callable[[Tensor], Tensor]


def remove(weights: Tensor, cells: Tensor) -> Tensor:
    r"""Take cells out of a map, and share each row out among the cells that are left.

    .. math:: w'_{ij} = \frac{(1 - c_{ij})\, w_{ij}}{\sum_k (1 - c_{ik})\, w_{ik}}

    These are the weights under a mask that hides the cells. A row that loses all it had is zero.

    Args:
        weights: ``(B, H, T, S)``.
        cells: boolean, broadcastable to the weights.

    Raises:
        TypeError: the cells are not boolean.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
        >>> remove(weights, torch.tensor([True, False, False]))
        tensor([[0.0000, 0.6000, 0.4000],
                [0.0000, 0.0000, 0.0000]])
    """
    check_boolean(cells)
    left = weights.masked_fill(cells, 0)
    total = left.sum(-1, keepdim=True)
    return left / total.masked_fill(total == 0, 1)


def keep_only(weights: Tensor, cells: Tensor) -> Tensor:
    """Take all other cells out of a map; a row without such a cell stays as it is.

    Args:
        weights: ``(B, H, T, S)``.
        cells: boolean, broadcastable to the weights.

    Raises:
        TypeError: the cells are not boolean.

    Example:
        >>> import torch
        >>> weights = torch.tensor([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1]])
        >>> cells = torch.tensor([[False, True, True], [False, False, False]])
        >>> keep_only(weights, cells)
        tensor([[0.0000, 0.6000, 0.4000],
                [0.7000, 0.2000, 0.1000]])
    """
    check_boolean(cells)
    return remove(weights, ~cells).where(cells.any(-1, keepdim=True), weights)


def with_map(model: LanguageModel, layer: int, edit: Edit) -> LanguageModel:
    """Return a copy of a model in which one layer's map is changed before it is used.

    Args:
        model: stays as it is.
        layer: which block, from 0.
        edit: takes the weights ``(B, H, T, S)`` and returns those that shall be used.

    Raises:
        ValueError: the model has no such layer.

    Example:
        >>> import torch
        >>> from selfattn_book.language import decoder_only
        >>> model = decoder_only(5, d_model=4, num_layers=2, num_heads=1, context_length=3)
        >>> model, tokens = model.double(), torch.tensor([[0, 1, 2]])
        >>> unchanged = with_map(model, 1, lambda weights: weights)
        >>> unchanged(tokens).allclose(model(tokens))
        True
        >>> _, (first, second) = with_map(model, 1, lambda w: 0 * w).hidden_states(tokens)
        >>> first.sum(-1), second.sum(-1)
        (tensor([[[1., 1., 1.]]], ...), tensor([[[0., 0., 0.]]], ...))
    """
    layer = check_integer("layer", layer, least=0)
    if layer >= len(model.blocks):
        raise ValueError(f"layer must be below {len(model.blocks)}; got {layer}")
    changed = deepcopy(model)
    block: Any = changed.blocks[layer]
    block.attention = EditedAttention(block.attention, edit)
    return changed


class EditedAttention(nn.Module):
    """Attend as a module does, but with weights that were changed.

    Args:
        attention: whose weights are changed.
        edit: takes the weights ``(B, H, T, S)`` and returns those that shall be used.

    Example:
        >>> import torch
        >>> attention, x = MultiHeadAttention(6, 3), torch.ones(5, 2, 6)
        >>> same, _ = EditedAttention(attention, lambda weights: weights)(x, x, x)
        >>> same.allclose(attention(x, x, x)[0], atol=1e-6)
        True
        >>> nothing, _ = EditedAttention(attention, lambda weights: 0 * weights)(x, x, x)
        >>> nothing.allclose(attention.project_output.bias)
        True
    """

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
        need_weights: bool = True,
        cache: object | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the context ``(B, T, D)`` and the changed weights, which are always formed."""
        if cache is not None:
            raise ValueError("an edited map must be used without a cache; got one")
        _, weights = self.attention(query, key, value, mask)
        weights = self.edit(weights)  # (B, H, T, S)
        heads = self.attention.num_heads, self.attention.d_head
        value = self.attention.project_value(value).unflatten(-1, heads)
        context = weights @ value.transpose(1, 2)  # (B, H, T, D)
        merged = context.transpose(1, 2).flatten(2)
        return self.attention.project_output(merged), weights
