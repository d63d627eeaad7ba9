"""A language model: blocks that look back, between an embedding and its way back.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads, ``D`` width,
``V`` number of tokens in the vocabulary.
"""

from collections.abc import Iterable, Sequence
from copy import copy

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.transformer import FeedForward


class CausalBlock(nn.Module):
    r"""Let the positions attend to each other, then pass each through a small network.

    .. math:: y = x + \operatorname{attention}\big(\operatorname{norm}_1(x)\big), \qquad
       z = y + \operatorname{ff}\big(\operatorname{norm}_2(y)\big)

    A pre-norm block whose parts are handed in, so that one block serves every language model of
    this book.

    Args:
        attention: called as a :class:`~selfattn_book.multi_head.MultiHeadAttention` is.
        feed_forward: from ``(B, T, D)`` to ``(B, T, D)``, each position by itself.
        norms: before the attention, and before the feed-forward part.
        dropout: probability with which a number that a part adds is dropped, while training only.

    Raises:
        ValueError: there are not two norms, or ``dropout`` is outside of 0 to 1.

    Source:
        :cite:t:`radford2019language`, section 2.3.

    Example:
        >>> norms = nn.LayerNorm(4), nn.LayerNorm(4)
        >>> block = CausalBlock(MultiHeadAttention(4, 2), FeedForward(4, 16), norms)
        >>> states, weights = block(torch.ones(5, 3, 4), causal_mask(3))
        >>> states.shape, weights.shape   # (B, T, D) and (B, H, T, S)
        (torch.Size([5, 3, 4]), torch.Size([5, 2, 3, 3]))
        >>> CausalBlock(MultiHeadAttention(4, 2), FeedForward(4, 16), norms[:1])
        Traceback (most recent call last):
        ValueError: there must be two norms; got 1
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
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, T, D)`` and the weights ``(B, H, T, S)``.

        Args:
            x: ``(B, T, D)``.
            mask: boolean, ``True`` = may be seen, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses a kernel.
            cache: keys and values of earlier calls; those of this call are added to it.
        """
        y = self.attention_norm(x)
        context, weights = self.attention(
            y, y, y, mask, need_weights=need_weights, cache=cache
        )
        x = x + self.dropout(context)

        change = self.feed_forward(self.feed_forward_norm(x))
        return x + self.dropout(change), weights


class LanguageModel(nn.Module):
    r"""Say of each position of a text which token comes next.

    Token embedding, position embedding unless the blocks know the positions themselves, blocks
    that see no future, a last norm, and the unembedding.

    Args:
        embedding: of the tokens, ``(V, D)``.
        blocks: each called as a :class:`CausalBlock` is.
        norm: behind the last block.
        positions: a learned vector for each position, ``(context, D)``, added to the embedding.
        tied: the unembedding is the embedding itself; else it is a matrix of its own.

    Raises:
        ValueError: there are no blocks.

    Source:
        :cite:t:`radford2019language`, section 2.3; tied, :cite:t:`press2017using`.

    Example:
        >>> model = decoder_only(11, d_model=4, num_layers=3, num_heads=2, context=7)
        >>> tokens = torch.zeros(5, 7, dtype=torch.int64)
        >>> model(tokens).shape   # (B, T, V)
        torch.Size([5, 7, 11])
        >>> model.context, LanguageModel(nn.Embedding(11, 4), model.blocks, model.norm).context
        (7, None)
        >>> model(tokens.repeat(1, 2))
        Traceback (most recent call last):
        ValueError: tokens must be at most the context, 7, earlier ones included; got 14
        >>> model(tokens + 11)
        Traceback (most recent call last):
        ValueError: tokens must be from 0 to 10; got 11 to 11
        >>> model(tokens.float())
        Traceback (most recent call last):
        TypeError: tokens must be an integer tensor; got dtype torch.float32
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        blocks: Iterable[nn.Module],
        norm: nn.Module,
        *,
        positions: nn.Embedding | None = None,
        tied: bool = True,
    ) -> None:
        super().__init__()
        self.embedding, self.positions = embedding, positions
        self.blocks, self.norm = nn.ModuleList(blocks), norm
        if not self.blocks:
            raise ValueError("there must be at least one block; got none")
        vocabulary, d_model = embedding.weight.shape
        self.unembedding = nn.Linear(d_model, vocabulary, bias=False)
        if tied:
            self.unembedding.weight = embedding.weight

    @property
    def context(self) -> int | None:
        """The most tokens that it can read at once, or ``None`` where nothing limits them."""
        return None if self.positions is None else self.positions.num_embeddings

    def forward(
        self,
        tokens: Tensor,
        real: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Tensor:
        """Return the logits of what comes next, ``(B, T, V)``.

        Args:
            tokens: ``(B, T)``, integers; with caches, those that come after the ones before.
            real: ``(B, S)``, boolean, ``False`` where a token is padding, on the left or on the
                right; with caches it tells of all tokens so far. Without it, none is padding.
            caches: one a block; each grows by ``T``, unless the call is refused.

        Raises:
            TypeError: the tokens are no integers, or ``real`` is not boolean.
            ValueError: a token is outside of the vocabulary, there are none or more than the
                context holds, ``real`` has another shape, or there is not one cache for each
                block, all of one length. The caches are then as they were.
        """
        states, _ = self.read(tokens, real, caches=caches, need_weights=False)
        return self.unembedding(states)

    def read(
        self,
        tokens: Tensor,
        real: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the states before the unembedding, ``(B, T, D)``, and each block's weights."""
        earlier = [] if caches is None else list(caches)
        before = len(earlier[0]) if earlier else 0
        if caches is not None:
            _check_caches(earlier, len(self.blocks))
        _check_tokens(tokens, self.embedding.num_embeddings)
        _check_length(tokens, real, before, self.context)
        grown = [copy(cache) for cache in earlier]
        mask = _mask(tokens, real, before)
        x, weights = self._embed(tokens, real, before), []
        for layer, block in enumerate(self.blocks):
            cache = grown[layer] if grown else None
            x, own = block(x, mask, need_weights=need_weights, cache=cache)
            weights.append(own)
        x = self.norm(x)
        # Handed over at the end: a refused call leaves every cache as it was.
        for cache, kept in zip(earlier, grown, strict=True):
            cache.keep(kept.keys, kept.values)
        return x, weights

    def _embed(self, tokens: Tensor, real: Tensor | None, before: int) -> Tensor:
        x = self.embedding(tokens)  # (B, T, D)
        if self.positions is None:
            return x
        length = tokens.size(1)
        if real is None:
            place = torch.arange(before, before + length, device=tokens.device)
        else:  # the first token that is real stands at 0
            place = (real.cumsum(1) - 1).clamp(min=0)[:, -length:]
        return x + self.positions(place)


def decoder_only(
    vocabulary: int,
    *,
    d_model: int,
    num_layers: int,
    num_heads: int,
    context: int,
    d_ff: int | None = None,
    dropout: float = 0.0,
) -> LanguageModel:
    """Build a language model from this book's own parts, drawn from PyTorch's global generator.

    Args:
        vocabulary: number of tokens, ``V``.
        d_model: width, ``D``.
        num_layers: number of blocks.
        num_heads: number of heads of each block.
        context: the most tokens that it can read at once; each has a learned position.
        d_ff: width inside of the feed-forward parts; ``4 * d_model`` when left out.
        dropout: as of :class:`CausalBlock`, in the attention and the feed-forward part, too.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, ``d_model`` is not divisible by ``num_heads``, or
            ``dropout`` is outside of 0 to 1.

    Example:
        >>> model = decoder_only(11, d_model=4, num_layers=3, num_heads=2, context=7)
        >>> len(model.blocks), model.blocks[0].feed_forward.expand.out_features
        (3, 16)
        >>> model.unembedding.weight is model.embedding.weight   # tied
        True
        >>> decoder_only(11, d_model=4, num_layers=0, num_heads=2, context=7)
        Traceback (most recent call last):
        ValueError: num_layers must be at least 1; got 0
    """
    vocabulary = check_integer("vocabulary", vocabulary, least=1)
    context = check_integer("context", context, least=1)
    num_layers = check_integer("num_layers", num_layers, least=1)
    d_ff = 4 * d_model if d_ff is None else d_ff

    def block() -> CausalBlock:
        attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        norms = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        return CausalBlock(attention, feed_forward, norms, dropout=dropout)

    embedding, positions = (
        nn.Embedding(vocabulary, d_model),
        nn.Embedding(context, d_model),
    )
    for table in (embedding, positions):
        nn.init.normal_(table.weight, std=0.02)
    blocks = [block() for _ in range(num_layers)]
    return LanguageModel(
        embedding, blocks, nn.LayerNorm(d_model), positions=positions
    )


def _mask(tokens: Tensor, real: Tensor | None, before: int) -> Tensor | None:
    """Return what the new tokens may see, or nothing if there is nothing to hide from them."""
    length = tokens.size(1)
    if length == 1 and real is None:
        return None  # one token has no future
    mask = causal_mask(length, before + length, device=tokens.device)
    return mask if real is None else mask & real[:, None, None]


def _check_tokens(tokens: Tensor, vocabulary: int) -> None:
    """Raise unless tokens are integers of the vocabulary, and at least one."""
    if not isinstance(tokens, Tensor):
        got = type(tokens).__name__
        raise TypeError(f"tokens must be an integer tensor; got {got}")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"tokens must be an integer tensor; got dtype {tokens.dtype}"
        )
    if tokens.ndim != 2 or tokens.numel() == 0:
        rule = "tokens must have shape (B, T), with one of them at least"
        raise ValueError(f"{rule}; got {tuple(tokens.shape)}")
    if tokens.is_meta or torch.compiler.is_compiling():
        return  # there are no numbers to look at
    if torch._C._functorch.is_batchedtensor(tokens):
        return  # under vmap, where many models learn at once, they cannot be looked at
    least, most = int(tokens.min()), int(tokens.max())
    if least < 0 or most >= vocabulary:
        rule = f"tokens must be from 0 to {vocabulary - 1}"
        raise ValueError(f"{rule}; got {least} to {most}")


def _check_length(
    tokens: Tensor, real: Tensor | None, before: int, context: int | None
) -> None:
    """Raise unless all tokens so far fit the context, and ``real`` tells of each of them."""
    batch, total = tokens.size(0), before + tokens.size(1)
    if context is not None and total > context:
        rule = (
            f"tokens must be at most the context, {context}, earlier ones included"
        )
        raise ValueError(f"{rule}; got {total}")
    if real is None:
        return
    if not isinstance(real, Tensor) or real.dtype != torch.bool:
        got = getattr(real, "dtype", type(real).__name__)
        raise TypeError(f"real must be a boolean tensor; got {got}")
    if real.shape != (batch, total) or real.device != tokens.device:
        rule = f"real must tell of all tokens so far, ({batch}, {total}), where they are"
        got = f"{tuple(real.shape)} on {real.device}"
        raise ValueError(f"{rule}; got {got}")


def _check_caches(caches: Sequence[KeyValueCache], blocks: int) -> None:
    """Raise unless there is a cache for each block, and all are of one length."""
    if len(caches) != blocks:
        rule = f"there must be one cache a block, {blocks}"
        raise ValueError(f"{rule}; got {len(caches)}")
    lengths = [len(cache) for cache in caches]
    if len(set(lengths)) > 1:
        raise ValueError(f"caches must be of one length; got {lengths}")
