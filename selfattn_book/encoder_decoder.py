"""The plain encoder and decoder of Part III: no residual connections, no norms.

They consist of attention and a feed-forward network, as in the course that Part III follows.
Shape letters: ``B`` batch, ``S`` source length, ``T`` target length, ``H`` heads, ``D`` dimension.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.cache import DecoderCache, unchanged_if_refused
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import PositionalEncoding

MAX_LEN = 1000
COURSE_SIZES = {"d_model": 2, "num_heads": 3, "d_ff": 10}


class Encoder(nn.Module):
    r"""Apply self-attention to the source, and a feed-forward network to each position.

    .. math:: M = \operatorname{ff}\big(\operatorname{MultiHead}(X, X, X)\big), \qquad
       \operatorname{ff}(x) = W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Args:
        d_model: dimension of the states.
        num_heads: number of heads, each of dimension ``d_model`` (wide).
        d_ff: hidden dimension of the feed-forward network.
        d_input: dimension of a source point.
        positions: multiply the source by the root of its dimension and add positional encodings.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> memory, weights = Encoder(**COURSE_SIZES)(torch.ones(5, 4, 2))
        >>> memory.shape, weights.shape   # (B, S, D) and (B, H, S, S)
        (torch.Size([5, 4, 2]), torch.Size([5, 3, 4, 4]))
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        d_input: int = 2,
        positions: bool = False,
    ) -> None:
        super().__init__()
        self.positions = _positions(d_input, positions)
        self.attention = MultiHeadAttention(d_model, num_heads, d_input=d_input, d_head=d_model)
        self.feed_forward = _feed_forward(d_model, d_ff, d_model)

    def forward(
        self, source: Tensor, source_mask: Tensor | None = None, *, need_weights: bool = True
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, S, D)`` and the weights ``(B, H, S, S)``."""
        x = self.positions(source)
        context, weights = self.attention(x, x, x, source_mask, need_weights=need_weights)
        return self.feed_forward(context), weights


class Decoder(nn.Module):
    r"""Apply self-attention to the target, cross-attention to the memory, and a feed-forward network.

    .. math:: Y = \operatorname{ff}\Big(\operatorname{MultiHead}\big(
       \operatorname{MultiHead}(X, X, X),\; M,\; M\big)\Big)

    The arguments are those of :class:`Encoder`; ``d_input`` is the dimension of a target point.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> decoder, target, memory = Decoder(**COURSE_SIZES), torch.ones(5, 3, 2), torch.ones(5, 4, 2)
        >>> output, weights, memory_weights = decoder(target, memory, causal_mask(3))
        >>> output.shape, weights.shape, memory_weights.shape
        (torch.Size([5, 3, 2]), torch.Size([5, 3, 3, 3]), torch.Size([5, 3, 3, 4]))
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        d_input: int = 2,
        positions: bool = False,
    ) -> None:
        super().__init__()
        self.positions = _positions(d_input, positions)
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, d_input=d_input, d_head=d_model
        )
        self.cross_attention = MultiHeadAttention(d_model, num_heads, d_head=d_model)
        self.feed_forward = _feed_forward(d_model, d_ff, d_input)

    def forward(
        self,
        target: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        *,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the outputs ``(B, T, d_input)`` and both attentions' weights.

        Args:
            target: ``(B, T, d_input)``; in training, the target shifted by one.
            memory: ``(B, S, d_model)``, the encoder's output.
            target_mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, T)``.
            memory_mask: the same for the memory, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses a fused kernel.
        """
        x = self.positions(target)
        states, weights = self.self_attention(x, x, x, target_mask, need_weights=need_weights)
        context, memory_weights = self.cross_attention(
            states, memory, memory, memory_mask, need_weights=need_weights
        )
        return self.feed_forward(context), weights, memory_weights

    def step(
        self, newest: Tensor, memory: Tensor, cache: DecoderCache, memory_mask: Tensor | None = None
    ) -> Tensor:
        """Return the output ``(B, 1, d_input)`` for one new position, using a KV cache.

        Args:
            newest: ``(B, 1, d_input)``.
            memory: ``(B, S, d_model)``, the same at every step.
            cache: empty at the first step; grows, unless the step is refused.
            memory_mask: boolean, as in :meth:`forward`.
        """
        _check_step(newest)
        x = self.positions(newest, start=len(cache.target))
        with unchanged_if_refused([cache.target, cache.memory]):
            states, _ = self.self_attention(x, x, x, need_weights=False, cache=cache.target)
            new = cache.uncached(memory)  # all of it at the first step
            context, _ = self.cross_attention(
                states, new, new, memory_mask, need_weights=False, cache=cache.memory
            )
            return self.feed_forward(context)


class EncoderDecoder(nn.Module):
    """Encode a source, and predict its continuation with a decoder.

    The arguments are those of :class:`Encoder`, for both parts.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> model = EncoderDecoder(**COURSE_SIZES, positions=True)
        >>> source, target = torch.ones(5, 2, 2), torch.ones(5, 3, 2)
        >>> model(source, target).shape, model.predict(source, 7).shape
        (torch.Size([5, 3, 2]), torch.Size([5, 7, 2]))
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(**options), Decoder(**options)

    def forward(self, source: Tensor, target: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Return the prediction of the next point at each target position, ``(B, T, d_input)``.

        Args:
            source: ``(B, S, d_input)``.
            target: ``(B, T, d_input)``, shifted by one: it begins with the last source point.
            source_mask: boolean, ``True`` = may attend; used in encoder and decoder.
        """
        memory, _ = self.encoder(source, source_mask, need_weights=False)
        mask = causal_mask(target.size(1), device=target.device)
        output, *_ = self.decoder(target, memory, mask, source_mask, need_weights=False)
        return output

    @torch.no_grad()
    def predict(
        self,
        source: Tensor,
        length: int,
        *,
        start: Tensor | None = None,
        source_mask: Tensor | None = None,
        cached: bool = True,
    ) -> Tensor:
        """Continue a source autoregressively with ``length`` points, ``(B, length, d_input)``.

        Args:
            source: ``(B, S, d_input)``.
            length: number of points to predict.
            start: ``(B, 1, d_input)``, the first decoder input; the last source point by default.
            source_mask: boolean, as in :meth:`forward`.
            cached: use a KV cache, instead of computing all keys and values at every step.

        Raises:
            TypeError, ValueError: the length is below 1, or there is not one start per source.
        """
        length = check_integer("length", length, least=1)
        memory, _ = self.encoder(source, source_mask, need_weights=False)
        _check_start(source, start)
        newest = source[:, -1:] if start is None else start
        decode = self._predict_cached if cached else self._predict_anew
        return decode(newest, memory, length, source_mask)

    def _predict_anew(
        self, first: Tensor, memory: Tensor, length: int, mask: Tensor | None
    ) -> Tensor:
        points = first
        for _ in range(length):
            growing = causal_mask(points.size(1), device=points.device)
            output, *_ = self.decoder(points, memory, growing, mask, need_weights=False)
            points = torch.cat([points, output[:, -1:]], dim=1)
        return points[:, 1:]

    def _predict_cached(
        self, newest: Tensor, memory: Tensor, length: int, mask: Tensor | None
    ) -> Tensor:
        cache, points = DecoderCache(), []
        for _ in range(length):
            newest = self.decoder.step(newest, memory, cache, mask)
            points.append(newest)
        return torch.cat(points, dim=1)


class _NoPositions(nn.Module):
    """Return the input unchanged: the identity, called like a positional encoding."""

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x


def _check_start(source: Tensor, start: Tensor | None) -> None:
    """Raise unless there is one start point for each source."""
    if start is None:
        if source.size(1) == 0:
            rule = "source must have at least one point where no start is given"
            raise ValueError(f"{rule}; got {tuple(source.shape)}")
    elif start.shape != (wanted := (source.size(0), 1, source.size(2))):
        raise ValueError(f"start must have shape {wanted}; got {tuple(start.shape)}")


def _check_step(newest: Tensor) -> None:
    """Raise unless ``newest`` is a single position."""
    if newest.ndim != 3 or newest.size(1) != 1:
        rule = "newest must be one position, (batch, 1, d_input)"
        raise ValueError(f"{rule}; got {tuple(newest.shape)}")


def _positions(d_input: int, wanted: bool) -> nn.Module:
    d_input = check_integer("d_input", d_input, least=1)
    if not wanted:
        return _NoPositions()
    return PositionalEncoding(d_input, MAX_LEN, scale=math.sqrt(d_input))


def _feed_forward(d_in: int, d_ff: int, d_out: int) -> nn.Sequential:
    d_ff = check_integer("d_ff", d_ff, least=1)
    return nn.Sequential(nn.Linear(d_in, d_ff), nn.ReLU(), nn.Linear(d_ff, d_out))
