"""The Transformer's blocks: attention and feed-forward, on residual paths.

Shape letters: ``B`` batch, ``T`` target length, ``S`` source length, ``H`` heads, ``D`` width.
"""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.cache import DecoderCache
from selfattn_book.multi_head import MultiHeadAttention


class FeedForward(nn.Module):
    r"""Pass each position by itself through two maps with a threshold between them.

    .. math:: \operatorname{ff}(x) = W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Args:
        d_model: width of what comes in and out.
        d_ff: width between the maps.
        dropout: probability with which a number between the maps is dropped, while training only.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`vaswani2017attention`, equation 2.

    Example:
        >>> import torch
        >>> feed_forward, x = FeedForward(4, 16), torch.ones(2, 3, 4).cumsum(1)
        >>> feed_forward(x).shape
        torch.Size([2, 3, 4])
        >>> feed_forward(x)[0, 1].allclose(feed_forward(x[0, 1]), atol=1e-6)   # each by itself
        True
        >>> FeedForward(1, 1)   # the smallest; nothing is dropped unless asked for
        FeedForward(
          (expand): Linear(in_features=1, out_features=1, bias=True)
          (contract): Linear(in_features=1, out_features=1, bias=True)
          (dropout): Dropout(p=0.0, inplace=False)
        )
        >>> FeedForward(4, 0)
        Traceback (most recent call last):
        ValueError: d_ff must be at least 1; got 0
    """

    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        d_ff = check_integer("d_ff", d_ff, least=1)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``(..., D)`` for ``(..., D)``."""
        return self.contract(self.dropout(self.expand(x).relu()))


class Residual(nn.Module):
    r"""Add to an input what a part makes of it, and normalize before the part or after the sum.

    .. math::
       \begin{aligned}
       \text{pre-norm:} \quad y &= x + f\big(\operatorname{LayerNorm}(x)\big) \\
       \text{post-norm:} \quad y &= \operatorname{LayerNorm}\big(x + f(x)\big)
       \end{aligned}

    Args:
        d_model: width.
        norm_first: pre-norm; else post-norm.
        dropout: probability with which a number of the part's is dropped, while training only.

    Raises:
        TypeError: ``d_model`` is not an integer.
        ValueError: it is below 1, or ``dropout`` is outside of 0 to 1.

    Source:
        :cite:t:`vaswani2017attention`, section 5.4 and section 3.1 (post-norm).

    Example:
        >>> import torch
        >>> x = torch.tensor([[3.0, 1.0]])
        >>> pre, post = (Residual(2, norm_first=norm_first) for norm_first in (True, False))
        >>> pre.before(x), pre.after(x, 10 * x)
        (tensor([[ 1., -1.]], grad_fn=...), tensor([[33., 11.]]))
        >>> post.before(x), post.after(x, 10 * x)
        (tensor([[3., 1.]]), tensor([[ 1., -1.]], grad_fn=...))
        >>> Residual(1, norm_first=False).after(x[:, :1], x[:, 1:])   # one number is its own mean
        tensor([[0.]], grad_fn=...)
        >>> Residual(0, norm_first=True)
        Traceback (most recent call last):
        ValueError: d_model must be at least 1; got 0
    """

    def __init__(
        self, d_model: int, *, norm_first: bool, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm = nn.LayerNorm(check_integer("d_model", d_model, least=1))
        self.dropout = nn.Dropout(dropout)

    def before(self, x: Tensor) -> Tensor:
        """Return what the part shall read."""
        return self.norm(x) if self.norm_first else x

    def after(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the input together with what the part has made of it."""
        y = x + self.dropout(change)
        return y if self.norm_first else self.norm(y)


class EncoderBlock(nn.Module):
    r"""Let the positions attend to each other, then pass each through a small network.

    Args:
        d_model: width of what comes in and out.
        num_heads: number of heads.
        d_ff: width inside of the feed-forward part; ``4 * d_model`` when left out.
        norm_first: pre-norm; else post-norm, as in 2017.
        d_head: width of one head; ``d_model // num_heads`` (narrow heads) when left out.
        attention_bias: whether the maps of the attention add a bias.
        dropout: probability with which weights, and what the parts add, are dropped,
            while training only.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, ``dropout`` is outside of 0 to 1,
            or ``d_model`` is not divisible by ``num_heads`` while ``d_head`` is left out.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1; wide heads without bias are those of a
        course's notebook after :cite:t:`bloem2019transformers`.

    Example:
        >>> import torch
        >>> block = EncoderBlock(10, 20, d_head=10, attention_bias=False)   # as in a course
        >>> states, weights = block(torch.ones(8, 5, 10))
        >>> states.shape, weights.shape   # (B, T, D) and (B, H, T, T)
        (torch.Size([8, 5, 10]), torch.Size([8, 20, 5, 5]))
        >>> block(torch.ones(8, 5, 10), need_weights=False)[1]
        >>> block = EncoderBlock(6, 3)   # what is left out
        >>> block.feed_forward.expand.out_features, block.attention_path.norm_first
        (24, False)
        >>> attention = block.attention
        >>> attention.d_head, attention.dropout, attention.project_key.bias.shape
        (2, 0.0, torch.Size([6]))
        >>> EncoderBlock(6, 3, d_ff=5).feed_forward.expand.out_features
        5
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
        path: dict[str, Any] = {"norm_first": norm_first, "dropout": dropout}
        self.attention_path = Residual(d_model, **path)
        self.feed_forward_path = Residual(d_model, **path)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, T, D)`` and the weights ``(B, H, T, T)``.

        Args:
            x: ``(B, T, D)``.
            mask: boolean, ``True`` = may be seen, broadcastable to ``(B, H, T, T)``.
            need_weights: return the weights; without them PyTorch chooses a kernel.
        """
        read = self.attention_path.before(x)
        context, weights = self.attention(
            read, read, read, mask, need_weights=need_weights
        )
        x = self.attention_path.after(x, context)

        change = self.feed_forward(self.feed_forward_path.before(x))
        return self.feed_forward_path.after(x, change), weights


class DecoderBlock(nn.Module):
    """Let the target attend to its past, then to the memory, then pass each through a small network.

    Args:
        d_model: width of what comes in and out, and of the memory.
        num_heads: number of heads of each of the two attentions.
        d_ff: width inside of the feed-forward part; ``4 * d_model`` when left out.
        norm_first: pre-norm; else post-norm, as in 2017.
        d_head: width of one head; ``d_model // num_heads`` (narrow heads) when left out.
        attention_bias: whether the maps of the attentions add a bias.
        dropout: probability with which weights, and what the parts add, are dropped,
            while training only.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, ``dropout`` is outside of 0 to 1,
            or ``d_model`` is not divisible by ``num_heads`` while ``d_head`` is left out.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1.

    Example:
        >>> import torch
        >>> block = DecoderBlock(6, 2)
        >>> states, weights, memory_weights = block(torch.ones(5, 3, 6), torch.ones(5, 7, 6))
        >>> states.shape, weights.shape, memory_weights.shape
        (torch.Size([5, 3, 6]), torch.Size([5, 2, 3, 3]), torch.Size([5, 2, 3, 7]))
        >>> block.feed_forward.expand.out_features, block.cross_attention_path.norm_first
        (24, False)
        >>> block.cross_attention.dropout, block.cross_attention.project_key
        (0.0, Linear(in_features=6, out_features=6, bias=True))
        >>> DecoderBlock(6, 2, d_ff=5).feed_forward.expand.out_features
        5
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
        heads: dict[str, Any] = {"d_head": d_head, "bias": attention_bias}
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, **heads, dropout=dropout
        )
        self.cross_attention = MultiHeadAttention(
            d_model, num_heads, **heads, dropout=dropout
        )
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        path: dict[str, Any] = {"norm_first": norm_first, "dropout": dropout}
        self.self_attention_path = Residual(d_model, **path)
        self.cross_attention_path = Residual(d_model, **path)
        self.feed_forward_path = Residual(d_model, **path)

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
        """Return the states ``(B, T, D)`` and both attentions' weights.

        Args:
            x: ``(B, T, D)``, the target so far; with a cache, what comes after that.
            memory: ``(B, S, D)``, the encoder's states.
            target_mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, T)``;
                with a cache its columns are all positions so far.
            memory_mask: the same for the memory, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses a kernel.
            cache: keys and values of earlier calls; grows, unless the call is refused.

        Raises:
            ValueError: the memory is not as long as that of the calls before.
        """
        kept = DecoderCache.empty() if cache is None else cache.branch()
        read = self.self_attention_path.before(x)
        context, weights = self.self_attention(
            *(read, read, read, target_mask),
            need_weights=need_weights,
            cache=kept.target,
        )
        x = self.self_attention_path.after(x, context)

        read, unread = self.cross_attention_path.before(x), kept.unread(memory)
        context, memory_weights = self.cross_attention(
            read,
            unread,
            unread,
            memory_mask,
            need_weights=need_weights,
            cache=kept.memory,
        )
        x = self.cross_attention_path.after(x, context)

        change = self.feed_forward(self.feed_forward_path.before(x))
        if cache is not None:
            cache.take_over(kept)  # last: a refused call leaves it as it was
        return self.feed_forward_path.after(x, change), weights, memory_weights


class EncoderStack(nn.Module):
    """Pass states through several encoder blocks, one after the other.

    Args:
        num_layers: number of blocks.
        d_model: width of what comes in and out.
        num_heads: number of heads of each block.
        norm_first: pre-norm, and one LayerNorm more behind the last block,
            since nothing has normalized the sum until then; else post-norm.
        options: of each :class:`EncoderBlock`.

    Raises:
        TypeError: a size is not an integer.
        ValueError: as of :class:`EncoderBlock`, or ``num_layers`` is below 1.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1; the last LayerNorm,
        :cite:t:`xiong2020layer`.

    Example:
        >>> import torch
        >>> stack = EncoderStack(3, 4, 2, norm_first=True)
        >>> states, weights = stack(torch.ones(5, 7, 4))
        >>> states.shape, len(weights), weights[0].shape
        (torch.Size([5, 7, 4]), 3, torch.Size([5, 2, 7, 7]))
        >>> stack.norm, EncoderStack(1, 4, 2).norm
        (LayerNorm((4,), ...), Identity())
        >>> EncoderStack(1, 4, 2).blocks[0].attention_path.norm_first
        False
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
        options["norm_first"] = norm_first
        num_layers = check_integer("num_layers", num_layers, least=1)
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, num_heads, **options) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the states ``(B, T, D)`` and each block's weights ``(B, H, T, T)``.

        Args:
            x: ``(B, T, D)``.
            mask: as of :class:`EncoderBlock`, for all blocks.
            need_weights: return the weights; without them PyTorch chooses a kernel.
        """
        weights = []
        for block in self.blocks:
            x, own = block(x, mask, need_weights=need_weights)
            weights.append(own)
        return self.norm(x), weights


class DecoderStack(nn.Module):
    """Pass states through several decoder blocks, which all see one memory.

    Args:
        num_layers: number of blocks.
        d_model: width of what comes in and out, and of the memory.
        num_heads: number of heads of each attention.
        norm_first: as of :class:`EncoderStack`.
        options: of each :class:`DecoderBlock`.

    Raises:
        TypeError: a size is not an integer.
        ValueError: as of :class:`DecoderBlock`, or ``num_layers`` is below 1.

    Source:
        :cite:t:`vaswani2017attention`, section 3.1; the last LayerNorm,
        :cite:t:`xiong2020layer`.

    Example:
        >>> import torch
        >>> stack = DecoderStack(3, 4, 2)
        >>> states, weights, memory_weights = stack(torch.ones(5, 3, 4), torch.ones(5, 7, 4))
        >>> states.shape, len(weights), memory_weights[2].shape
        (torch.Size([5, 3, 4]), 3, torch.Size([5, 2, 3, 7]))
        >>> stack.norm, DecoderStack(1, 4, 2, norm_first=True).norm
        (Identity(), LayerNorm((4,), ...))
        >>> stack.blocks[0].cross_attention_path.norm_first
        False
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
        options["norm_first"] = norm_first
        num_layers = check_integer("num_layers", num_layers, least=1)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, **options) for _ in range(num_layers)
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
        """Return the states ``(B, T, D)`` and both kinds of weights of each block.

        Args:
            x: ``(B, T, D)``, the target so far; with caches, what comes after that.
            memory: ``(B, S, D)``, the encoder's states.
            target_mask: as of :class:`DecoderBlock`, for all blocks.
            memory_mask: as of :class:`DecoderBlock`, for all blocks.
            need_weights: return the weights; without them PyTorch chooses a kernel.
            caches: one for each block; all grow, unless the call is refused.

        Raises:
            ValueError: there are more or fewer caches than blocks, or as of :class:`DecoderBlock`.
        """
        kept = _branches(caches, len(self.blocks))
        weights, memory_weights = [], []
        masks = target_mask, memory_mask
        for block, cache in zip(self.blocks, kept, strict=True):
            x, own, across = block(
                x, memory, *masks, need_weights=need_weights, cache=cache
            )
            weights.append(own)
            memory_weights.append(across)
        x = self.norm(x)
        for cache, grown in zip(caches or [], kept, strict=False):
            cache.take_over(grown)  # last: a refused call leaves all as they were
        return x, weights, memory_weights


def _branches(
    caches: Sequence[DecoderCache] | None, count: int
) -> list[DecoderCache]:
    """Return a cache for each of so many blocks, which begins where the given one ends."""
    if caches is None:
        return [DecoderCache.empty() for _ in range(count)]
    if len(caches) != count:
        rule = f"there must be one cache for each of the {count} blocks"
        raise ValueError(f"{rule}; got {len(caches)}")
    return [cache.branch() for cache in caches]
