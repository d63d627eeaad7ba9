"""The attention equation.

Shape letters: ``T`` query length, ``S`` key length, ``D`` width.
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
    is_autocast,
)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Turn scores into weights: a softmax along each row, over the keys that the row may see.

    .. math:: w_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}

    with :math:`m_{ij} = 1` where the mask is ``True`` and 0 elsewhere.
    A row that may see nothing gets weights of 0; it sums to 0, not to 1.

    Args:
        scores: ``(..., T, S)``, floating point.
        mask: boolean, ``True`` = may attend, broadcastable to the scores.

    Returns:
        ``(..., T, S)``, in the dtype of the scores; computed in float32 at least.

    Raises:
        TypeError: the scores are not floating point, or the mask is not boolean.
        ValueError: the mask does not broadcast to the shape of the scores.

    Example:
        >>> scores = torch.tensor([[0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
        >>> masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    _check_scores(scores, mask)
    precise = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        return scores.softmax(-1, dtype=precise).to(scores.dtype)
    blind = ~mask.any(-1, keepdim=True)
    # A blind row keeps its scores for now: nothing but -inf would become NaN.
    scores = scores.masked_fill(~(mask | blind), -torch.inf)
    weights = scores.softmax(-1, dtype=precise).to(scores.dtype)
    return weights.masked_fill(blind, 0.0)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None = None
) -> Tensor:
    r"""Compare every query with every key, and share out each query's attention.

    .. math:: W = \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``.

    Returns:
        ``(..., T, S)``: non-negative, each row sums to 1, or to 0 where it may see nothing.

    Raises:
        TypeError: dtypes differ or are not floating point, or the mask is not boolean.
        ValueError: the widths differ, or the mask does not broadcast to ``(..., T, S)``.

    Source:
        :cite:t:`vaswani2017attention`, equation 1.

    Example:
        >>> attention_weights(torch.zeros(2, 4), torch.ones(3, 4))
        tensor([[0.3333, 0.3333, 0.3333],
                [0.3333, 0.3333, 0.3333]])
        >>> attention_weights(torch.zeros(2, 4), torch.ones(3, 5))
        Traceback (most recent call last):
        ValueError: query (..., T, D) and key (..., S, D) must have one width D; got (2, 4) and (3, 5)
    """
    check_query_and_key(query, key)
    # Divided first, and multiplied in float32 at least: float16 ends at 65504.
    scores = _product(query / math.sqrt(query.size(-1)), key.mT)  # (..., T, S)
    return masked_softmax(scores, mask).to(query.dtype)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Give every query the average of the values, weighted by how well their keys match.

    .. math:: \operatorname{Attention}(Q, K, V) =
       \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)\, V

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``, one value a key.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``;
            with heads that is ``(B, H, T, S)``.

    Returns:
        The context ``(..., T, E)`` and the weights ``(..., T, S)``.
        A query that may see nothing has weights 0 and context 0.

    Raises:
        TypeError: dtypes differ or are not floating point, or the mask is not boolean.
        ValueError: widths or numbers of keys differ, or the mask does not broadcast.

    Source:
        :cite:t:`vaswani2017attention`, equation 1.

    Example:
        >>> query = torch.tensor([[1.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> value = torch.tensor([[10.0], [20.0]])
        >>> context, weights = scaled_dot_product_attention(query, key, value)
        >>> weights
        tensor([[0.8044, 0.1956]])
        >>> context
        tensor([[11.9557]])
        >>> scaled_dot_product_attention(query, key, value[:1])
        Traceback (most recent call last):
        ValueError: key (..., S, D) and value (..., S, E) must have one length S; got (2, 2) and (1, 1)
        >>> scaled_dot_product_attention(query.expand(2, 1, 2), key, value.expand(3, 2, 1))
        Traceback (most recent call last):
        ValueError: the leading axes of query and value must broadcast; got (2, 1, 2) and (3, 2, 1)
    """
    check_value(key, value)
    check_pair("query", query, "value", value)
    weights = attention_weights(query, key, mask)  # (..., T, S)
    return weights @ value, weights


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Multiply in float32 at least, also where autocast would go back to float16.

    >>> large = torch.full((1, 1), 300.0, dtype=torch.float16)
    >>> _product(large, large), large @ large
    (tensor([[90000.]]), tensor([[inf]], dtype=torch.float16))
    >>> with torch.autocast("cpu", torch.float16):
    ...     _product(large, large)
    tensor([[90000.]])
    """
    precise = torch.promote_types(x.dtype, torch.float32)
    x, y = x.to(precise), y.to(precise)
    if not is_autocast(x):
        return x @ y
    with torch.autocast(x.device.type, enabled=False):
        return x @ y


def _check_scores(scores: Tensor, mask: Tensor | None) -> None:
    """Raise unless the scores are numbers and the mask fits them.

    >>> _check_scores(torch.zeros(2, 3, dtype=torch.int64), None)
    Traceback (most recent call last):
    TypeError: scores must be a floating-point tensor; got dtype torch.int64
    """
    check_floating("scores", scores)
    if mask is not None:
        check_mask(mask, scores.shape, scores.device)
