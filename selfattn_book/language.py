"""A decoder-only language model: token embedding, causal blocks, unembedding.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``D`` dimension, ``V`` number of
tokens in the vocabulary.
"""

from collections.abc import Iterable, Sequence
from itertools import repeat

from torch import Tensor, nn

from selfattn_book._arguments import check_boolean, check_integer, check_tokens, look_up
from selfattn_book.blocks import PreNormBlock
from selfattn_book.cache import KeyValueCache, check_caches, unchanged_if_refused
from selfattn_book.feed_forward import FeedForward
from selfattn_book.multi_head import MultiHeadAttention


class LanguageModel(nn.Module):
    r"""Compute the logits of the next token at every position.

    Token embedding, a learned position embedding unless the blocks rotate queries and keys, causal
    blocks, a final norm, and the unembedding.

    Args:
        embedding: token embedding, ``(V, D)``.
        blocks: modules called like a :class:`~selfattn_book.blocks.PreNormBlock`.
        norm: norm after the last block.
        positions: learned position embedding, ``(context_length, D)``.
        tie_weights: use the token embedding as the unembedding; otherwise a matrix of its own.

    Source:
        :cite:t:`radford2019language`, section 2.3; tied, :cite:t:`press2017using`.

    Example:
        >>> import torch
        >>> model = decoder_only(11, d_model=4, num_layers=3, num_heads=2, context_length=7)
        >>> model(torch.zeros(5, 7, dtype=torch.int64)).shape   # (B, T, V)
        torch.Size([5, 7, 11])
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        blocks: Iterable[nn.Module],
        norm: nn.Module,
        *,
        positions: nn.Embedding | None = None,
        tie_weights: bool = True,
    ) -> None:
        super().__init__()
        self.embedding, self.positions = embedding, positions
        self.blocks, self.norm = nn.ModuleList(blocks), norm
        if not self.blocks:
            raise ValueError("there must be at least one block; got none")
        vocab_size, d_model = embedding.weight.shape
        self.unembedding = nn.Linear(d_model, vocab_size, bias=False)
        if tie_weights:
            self.unembedding.weight = embedding.weight

    @property
    def context_length(self) -> int | None:
        """The largest number of tokens, or ``None`` without learned positions."""
        return None if self.positions is None else self.positions.num_embeddings

    def forward(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Tensor:
        """Return the logits of the next token, ``(B, T, V)``.

        Args:
            tokens: ``(B, T)``, integers; with caches, the new tokens only.
            padding_mask: boolean, ``False`` = padding; ``(B, S)`` or ``(B, 1, 1, S)``, for all
                tokens so far.
            caches: one for each block; each grows by ``T``, unless the call is refused.

        Raises:
            TypeError, ValueError: tokens, mask or caches do not fit the model or each other.
        """
        states, _ = self.hidden_states(tokens, padding_mask, caches=caches, need_weights=False)
        return self.unembedding(states)

    def hidden_states(
        self,
        tokens: Tensor,
        padding_mask: Tensor | None = None,
        *,
        caches: Sequence[KeyValueCache] | None = None,
        need_weights: bool = True,
    ) -> tuple[Tensor, list[Tensor | None]]:
        """Return the states before the unembedding, ``(B, T, D)``, and each block's weights."""
        past = _cached_length(caches, len(self.blocks))
        padding_mask = self._check_inputs(tokens, padding_mask, past)
        mask = None if padding_mask is None else padding_mask[:, None, None]  # (B, 1, 1, S)
        x, weights = self._embed(tokens, padding_mask, past), []
        options = {"is_causal": True, "need_weights": need_weights}
        with unchanged_if_refused(caches or ()):
            for block, cache in zip(self.blocks, caches or repeat(None), strict=False):
                x, own = block(x, mask, **options, cache=cache)
                weights.append(own)
            return self.norm(x), weights

    def _embed(self, tokens: Tensor, padding_mask: Tensor | None, past: int) -> Tensor:
        x = look_up("tokens", self.embedding, tokens)  # (B, T, D)
        if self.positions is None:
            return x
        length = tokens.size(1)
        if padding_mask is None:
            return x + self.positions.weight[past : past + length]
        # The first token that is not padding has position 0.
        position = (padding_mask.cumsum(1) - 1).clamp(min=0)[:, -length:]
        return x + self.positions(position)

    def _check_inputs(
        self, tokens: Tensor, padding_mask: Tensor | None, past: int
    ) -> Tensor | None:
        """Return the padding mask as ``(B, S)``, or raise unless tokens and mask fit."""
        check_tokens("tokens", tokens)
        if tokens.numel() == 0:
            rule = "tokens must have shape (B, T), with at least one token"
            raise ValueError(f"{rule}; got {tuple(tokens.shape)}")
        batch, total = tokens.size(0), past + tokens.size(1)
        context_length = self.context_length
        if context_length is not None and total > context_length:
            rule = f"tokens must be at most context_length = {context_length}"
            raise ValueError(f"{rule}, cached ones included; got {total}")
        if padding_mask is None:
            return None
        check_boolean(padding_mask, "padding_mask")
        wanted = (batch, total), (batch, 1, 1, total)
        if padding_mask.shape not in wanted or padding_mask.device != tokens.device:
            rule = f"padding_mask must cover all tokens so far, {wanted[0]} on {tokens.device}"
            raise ValueError(f"{rule}; got {tuple(padding_mask.shape)} on {padding_mask.device}")
        return padding_mask.flatten(1)


def decoder_only(
    vocab_size: int,
    *,
    d_model: int,
    num_layers: int,
    num_heads: int,
    context_length: int,
    d_ff: int | None = None,
    dropout: float = 0.0,
) -> LanguageModel:
    """Build a language model of pre-norm blocks, initialized by PyTorch's global generator.

    Args:
        vocab_size: number of tokens, ``V``.
        d_model: dimension, ``D``.
        num_layers: number of blocks.
        num_heads: number of heads of each block.
        context_length: largest number of tokens; each position has a learned embedding.
        d_ff: hidden dimension of the feed-forward networks; ``4 * d_model`` by default.
        dropout: dropout probability of attention weights, hidden units and sublayer outputs.

    Example:
        >>> model = decoder_only(11, d_model=4, num_layers=3, num_heads=2, context_length=7)
        >>> model.unembedding.weight is model.embedding.weight   # tied
        True
    """
    vocab_size = check_integer("vocab_size", vocab_size, least=1)
    context_length = check_integer("context_length", context_length, least=1)
    num_layers = check_integer("num_layers", num_layers, least=1)
    d_ff = 4 * d_model if d_ff is None else d_ff

    def block() -> PreNormBlock:
        attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        norms = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        return PreNormBlock(attention, feed_forward, norms, dropout=dropout)

    embedding = nn.Embedding(vocab_size, d_model)
    positions = nn.Embedding(context_length, d_model)
    for table in (embedding, positions):
        nn.init.normal_(table.weight, std=0.02)
    blocks = [block() for _ in range(num_layers)]
    return LanguageModel(embedding, blocks, nn.LayerNorm(d_model), positions=positions)


def _cached_length(caches: Sequence[KeyValueCache] | None, blocks: int) -> int:
    """Return the number of cached positions, or raise unless there is one cache for each block."""
    if caches is None:
        return 0
    check_caches(caches, blocks)
    lengths = [len(cache) for cache in caches]
    if len(set(lengths)) > 1:
        raise ValueError(f"caches must be of one length; got {lengths}")
    return lengths[0]
