"""Scaled dot-product attention.

Shape letters: ``T`` query length, ``S`` key length, ``D`` dimension of queries and keys, ``E``
dimension of values.
"""

import math

import torch
from torch import Tensor

from selfattn_book._arguments import (
    check_floating,
    check_mask,
    check_pair,
    check_query_and_key,
    check_value,
    without_autocast,
)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Apply a softmax to each row, over the keys that the mask allows.

    .. math:: w_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}

    with :math:`m_{ij} = 1` where the mask is ``True`` and 0 elsewhere.
    A fully masked row has weights of 0; it sums to 0, not to 1.

    Args:
        scores: ``(..., T, S)``, floating point.
        mask: boolean, ``True`` = may attend, broadcastable to the scores.

    Returns:
        ``(..., T, S)``, in the dtype of the scores; computed in float32 at least.

    Raises:
        TypeError, ValueError: a dtype is wrong, or the mask does not broadcast.

    Example:
        >>> scores = torch.tensor([[0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
        >>> masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    check_floating("scores", scores)
    precise = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        return scores.softmax(-1, dtype=precise).to(scores.dtype)
    check_mask(mask, scores.shape, scores.device)
    fully_masked = ~mask.any(-1, keepdim=True)
    # Such a row keeps its scores for now: -inf throughout would become NaN.
    scores = scores.masked_fill(~(mask | fully_masked), -torch.inf)
    weights = scores.softmax(-1, dtype=precise).to(scores.dtype)
    return weights.masked_fill(fully_masked, 0.0)


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Compute the attention weights: one distribution over the keys for each query.

    .. math:: W = \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        mask: boolean, ``True`` = may attend, broadcastable to the weights.

    Returns:
        ``(..., T, S)``: non-negative; a row sums to 1, or to 0 if it is fully masked.

    Example:
        >>> attention_weights(torch.zeros(2, 4), torch.ones(3, 4))
        tensor([[0.3333, 0.3333, 0.3333],
                [0.3333, 0.3333, 0.3333]])
    """
    check_query_and_key(query, key)
    # Divided first, and multiplied in float32 at least: float16 ends at 65504.
    scores = _product(query / math.sqrt(query.size(-1)), key.mT)  # (..., T, S)
    return masked_softmax(scores, mask).to(query.dtype)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Average the values for each query, weighted by how well their keys match it.

    .. math:: \operatorname{Attention}(Q, K, V) =
       \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)\, V

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``, one value per key.
        mask: boolean, ``True`` = may attend, broadcastable to the weights.

    Returns:
        The context ``(..., T, E)`` and the weights ``(..., T, S)``.
        A fully masked query has weights 0 and context 0.

    Raises:
        TypeError, ValueError: dtypes or shapes do not fit.

    Source:
        :cite:t:`vaswani2017attention`, equation 1.

    Example:
        >>> query = torch.tensor([[1.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> value = torch.tensor([[10.0], [20.0]])
        >>> scaled_dot_product_attention(query, key, value)
        (tensor([[11.9557]]), tensor([[0.8044, 0.1956]]))
    """
    check_value(key, value)
    check_pair("query", query, "value", value)
    weights = attention_weights(query, key, mask)  # (..., T, S)
    return weights @ value, weights


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Multiply matrices in float32 at least, also where autocast would choose float16."""
    precise = torch.promote_types(x.dtype, torch.float32)
    with without_autocast(x):
        return x.to(precise) @ y.to(precise)
