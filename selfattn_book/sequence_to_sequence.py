"""A whole Transformer: it reads one sequence of tokens and writes another.

Shape letters: ``B`` batch, ``T`` target length, ``S`` source length, ``D`` width,
``V`` number of tokens in the target's vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.cache import DecoderCache
from selfattn_book.masks import causal_mask
from selfattn_book.positions import PositionalEncoding
from selfattn_book.transformer import DecoderStack, EncoderStack


class Transformer(nn.Module):
    r"""Read a sequence of tokens with an encoder, and write another one with a decoder.

    Token :math:`s_p` at position :math:`p` comes in as a row of a learned table, and from the
    decoder's state :math:`h_t` comes the probability of each next token:

    .. math:: x_p = \sqrt{D}\, E_{s_p} + P_p, \qquad
       p(v \mid t) = \operatorname{softmax}(U h_t)_v

    The tables are drawn with variance 1 / ``d_model``, so that ``x`` begins with variance 1
    beside the positions, and so do the logits of a state whose entries have mean square 1.

    Args:
        source_vocabulary: number of tokens that may stand in a source.
        target_vocabulary: number of tokens that may stand in a target, ``V``.
        d_model: width.
        num_layers: blocks of the encoder, and of the decoder.
        num_heads: number of heads of each attention.
        tied: the unembedding :math:`U` is the table of the target's tokens; else it is a table
            of its own.
        max_len: positions of the longest sequence.
        dropout: probability with which weights, what the parts add, and embedded tokens are
            dropped, while training only.
        options: of each :class:`~selfattn_book.transformer.EncoderBlock` and ``DecoderBlock``.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, or as of an ``EncoderBlock``.

    Source:
        :cite:t:`vaswani2017attention`, sections 3.1 and 3.4; tied, :cite:t:`press2017using`.

    Example:
        >>> model = Transformer(13, 11, d_model=6, num_layers=3, num_heads=2).eval()
        >>> source, target = torch.zeros(5, 7, dtype=int), torch.ones(5, 2, dtype=int)
        >>> model(source, target).shape   # (B, T, V)
        torch.Size([5, 2, 11])
        >>> written = model.predict(source, 4, start=1)
        >>> written.shape, written.equal(model.predict(source, 4, start=1, cached=False))
        (torch.Size([5, 4]), True)
        >>> tied = Transformer(13, 11, d_model=6, num_layers=3, num_heads=2, tied=True)
        >>> sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in tied.parameters())
        66
        >>> model(source + 13, target)
        Traceback (most recent call last):
        ValueError: source must hold tokens from 0 to 12; got 13
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        *,
        d_model: int,
        num_layers: int,
        num_heads: int,
        tied: bool = False,
        max_len: int = 1000,
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__()
        sizes, options = (
            (num_layers, d_model, num_heads),
            {**options, "dropout": dropout},
        )
        self.encoder = EncoderStack(*sizes, **options)
        self.decoder = DecoderStack(*sizes, **options)
        self.source_embedding = _table(
            "source_vocabulary", source_vocabulary, d_model
        )
        self.target_embedding = _table(
            "target_vocabulary", target_vocabulary, d_model
        )
        scale = math.sqrt(d_model)
        self.place_source = PositionalEncoding(d_model, max_len, scale=scale)
        self.place_target = PositionalEncoding(d_model, max_len, scale=scale)
        self.dropout = nn.Dropout(dropout)
        self.unembedding = nn.Linear(d_model, target_vocabulary, bias=False)
        nn.init.normal_(self.unembedding.weight, std=d_model**-0.5)
        if tied:
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
            target: ``(B, T)``, tokens; in training the target shifted by one.
            source_mask: boolean, ``True`` = may be seen, broadcastable to ``(B, H, S, S)`` and
                to ``(B, H, T, S)``, as from :func:`~selfattn_book.masks.padding_mask`.
            target_mask: the same of the target, broadcastable to ``(B, H, T, T)``; that no
                position sees a later one is seen to here.
        """
        memory = self.encode(source, source_mask)
        return self.decode(target, memory, source_mask, target_mask)

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return the memory ``(B, S, D)`` of a source ``(B, S)``."""
        x = self.place_source(_look_up("source", self.source_embedding, source))
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
            target: ``(B, T)``, tokens; with caches, those that come after the ones before.
            memory: ``(B, S, D)``, from :meth:`encode`.
            source_mask: as of :meth:`forward`.
            target_mask: as of :meth:`forward`; with caches it tells of all tokens so far.
            caches: one for each block of the decoder; all grow, unless the call is refused.
        """
        before, length = len(caches[0].target) if caches else 0, target.size(1)
        mask = causal_mask(length, before + length, device=target.device)
        mask = mask if target_mask is None else mask & target_mask
        x = _look_up("target", self.target_embedding, target)
        x = self.dropout(self.place_target(x, before))
        states, *_ = self.decoder(
            x, memory, mask, source_mask, need_weights=False, caches=caches
        )
        return self.unembedding(states)

    @torch.no_grad()
    def predict(
        self,
        source: Tensor,
        length: int,
        *,
        start: int,
        end: int | None = None,
        source_mask: Tensor | None = None,
        choose: Callable[[Tensor], Tensor] | None = None,
        cached: bool = True,
    ) -> Tensor:
        """Write a target token by token, each from the model's own tokens before.

        Args:
            source: ``(B, S)``, tokens.
            length: how many tokens to write at most.
            start: the token with which each target begins.
            end: the token behind which a target has nothing more; without one, all are written
                to their full length.
            source_mask: boolean, ``True`` = may be seen; it serves encoder and decoder.
            choose: from logits ``(B, V)`` to the next tokens ``(B,)``; the likeliest when left out.
            cached: compute each key and value once, instead of all of them at every step.

        Returns:
            ``(B, n)`` without the start; n is less than ``length`` where all have ended before.
            Behind its end a target holds ``end`` alone.

        Raises:
            TypeError: a number is not an integer.
            ValueError: the length is below 1, or start or end is no token of the target.
        """
        length = check_integer("length", length, least=1)
        first, end = self._check_tokens(start, end)
        memory = self.encode(source, source_mask)
        caches = (
            [DecoderCache.empty() for _ in self.decoder.blocks] if cached else None
        )
        target = torch.full_like(source[:, :1], first)
        has_ended = torch.zeros_like(target[:, 0], dtype=torch.bool)
        for _ in range(length):
            unread = target[:, -1:] if cached else target
            logits = self.decode(unread, memory, source_mask, caches=caches)[:, -1]
            newest = logits.argmax(-1) if choose is None else choose(logits)
            if end is not None:
                newest = newest.masked_fill(has_ended, end)
                has_ended = newest == end
            target = torch.cat([target, newest[:, None]], dim=1)
            if has_ended.all():
                break
        return target[:, 1:]

    def _check_tokens(self, start: int, end: int | None) -> tuple[int, int | None]:
        """Return start and end, or raise unless they are tokens of the target."""
        most = self.target_embedding.num_embeddings - 1
        for name, token in (("start", start), ("end", end)):
            if token is not None and check_integer(name, token, least=0) > most:
                raise ValueError(f"{name} must be at most {most}; got {token}")
        return start, end


def _table(name: str, vocabulary: int, d_model: int) -> nn.Embedding:
    """Return a table of tokens, drawn with variance 1 / ``d_model``."""
    table = nn.Embedding(check_integer(name, vocabulary, least=1), d_model)
    nn.init.normal_(table.weight, std=d_model**-0.5)
    return table


def _look_up(name: str, table: nn.Embedding, tokens: Tensor) -> Tensor:
    """Return the rows of a table ``(B, T, D)`` for tokens ``(B, T)``, or raise.

    >>> table = nn.Embedding(3, 2)
    >>> _look_up("source", table, torch.tensor([[0.0]]))
    Traceback (most recent call last):
    TypeError: source must be tokens, integers; got dtype torch.float32
    >>> _look_up("source", table, torch.tensor([0]))
    Traceback (most recent call last):
    ValueError: source must have shape (batch, length); got (1,)
    >>> _look_up("source", table, torch.tensor([[0, -1]]))
    Traceback (most recent call last):
    ValueError: source must hold tokens from 0 to 2; got -1
    """
    if tokens.dtype not in (torch.int64, torch.int32):
        raise TypeError(
            f"{name} must be tokens, integers; got dtype {tokens.dtype}"
        )
    if tokens.ndim != 2:
        rule = f"{name} must have shape (batch, length)"
        raise ValueError(f"{rule}; got {tuple(tokens.shape)}")
    try:
        return table(tokens)
    except IndexError:
        most = table.num_embeddings - 1
        wrong = tokens.max() if tokens.max() > most else tokens.min()
        rule = f"{name} must hold tokens from 0 to {most}"
        raise ValueError(f"{rule}; got {wrong.item()}") from None
