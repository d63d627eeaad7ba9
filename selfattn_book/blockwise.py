"""Blockwise attention with an online softmax (as in FlashAttention): no row of weights is formed.

Shape letters: ``T`` query length, ``S`` key length, ``D`` dimension, ``E`` dimension of the values.
"""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from selfattn_book._arguments import (
    check_integer,
    check_mask,
    check_pair,
    check_query_and_key,
    check_value,
    without_autocast,
)


def blockwise_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, block_size: int = 512
) -> Tensor:
    r"""Compute attention in memory that grows linearly with the length, not quadratically.

    Arguments, context and errors are those of
    :func:`~selfattn_book.attention.scaled_dot_product_attention`; no weights are returned.
    Queries are processed in blocks, and for each of them the keys, in :func:`online_attention`.

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``, one value per key.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``.
        block_size: number of queries, and of keys, in one block.

    Returns:
        The context ``(..., T, E)``; computed in float32 at least.

    Source:
        :cite:t:`milakov2018online`, section 3; :cite:t:`rabe2021memory`; :cite:t:`dao2022flash`.

    Example:
        >>> x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> blockwise_attention(x, x, x, block_size=2)
        tensor([[0.5989, 0.8022],
                [0.8022, 0.5989],
                [0.7517, 0.7517]])
    """
    query, mask, block_size = _checked((query, key, value), mask, block_size)
    dtype = torch.promote_types(query.dtype, torch.float32)
    pieces = _pieces(query.to(dtype) / math.sqrt(query.size(-1)), mask, block_size)
    key, value = key.to(dtype), value.to(dtype)
    with without_autocast(query):
        parts = [online_attention(q, key, value, m, block_size) for q, m in pieces]
    return torch.cat(parts, dim=-2).to(query.dtype)  # (..., T, E)


def online_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, block_size: int
) -> Tensor:
    r"""Compute attention block by block, with an online softmax.

    The running maximum :math:`m`, sum :math:`\ell` and weighted sum of values :math:`u` of each
    query are updated with the scores :math:`s_j` and values :math:`v_j` of a block; with
    :math:`m' = \max(m, \max_j s_j)`:

    .. math::
       \ell' = e^{m - m'} \ell + \sum_j e^{s_j - m'}, \qquad
       u' = e^{m - m'} u + \sum_j e^{s_j - m'} v_j

    After the last block, :math:`u / \ell` is the context.

    The arguments are those of :func:`blockwise_attention`, not checked, in float32 at least, with
    the query already divided by :math:`\sqrt D` and the mask already expanded.
    """
    least = torch.finfo(query.dtype).min  # lower than any score, and finite
    highest = query.new_full((*query.shape[:-1], 1), least)  # m
    normalizer = torch.zeros_like(highest)  # l, of exp(score - highest)
    # u, of values: zeros, yet part of the graph even without keys
    accumulator = (query @ key[..., :0, :].mT) @ value[..., :0, :]
    for start in range(0, key.size(-2), block_size):
        keys = slice(start, start + block_size)
        scores = query @ key[..., keys, :].mT  # (..., T, block_size)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., keys], -torch.inf)
        higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
        shrink, unnormalized = (highest - higher).exp(), (scores - higher).exp()
        normalizer = shrink * normalizer + unnormalized.sum(-1, keepdim=True)
        accumulator = shrink * accumulator + unnormalized @ value[..., keys, :]
        highest = higher
    return accumulator / normalizer.where(normalizer > 0, 1)  # a fully masked row: 0 / 1


def _pieces(
    query: Tensor, mask: Tensor | None, block_size: int
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Split the queries, and the mask with them, into blocks; at least one, even if empty."""
    for start in range(0, max(query.size(-2), 1), block_size):
        rows = slice(start, start + block_size)
        yield query[..., rows, :], None if mask is None else mask[..., rows, :]


def _checked(
    inputs: tuple[Tensor, Tensor, Tensor], mask: Tensor | None, block_size: int
) -> tuple[Tensor, Tensor | None, int]:
    """Return query and mask expanded to all axes, and the block size, or raise."""
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
    return query, mask, check_integer("block_size", block_size, least=1)
