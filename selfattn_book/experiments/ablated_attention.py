"""Attention without projections, or without comparison, to test whether a result needs them.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``D`` dimension.
"""

import torch
from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention


class UnprojectedAttention(nn.Module):
    r"""Attention with one head and no projections: each vector is query, key and value at once.

    .. math:: Y = \operatorname{softmax}\!\big(X_q X_k^{\mathsf T} / \sqrt{D}\big)\, X_v

    Example:
        >>> x = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])
        >>> context, weights = UnprojectedAttention()(x, x, x)
        >>> weights
        tensor([[[[0.8044, 0.1956],
                  [0.1956, 0.8044]]]])
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the context ``(B, T, D)`` and the weights ``(B, 1, T, S)``."""
        context, weights = scaled_dot_product_attention(query, key, value)
        return context, weights.unsqueeze(1)


class UniformAttention(nn.Module):
    r"""Give every query the plain mean of the values.

    .. math:: y_i = \frac{1}{S} \sum_j v_j

    Example:
        >>> x = torch.tensor([[[1.0, 0.0], [-1.0, 2.0], [3.0, 1.0]]])
        >>> UniformAttention()(x[:, :1], x, x)   # one query, three keys
        (tensor([[[1., 1.]]]), tensor([[[[0.3333, 0.3333, 0.3333]]]]))
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return the context ``(B, T, D)`` and the weights ``(B, 1, T, S)``."""
        shape = (query.size(0), 1, query.size(1), key.size(1))
        weights = torch.ones(shape).to(value) / key.size(1)
        return weights.squeeze(1) @ value, weights


def with_parts(model: nn.Module, **parts: nn.Module) -> nn.Module:
    """Replace parts of a model by their names, in place, and return the model.

    Raises:
        AttributeError: the model has no part of that name.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> with_parts(model, **{"1": nn.Identity()})[1]
        Identity()
    """
    for name, part in parts.items():
        model.get_submodule(name)  # raises if there is none
        setattr(model, name, part)
    return model
