"""The full Transformer: an encoder-decoder from one sequence of tokens to another.

Shape letters: ``B`` batch, ``T`` target length, ``S`` source length, ``D`` dimension,
``V`` number of tokens in the target's vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer, look_up
from selfattn_book.blocks import DecoderStack, EncoderStack
from selfattn_book.cache import DecoderCache
from selfattn_book.masks import causal_mask
from selfattn_book.positions import PositionalEncoding


class Transformer(nn.Module):
    r"""Encode a sequence of tokens, and decode a second one.

    Token :math:`s_p` at position :math:`p` is embedded, and the decoder's state :math:`h_t` gives
    the probability of each next token:

    .. math:: x_p = \sqrt{D}\, E_{s_p} + P_p, \qquad
       p(v \mid t) = \operatorname{softmax}(U h_t)_v

    Args:
        source_vocab_size: number of tokens in the source's vocabulary.
        target_vocab_size: number of tokens in the target's vocabulary, ``V``.
        d_model: dimension, ``D``.
        num_layers: number of blocks of the encoder, and of the decoder.
        num_heads: number of heads of each attention.
        tie_weights: use the target's embedding as the unembedding :math:`U`; otherwise
            a matrix of its own.
        max_len: length of the longest sequence.
        dropout: dropout probability of the blocks and of the embedded tokens.
        options: further arguments of each :class:`~selfattn_book.blocks.EncoderBlock`.

    Source:
        :cite:t:`vaswani2017attention`, sections 3.1 and 3.4; tied, :cite:t:`press2017using`.

    Example:
        >>> model = Transformer(13, 11, d_model=6, num_layers=3, num_heads=2).eval()
        >>> source, target = torch.zeros(5, 7, dtype=int), torch.ones(5, 2, dtype=int)
        >>> model(source, target).shape   # (B, T, V)
        torch.Size([5, 2, 11])
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        *,
        d_model: int,
        num_layers: int,
        num_heads: int,
        tie_weights: bool = False,
        max_len: int = 1000,
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__()
        self.encoder = EncoderStack(num_layers, d_model, num_heads, dropout=dropout, **options)
        self.decoder = DecoderStack(num_layers, d_model, num_heads, dropout=dropout, **options)
        self.source_embedding = _embedding("source_vocab_size", source_vocab_size, d_model)
        self.target_embedding = _embedding("target_vocab_size", target_vocab_size, d_model)
        scale = math.sqrt(d_model)
        self.source_positions = PositionalEncoding(d_model, max_len, scale=scale)
        self.target_positions = PositionalEncoding(d_model, max_len, scale=scale)
        self.dropout = nn.Dropout(dropout)
        self.unembedding = nn.Linear(d_model, target_vocab_size, bias=False)
        nn.init.normal_(self.unembedding.weight, std=d_model**-0.5)
        if tie_weights:
            self.unembedding.weight = self.target_embedding.weight

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the logits of the token after each target position, ``(B, T, V)``.

        Args:
            source: ``(B, S)``, tokens.
            target: ``(B, T)``, tokens; in training, the target shifted by one.
            source_mask: boolean, ``True`` = may attend; used in encoder and decoder.
            target_mask: boolean, combined with the causal mask.
        """
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, source_mask, target_mask)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return the memory ``(B, S, D)`` of a source ``(B, S)``."""
        x = self.source_positions(look_up("source", self.source_embedding, source))
        memory, _ = self.encoder(self.dropout(x), source_mask, need_weights=False)
        return memory

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        *,
        caches: Sequence[DecoderCache] | None = None,
    ) -> Tensor:
        """Return the logits of the token after each target position, ``(B, T, V)``.

        Args:
            target: ``(B, T)``, tokens; with caches, the new ones only.
            memory: ``(B, S, D)``, from :meth:`encode`.
            source_mask: boolean, as in :meth:`forward`.
            target_mask: boolean, as in :meth:`forward`, for all tokens so far.
            caches: one for each block of the decoder; all grow, unless the call is refused.
        """
        past, length = len(caches[0].target) if caches else 0, target.size(1)
        mask = causal_mask(length, past + length, device=target.device)
        mask = mask if target_mask is None else mask & target_mask
        x = look_up("target", self.target_embedding, target)
        x = self.dropout(self.target_positions(x, past))
        states, *_ = self.decoder(x, memory, mask, source_mask, need_weights=False, caches=caches)
        return self.unembedding(states)

    @torch.no_grad()
    def generate(
        self,
        source: Tensor,
        max_new_tokens: int,
        *,
        bos_token: int,
        eos_token: int | None = None,
        source_mask: Tensor | None = None,
        select: Callable[[Tensor], Tensor] | None = None,
        cached: bool = True,
    ) -> Tensor:
        """Generate a target autoregressively: each token from the model's own earlier tokens.

        Args:
            source: ``(B, S)``, tokens.
            max_new_tokens: largest number of tokens to generate.
            bos_token: first decoder input of each target.
            eos_token: token that ends a target, and pads it; no such token by default.
            source_mask: boolean, as in :meth:`forward`.
            select: function from logits ``(B, V)`` to the next tokens ``(B,)``; greedy by default.
            cached: use a KV cache, instead of computing all keys and values at every step.

        Returns:
            ``(B, n)`` without ``bos_token``, with n at most ``max_new_tokens``.

        Raises:
            TypeError, ValueError: ``max_new_tokens`` is below 1, or a token is not in
                the vocabulary.
        """
        max_new_tokens = check_integer("max_new_tokens", max_new_tokens, least=1)
        self._check_tokens(bos_token, eos_token)
        memory = self.encode(source, source_mask)
        caches = [DecoderCache() for _ in self.decoder.blocks] if cached else None
        target = torch.full_like(source[:, :1], bos_token)
        has_ended = torch.zeros_like(target[:, 0], dtype=torch.bool)
        for _ in range(max_new_tokens):
            new = target[:, -1:] if cached else target
            logits = self.decode(new, memory, source_mask, caches=caches)[:, -1]
            newest = logits.argmax(-1) if select is None else select(logits)
            if eos_token is not None:
                newest = newest.masked_fill(has_ended, eos_token)
                has_ended = newest == eos_token
            target = torch.cat([target, newest[:, None]], dim=1)
            if has_ended.all():
                break
        return target[:, 1:]

    def _check_tokens(self, bos_token: int, eos_token: int | None) -> None:
        """Raise unless both are tokens of the target."""
        most = self.target_embedding.num_embeddings - 1
        for name, token in (("bos_token", bos_token), ("eos_token", eos_token)):
            if token is not None and check_integer(name, token, least=0) > most:
                raise ValueError(f"{name} must be at most {most}; got {token}")


def _embedding(name: str, vocab_size: int, d_model: int) -> nn.Embedding:
    """Return an embedding, initialized with variance 1 / ``d_model``."""
    table = nn.Embedding(check_integer(name, vocab_size, least=1), d_model)
    # The scaled embedding then has variance 1, like the logits of a normalized state.
    nn.init.normal_(table.weight, std=d_model**-0.5)
    return table
