"""Attention by blocks: the softmax is kept up to date, and no row of weights is ever formed.

Shape letters: ``T`` query length, ``S`` key length, ``D`` width, ``E`` width of the values.
"""

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from selfattn_book._arguments import (
    check_integer,
    check_mask,
    check_pair,
    check_query_and_key,
    check_value,
    is_autocast,
)


def blockwise_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    block: int = 512,
) -> Tensor:
    r"""Return the context of attention in memory that grows with the length, not with its square.

    The queries are cut into blocks, and each of them meets the keys block by block, in
    :func:`one_pass`. What is computed is the context of
    :func:`~selfattn_book.attention.scaled_dot_product_attention`, to rounding.

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``, one value a key.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``.
        block: how many queries, and how many keys, are looked at together.

    Returns:
        ``(..., T, E)``, in the dtype of the query; computed in float32 at least.
        A query that may see nothing has context 0. There are no weights to return.

    Raises:
        TypeError: dtypes differ or are not floating point, the mask is not boolean, or the block
            is no integer.
        ValueError: widths or numbers of keys differ, the mask does not broadcast, or the block is
            below 1.

    Source:
        :cite:t:`milakov2018online`, section 3; :cite:t:`rabe2021memory`; :cite:t:`dao2022flash`.

    Example:
        >>> x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> blockwise_attention(x, x, x, block=2)
        tensor([[0.5989, 0.8022],
                [0.8022, 0.5989],
                [0.7517, 0.7517]])
        >>> blockwise_attention(x, x, x, torch.zeros(3, 3, dtype=torch.bool), block=1)
        tensor([[0., 0.],
                [0., 0.],
                [0., 0.]])
        >>> blockwise_attention(x, x, x, block=0)
        Traceback (most recent call last):
        ValueError: block must be at least 1; got 0
    """
    query, mask, block = _checked((query, key, value), mask, block)
    dtype = torch.promote_types(query.dtype, torch.float32)
    pieces = _pieces(query.to(dtype) / math.sqrt(query.size(-1)), mask, block)
    key, value = key.to(dtype), value.to(dtype)
    with _without_autocast(query):
        parts = [one_pass(q, key, value, m, block) for q, m in pieces]
    return torch.cat(parts, dim=-2).to(query.dtype)  # (..., T, E)


def one_pass(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, block: int
) -> Tensor:
    r"""Let queries meet the keys block by block, and keep three things up to date for each query.

    With the scores :math:`s_j` of a block, its values :math:`v_j`, and
    :math:`m' = \max(m, \max_j s_j)`:

    .. math::
       \ell' = e^{m - m'} \ell + \sum_j e^{s_j - m'}, \qquad
       u' = e^{m - m'} u + \sum_j e^{s_j - m'} v_j

    After the last block, :math:`u / \ell` is the context.

    Args:
        query: ``(..., T, D)``, float32 or float64, divided by :math:`\sqrt D` already.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``.
        mask: boolean, ``(..., T, S)``, with no axis of 1 for a larger one.
        block: how many keys are looked at together.

    Returns:
        ``(..., T, E)``.
    """
    least = torch.finfo(query.dtype).min  # lower than any score, and finite
    highest = query.new_full((*query.shape[:-1], 1), least)  # m
    total = torch.zeros_like(highest)  # l, of exp(score - highest)
    mixture = query.new_zeros(*query.shape[:-1], value.size(-1))  # u, of values
    for start in range(0, key.size(-2), block):
        keys = slice(start, start + block)
        scores = query @ key[..., keys, :].mT  # (..., T, block)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., keys], -torch.inf)
        higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
        shrink, shares = (highest - higher).exp(), (scores - higher).exp()
        total = shrink * total + shares.sum(-1, keepdim=True)
        mixture = shrink * mixture + shares @ value[..., keys, :]
        highest = higher
    return mixture / total.where(total > 0, 1)  # a blind row: 0 / 1


def _pieces(
    query: Tensor, mask: Tensor | None, block: int
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Cut queries into blocks, and the mask with them; no query at all is a block, too."""
    for start in range(0, max(query.size(-2), 1), block):
        rows = slice(start, start + block)
        yield query[..., rows, :], None if mask is None else mask[..., rows, :]


def _without_autocast(x: Tensor) -> AbstractContextManager[object]:
    """Keep float32 where autocast would go back to float16, which ends at 65504."""
    if not is_autocast(x):
        return nullcontext()
    return torch.autocast(x.device.type, enabled=False)


def _checked(
    inputs: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, block: int
) -> tuple[Tensor, Tensor | None, int]:
    """Return query, mask and block with all their axes, or raise unless all fit together."""
    query, key, value = inputs
    check_query_and_key(query, key)
    check_value(key, value)
    check_pair("query", query, "value", value)
    asked = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    if mask is not None:
        shape = (*asked, query.size(-2), key.size(-2))
        check_mask(mask, shape, query.device)
        mask = mask.expand(shape)
    every = torch.broadcast_shapes(asked, value.shape[:-2])
    query = query.expand(*every, *query.shape[-2:])
    return query, mask, check_integer("block", block, least=1)
