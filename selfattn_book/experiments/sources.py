"""Initialization in the order of the book's sources, to reproduce their printed numbers."""

import torch
from torch import nn

from selfattn_book.multi_head import MultiHeadAttention


def draw_in_source_order(model: nn.Module) -> nn.Module:
    """Draw all parameters anew, in place, in the order of the sources, and return the model.

    An attention draws its output projection first, then head by head its query, key and value
    projections, each weight before its bias; other linear layers follow in the model's order.
    All are drawn in float32 from PyTorch's global generator.

    Raises:
        TypeError: the model has parameters for which the sources give no order.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        The encoder of the course, from its seed to its printed states:

        >>> from selfattn_book.encoder_decoder import COURSE_SIZES, Encoder
        >>> encoder = Encoder(**COURSE_SIZES)
        >>> _ = torch.manual_seed(11)
        >>> states, _ = draw_in_source_order(encoder)(torch.tensor([[[-1.0, -1.0], [-1.0, 1.0]]]))
        >>> states.detach()
        tensor([[[-0.0498,  0.2193],
                 [-0.0642,  0.2258]]])
    """
    for module in model.modules():
        if not isinstance(module, nn.Linear) and list(module.parameters(recurse=False)):
            rule = "the model must be made of attention and linear layers"
            raise TypeError(f"{rule}; got {type(module).__name__}")
    _draw_parts(model)
    return model


def _draw_parts(model: nn.Module) -> None:
    if isinstance(model, MultiHeadAttention):
        draw_heads(model)
    elif isinstance(model, nn.Linear):
        _draw(model, slice(None))
    else:
        for part in model.children():
            _draw_parts(part)


def draw_heads(attention: MultiHeadAttention) -> None:
    """Draw the output projection, then head by head query, key and value projections."""
    _draw(attention.project_output, slice(None))
    for head in range(attention.num_heads):
        rows = slice(head * attention.d_head, (head + 1) * attention.d_head)
        _draw(attention.project_query, rows)
        _draw(attention.project_key, rows)
        _draw(attention.project_value, rows)


@torch.no_grad()
def _draw(linear: nn.Linear, rows: slice) -> None:
    """Draw some rows of a linear layer, as a layer of its own."""
    size, bias = len(linear.weight[rows]), linear.bias is not None
    layer = nn.Linear(linear.in_features, size, bias, dtype=torch.float32)
    linear.weight[rows] = layer.weight.to(linear.weight)
    if bias:
        linear.bias[rows] = layer.bias.to(linear.bias)
