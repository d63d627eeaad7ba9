"""The plain encoder and decoder of Part III: no residual paths, no norms.

Attention and a feed-forward part are all that they have, as in the course that Part III follows.
Shape letters: ``B`` batch, ``S`` source length, ``T`` target length, ``H`` heads, ``D`` width.
"""

import math

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.cache import DecoderCache
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.positions import PositionalEncoding

MAX_LEN = 1000


class Encoder(nn.Module):
    r"""Let the source points attend to each other, and pass each result through a small network.

    .. math:: M = \operatorname{ff}\big(\operatorname{MultiHead}(X, X, X)\big), \qquad
       \operatorname{ff}(x) = W_2 \operatorname{relu}(W_1 x + b_1) + b_2

    Args:
        d_model: width of the states.
        num_heads: number of heads, each of width ``d_model`` (wide).
        d_ff: width inside of the feed-forward part.
        d_input: width of a source point.
        positions: add sine and cosine positions to the source, scaled by the root of its width.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> encoder = Encoder()   # 3 heads of width 2, a hidden layer of 10: as in the source
        >>> memory, weights = encoder(torch.ones(5, 4, 2))
        >>> memory.shape, weights.shape   # (B, S, D) and (B, H, S, S)
        (torch.Size([5, 4, 2]), torch.Size([5, 3, 4, 4]))
        >>> smallest = Encoder(d_model=1, num_heads=1, d_ff=1, d_input=1)
        >>> smallest(torch.ones(1, 1, 1))[1]
        tensor([[[[1.]]]], grad_fn=...)
        >>> Encoder(d_input=9, positions=True).place   # the root of 9
        PositionalEncoding(d_model=9, max_len=1000, scale=3.0)
    """

    def __init__(
        self,
        *,
        d_model: int = 2,
        num_heads: int = 3,
        d_ff: int = 10,
        d_input: int = 2,
        positions: bool = False,
    ) -> None:
        super().__init__()
        self.place = _positions(d_input, positions)
        self.attention = MultiHeadAttention(
            d_model, num_heads, d_input=d_input, d_head=d_model
        )
        self.feed_forward = _feed_forward(d_model, d_ff, d_model)

    def forward(
        self,
        source: Tensor,
        source_mask: Tensor | None = None,
        *,
        need_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the states ``(B, S, D)`` and the weights ``(B, H, S, S)``.

        Args:
            source: ``(B, S, d_input)``.
            source_mask: boolean, ``True`` = may be seen, broadcastable to ``(B, H, S, S)``.
            need_weights: return the weights, or else ``None``; then PyTorch chooses its kernel.
        """
        x = self.place(source)
        context, weights = self.attention(
            x, x, x, source_mask, need_weights=need_weights
        )
        return self.feed_forward(context), weights


class Decoder(nn.Module):
    r"""Let the target points attend to their past, then to the memory, then pass them on.

    .. math:: Y = \operatorname{ff}\Big(\operatorname{MultiHead}\big(
       \operatorname{MultiHead}(X, X, X),\; M,\; M\big)\Big)

    Args:
        d_model: width of the memory and of the states inside.
        num_heads: number of heads of each of the two attentions, each of width ``d_model`` (wide).
        d_ff: width inside of the feed-forward part.
        d_input: width of a target point, in and out.
        positions: add sine and cosine positions to the target, scaled by the root of its width.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> decoder, target, memory = Decoder(), torch.ones(5, 3, 2), torch.ones(5, 4, 2)
        >>> output, weights, memory_weights = decoder(target, memory, causal_mask(3))
        >>> output.shape, weights.shape, memory_weights.shape
        (torch.Size([5, 3, 2]), torch.Size([5, 3, 3, 3]), torch.Size([5, 3, 3, 4]))
        >>> weights[0, 0, 0].tolist()   # the first point sees itself
        [1.0, 0.0, 0.0]
        >>> Decoder(d_input=9, positions=True).place   # the root of 9
        PositionalEncoding(d_model=9, max_len=1000, scale=3.0)
    """

    def __init__(
        self,
        *,
        d_model: int = 2,
        num_heads: int = 3,
        d_ff: int = 10,
        d_input: int = 2,
        positions: bool = False,
    ) -> None:
        super().__init__()
        self.place = _positions(d_input, positions)
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, d_input=d_input, d_head=d_model
        )
        self.cross_attention = MultiHeadAttention(
            d_model, num_heads, d_head=d_model
        )
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
            target: ``(B, T, d_input)``; in training the target shifted by one.
            memory: ``(B, S, d_model)``, the encoder's states.
            target_mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, T)``.
            memory_mask: the same for the memory, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights, or else ``None`` twice; then PyTorch chooses its kernels.
        """
        x = self.place(target)
        states, weights = self.self_attention(
            x, x, x, target_mask, need_weights=need_weights
        )
        context, memory_weights = self.cross_attention(
            states, memory, memory, memory_mask, need_weights=need_weights
        )
        return self.feed_forward(context), weights, memory_weights

    def step(
        self,
        newest: Tensor,
        memory: Tensor,
        cache: DecoderCache,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Return the output ``(B, 1, d_input)`` of one more position, which sees all before it.

        Args:
            newest: ``(B, 1, d_input)``.
            memory: ``(B, S, d_model)``, at every step the same.
            cache: empty at the first step; grows, unless the step is refused.
            memory_mask: as in :meth:`forward`.

        Raises:
            TypeError: as of :class:`~selfattn_book.multi_head.MultiHeadAttention`.
            ValueError: as of it, or ``newest`` is not one position, or the memory is not as long
                as that of the steps before.
        """
        _check_step(newest)
        kept = cache.branch()
        x = self.place(newest, start=len(kept.target))
        states, _ = self.self_attention(
            x, x, x, need_weights=False, cache=kept.target
        )
        unseen = kept.unread(memory)  # all of it, then nothing
        context, _ = self.cross_attention(
            states,
            unseen,
            unseen,
            memory_mask,
            need_weights=False,
            cache=kept.memory,
        )
        output = self.feed_forward(context)
        cache.take_over(kept)  # last: a refused step leaves it as it was
        return output


class EncoderDecoder(nn.Module):
    """Read a source with an encoder, and write its continuation with a decoder.

    Args:
        d_model: width of the states.
        num_heads: number of heads of each attention, each of width ``d_model`` (wide).
        d_ff: width inside of the feed-forward parts.
        d_input: width of a point, in and out.
        positions: add sine and cosine positions to source and target.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`godoy2022deep`, chapter 9.

    Example:
        >>> model = EncoderDecoder(positions=True)
        >>> source, target = torch.ones(5, 2, 2), torch.ones(5, 3, 2)
        >>> model(source, target).shape
        torch.Size([5, 3, 2])
        >>> slow, fast = (model.predict(source, 7, cached=cached) for cached in (False, True))
        >>> slow.shape, slow.allclose(fast, atol=1e-6)
        (torch.Size([5, 7, 2]), True)
        >>> plain = EncoderDecoder()
        >>> sum(x.numel() for x in plain.parameters())
        308
        >>> points, start = torch.eye(2)[None], torch.ones(1, 1, 2)
        >>> ahead, back = plain(points, start), plain(points.flip(1), start)
        >>> ahead.allclose(back)   # without positions, the order of the source is not seen
        True
        >>> plain.predict(points, 1, start=start).equal(ahead)
        True
        >>> plain.predict(points, 1).equal(plain(points, points[:, -1:]))   # the usual start
        True
    """

    def __init__(
        self,
        *,
        d_model: int = 2,
        num_heads: int = 3,
        d_ff: int = 10,
        d_input: int = 2,
        positions: bool = False,
    ) -> None:
        super().__init__()
        sizes = {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
        self.encoder = Encoder(**sizes, d_input=d_input, positions=positions)
        self.decoder = Decoder(**sizes, d_input=d_input, positions=positions)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
    ) -> Tensor:
        """Return for each target position what the model says of the next, ``(B, T, d_input)``.

        The target is masked here, so that no position sees what it has to say.

        Args:
            source: ``(B, S, d_input)``.
            target: ``(B, T, d_input)``, shifted: it begins with the last source point.
            source_mask: boolean, ``True`` = may be seen, as from
                :func:`~selfattn_book.masks.padding_mask`; it serves encoder and decoder.
        """
        memory, _ = self.encoder(source, source_mask, need_weights=False)
        mask = causal_mask(target.size(1), device=target.device)
        output, *_ = self.decoder(
            target, memory, mask, source_mask, need_weights=False
        )
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
        """Continue a source point by point, each from the model's own points before.

        Args:
            source: ``(B, S, d_input)``.
            length: how many points to predict.
            start: ``(B, 1, d_input)``, the first query; the last source point when left out.
            source_mask: boolean, ``True`` = may be seen; it serves encoder and decoder.
            cached: compute each key and value once, instead of all of them at every step.

        Returns:
            ``(B, length, d_input)``.

        Raises:
            TypeError: the length is not an integer.
            ValueError: it is below 1, the start is not one point for each source,
                or there is neither a start nor a source point.
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
            output, *_ = self.decoder(
                points, memory, growing, mask, need_weights=False
            )
            points = torch.cat([points, output[:, -1:]], dim=1)
        return points[:, 1:]

    def _predict_cached(
        self, newest: Tensor, memory: Tensor, length: int, mask: Tensor | None
    ) -> Tensor:
        cache, points = DecoderCache.empty(), []
        for _ in range(length):
            newest = self.decoder.step(newest, memory, cache, mask)
            points.append(newest)
        return torch.cat(points, dim=1)


class _NoPositions(nn.Module):
    """Leave the input as it is, wherever it stands."""

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        return x


def _check_start(source: Tensor, start: Tensor | None) -> None:
    """Raise unless there is one point for each source to begin with.

    >>> _check_start(torch.zeros(5, 3, 2), torch.zeros(5, 1, 2))
    >>> _check_start(torch.zeros(5, 3, 2), torch.zeros(5, 2, 2))
    Traceback (most recent call last):
    ValueError: start must have shape (5, 1, 2); got (5, 2, 2)
    >>> _check_start(torch.zeros(5, 0, 2), None)
    Traceback (most recent call last):
    ValueError: source must have at least one point where no start is given; got (5, 0, 2)
    """
    if start is None:
        if source.size(1) == 0:
            rule = "source must have at least one point where no start is given"
            raise ValueError(f"{rule}; got {tuple(source.shape)}")
    elif start.shape != (wanted := (source.size(0), 1, source.size(2))):
        raise ValueError(
            f"start must have shape {wanted}; got {tuple(start.shape)}"
        )


def _check_step(newest: Tensor) -> None:
    """Raise unless one position comes.

    >>> _check_step(torch.zeros(5, 1, 2))
    >>> _check_step(torch.zeros(5, 2, 2))
    Traceback (most recent call last):
    ValueError: newest must be one position, (batch, 1, width); got (5, 2, 2)
    """
    if newest.ndim != 3 or newest.size(1) != 1:
        rule = "newest must be one position, (batch, 1, width)"
        raise ValueError(f"{rule}; got {tuple(newest.shape)}")


def _positions(d_input: int, wanted: bool) -> nn.Module:
    d_input = check_integer("d_input", d_input, least=1)
    if not wanted:
        return _NoPositions()
    return PositionalEncoding(d_input, MAX_LEN, scale=math.sqrt(d_input))


def _feed_forward(d_in: int, d_ff: int, d_out: int) -> nn.Sequential:
    d_ff = check_integer("d_ff", d_ff, least=1)
    return nn.Sequential(nn.Linear(d_in, d_ff), nn.ReLU(), nn.Linear(d_ff, d_out))
