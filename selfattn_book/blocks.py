"""Transformer blocks: attention and a feed-forward network, each with a residual connection.

Shape letters: ``B`` batch, ``T`` target length, ``S`` source length, ``H`` heads, ``D`` dimension.
"""

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from torch import Tensor, nn

from selfattn_book._arguments import check_dropout, check_integer, drop
from selfattn_book.cache import (
    DecoderCache,
    KeyValueCache,
    check_caches,
    unchanged_if_refused,
)
from selfattn_book.feed_forward import FeedForward
from selfattn_book.multi_head import MultiHeadAttention


class ResidualConnection(nn.Module):
    r"""Add a sublayer's output to its input, with a LayerNorm before the sublayer or after the sum.

    .. math::
       \begin{aligned}
       \text{pre-norm:} \quad y &= x + f\big(\operatorname{LayerNorm}(x)\big) \\
       \text{post-norm:} \quad y &= \operatorname{LayerNorm}\big(x + f(x)\big)
       \end{aligned}

    Args:
        d_model: dimension.
        norm_first: pre-norm; otherwise post-norm.
        dropout: dropout probability of the sublayer's output.

    Source:
        :cite:t:`vaswani2017attention`, section 5.4 and section 3.1 (post-norm).

    Example:
        >>> import torch
        >>> x, pre = torch.tensor([[3.0, 1.0]]), ResidualConnection(2, norm_first=True)
        >>> pre.before(x), pre.after(x, 10 * x)
        (tensor([[ 1., -1.]], grad_fn=...), tensor([[33., 11.]]))
    """

    def __init__(self, d_model: int, *, norm_first: bool, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm = nn.LayerNorm(check_integer("d_model", d_model, least=1))
        self.dropout = nn.Dropout(check_dropout(dropout))

    def before(self, x: Tensor) -> Tensor:
        """Return the sublayer's input."""
        return self.norm(x) if self.norm_first else x

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the input plus the sublayer's output."""
        y = x + drop(self.dropout, change)
        return y if self.norm_first else self.norm(y)


class EncoderBlock(nn.Module):
    """Apply self-attention, then a feed-forward network, each with a residual connection.

    Args:
        d_model: dimension of input and output.
        num_heads: number of heads.
        d_ff: hidden dimension of the feed-forward network; ``4 * d_model`` by default.
        norm_first: pre-norm; otherwise post-norm, as in 2017.
        d_head: dimension of one head; ``d_model // num_heads`` by default.
        attention_bias: add biases in the projections of the attention.
        dropout: dropout probability of attention weights, hidden units and sublayer outputs.

    Raises:
        TypeError, ValueError: a size is not an integer, or an argument is out of range.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1; example, :cite:t:`bloem2019transformers`.

    Example:
        >>> import torch
        >>> block = EncoderBlock(10, 20, d_head=10, attention_bias=False)   # as in a course
        >>> states, weights = block(torch.ones(8, 5, 10))
        >>> states.shape, weights.shape   # (B, T, D) and (B, H, T, T)
        (torch.Size([8, 5, 10]), torch.Size([8, 20, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_ff: int | None = None,
        norm_first: bool = False,
        d_head: int | None = None,
        attention_bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(
            d_model, num_heads, d_head=d_head, bias=attention_bias, dropout=dropout
        )
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.attention_residual, self.feed_forward_residual = (
            ResidualConnection(d_model, norm_first=norm_first, dropout=dropout) for _ in range(2)
        )

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, T, D)`` and the weights ``(B, H, T, T)``."""
        x_in = self.attention_residual.before(x)
        context, weights = self.attention(x_in, x_in, x_in, mask, need_weights=need_weights)
        x = self.attention_residual.after(x, context)

        change = self.feed_forward(self.feed_forward_residual.before(x))
        return self.feed_forward_residual.after(x, change), weights


class DecoderBlock(nn.Module):
    """Apply self-attention, cross-attention to the memory, and a feed-forward network.

    The arguments are those of :class:`EncoderBlock`; both attentions have the same heads.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1.

    Example:
        >>> import torch
        >>> block = DecoderBlock(6, 2)
        >>> states, weights, memory_weights = block(torch.ones(5, 3, 6), torch.ones(5, 7, 6))
        >>> states.shape, weights.shape, memory_weights.shape
        (torch.Size([5, 3, 6]), torch.Size([5, 2, 3, 3]), torch.Size([5, 2, 3, 7]))
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_ff: int | None = None,
        norm_first: bool = False,
        d_head: int | None = None,
        attention_bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.self_attention, self.cross_attention = (
            MultiHeadAttention(
                d_model, num_heads, d_head=d_head, bias=attention_bias, dropout=dropout
            )
            for _ in range(2)
        )
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        (
            self.self_attention_residual,
            self.cross_attention_residual,
            self.feed_forward_residual,
        ) = (ResidualConnection(d_model, norm_first=norm_first, dropout=dropout) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        need_weights: bool = True,
        cache: DecoderCache | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the states ``(B, T, D)`` and the weights of both attentions.

        Args:
            x: ``(B, T, D)``, the target so far; with a cache, its new positions only.
            memory: ``(B, S, D)``, the encoder's output.
            target_mask: boolean, ``True`` = may attend; its columns are all positions so far.
            memory_mask: boolean, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses a fused kernel.
            cache: keys and values of earlier calls with this memory; grows, unless refused.
        """
        own, across = (None, None) if cache is None else (cache.target, cache.memory)
        with unchanged_if_refused(part for part in (own, across) if part is not None):
            x_in = self.self_attention_residual.before(x)
            context, weights = self.self_attention(
                x_in, x_in, x_in, target_mask, need_weights=need_weights, cache=own
            )
            x = self.self_attention_residual.after(x, context)

            x_in = self.cross_attention_residual.before(x)
            new = memory if cache is None else cache.uncached(memory)
            context, memory_weights = self.cross_attention(
                x_in, new, new, memory_mask, need_weights=need_weights, cache=across
            )
            x = self.cross_attention_residual.after(x, context)

            change = self.feed_forward(self.feed_forward_residual.before(x))
            return self.feed_forward_residual.after(x, change), weights, memory_weights


class PreNormBlock(nn.Module):
    r"""Apply attention and a feed-forward network, each to normalized input and added to it.

    .. math:: y = x + \operatorname{attention}\big(\operatorname{norm}_1(x)\big), \qquad
       z = y + \operatorname{ff}\big(\operatorname{norm}_2(y)\big)

    Its parts are arguments, so that one block serves GPT-2, Llama and this book's own models.
    It is causal only with a causal mask, or with ``is_causal=True``.

    Args:
        attention: module called like :class:`~selfattn_book.multi_head.MultiHeadAttention`.
        feed_forward: module from ``(B, T, D)`` to ``(B, T, D)``, applied to each position.
        norms: the norm before the attention and the norm before the feed-forward network.
        dropout: dropout probability of each sublayer's output.

    Source:
        :cite:t:`radford2019language`, section 2.3.

    Example:
        >>> import torch
        >>> norms = nn.LayerNorm(4), nn.LayerNorm(4)
        >>> block = PreNormBlock(MultiHeadAttention(4, 2), FeedForward(4, 16), norms)
        >>> states, weights = block(torch.ones(5, 3, 4))
        >>> states.shape, weights.shape   # (B, T, D) and (B, H, T, S)
        (torch.Size([5, 3, 4]), torch.Size([5, 2, 3, 3]))
    """

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        norms: Sequence[nn.Module],
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if len(norms) != 2:
            raise ValueError(f"there must be two norms; got {len(norms)}")
        self.attention, self.feed_forward = attention, feed_forward
        self.attention_norm, self.feed_forward_norm = norms
        self.dropout = nn.Dropout(check_dropout(dropout))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, T, D)`` and the weights; the options are the attention's."""
        y = self.attention_norm(x)
        context, weights = self.attention(
            y, y, y, mask, is_causal=is_causal, need_weights=need_weights, cache=cache
        )
        x = x + drop(self.dropout, context)

        change = self.feed_forward(self.feed_forward_norm(x))
        return x + drop(self.dropout, change), weights


class EncoderStack(nn.Module):
    """Apply several encoder blocks, one after the other.

    Args:
        num_layers: number of blocks.
        d_model: dimension of input and output.
        num_heads: number of heads of each block.
        norm_first: pre-norm, with a final LayerNorm after the last block; otherwise post-norm.
        options: further arguments of each :class:`EncoderBlock`.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1; final LayerNorm, :cite:t:`xiong2020layer`.

    Example:
        >>> import torch
        >>> states, weights = EncoderStack(3, 4, 2, norm_first=True)(torch.ones(5, 7, 4))
        >>> states.shape, len(weights), weights[0].shape
        (torch.Size([5, 7, 4]), 3, torch.Size([5, 2, 7, 7]))
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        *,
        norm_first: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        num_layers = check_integer("num_layers", num_layers, least=1)
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, num_heads, norm_first=norm_first, **options)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the states ``(B, T, D)`` and the weights ``(B, H, T, T)`` of each block."""
        weights = []
        for block in self.blocks:
            x, own = block(x, mask, need_weights=need_weights)
            weights.append(own)
        return self.norm(x), weights


class DecoderStack(nn.Module):
    """Apply several decoder blocks, one after the other, all with the same memory.

    The arguments are those of :class:`EncoderStack`.

    Example:
        >>> import torch
        >>> stack = DecoderStack(3, 4, 2)
        >>> states, weights, memory_weights = stack(torch.ones(5, 3, 4), torch.ones(5, 7, 4))
        >>> states.shape, len(weights), memory_weights[2].shape
        (torch.Size([5, 3, 4]), 3, torch.Size([5, 2, 3, 7]))
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        *,
        norm_first: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        num_layers = check_integer("num_layers", num_layers, least=1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, norm_first=norm_first, **options)
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        need_weights: bool = True,
        caches: Sequence[DecoderCache] | None = None,
    ) -> tuple[Tensor, list[Tensor | None], list[Tensor | None]]:
        """Return the states ``(B, T, D)`` and the weights of both attentions of each block.

        The arguments are those of :meth:`DecoderBlock.forward`, with one cache for each block; all
        caches grow, unless the call is refused.
        """
        if caches is not None:
            check_caches(caches, len(self.blocks))
        weights, memory_weights = [], []
        masks = target_mask, memory_mask
        with unchanged_if_refused(
            part for cache in caches or () for part in (cache.target, cache.memory)
        ):
            for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
                x, own, across = block(x, memory, *masks, need_weights=need_weights, cache=cache)
                weights.append(own)
                memory_weights.append(across)
            return self.norm(x), weights, memory_weights
