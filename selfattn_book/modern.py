"""The parts of today's language models: grouped heads, which may be turned, and gated networks.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads of queries, ``G`` heads
of keys and values, ``D`` width. The norm of these models is :class:`torch.nn.RMSNorm`.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book._arguments import check_integer
from selfattn_book.attention import attention_weights
from selfattn_book.cache import KeyValueCache
from selfattn_book.multi_head import (
    _check_dropout,
    _check_inputs,
    _checked_sizes,
    _fused,
)
from selfattn_book.rotary import check_base, rotate


class GroupedAttention(nn.Module):
    r"""Attend with fewer heads of keys and values than of queries, and with rotated positions.

    Head :math:`h` of the queries looks at head :math:`\lfloor h\,G/H \rfloor` of keys and values:

    .. math:: \operatorname{head}_h = \operatorname{Attention}\big(
       Q_h,\; K_{\lfloor hG/H \rfloor},\; V_{\lfloor hG/H \rfloor}\big)

    With ``num_key_heads=num_heads`` and no rotation this is
    :class:`~selfattn_book.multi_head.MultiHeadAttention`, and it is called as that is;
    with ``num_key_heads=1`` it is multi-query attention.

    Args:
        d_model: width of what comes in and out.
        num_heads: number of heads of queries, :math:`H`.
        num_key_heads: number of heads of keys and values, :math:`G`; ``num_heads`` when left out.
        d_head: width of one head; ``d_model // num_heads`` when left out.
        bias: whether the maps add a bias.
        dropout: probability with which a weight is dropped, while training only.
        rotary_base: of :func:`~selfattn_book.rotary.rotate`, which turns queries and keys; they
            are not turned when left out. The first key of the cache stands at 0, and the last
            query beside the last key.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, ``num_heads`` is not divisible by ``num_key_heads``, or
            ``d_head`` is odd and the heads shall be turned.

    Source:
        :cite:t:`ainslie2023gqa`; multi-query, :cite:t:`shazeer2019fast`.

    Example:
        >>> attention = GroupedAttention(12, 6, num_key_heads=3, rotary_base=10000.0)
        >>> x, cache = torch.ones(5, 4, 12), KeyValueCache()
        >>> context, weights = attention(x, x, x, cache=cache)
        >>> context.shape, weights.shape, cache.keys.shape   # kept before they are repeated
        (torch.Size([5, 4, 12]), torch.Size([5, 6, 4, 4]), torch.Size([5, 3, 4, 2]))
        >>> GroupedAttention(12, 6, num_key_heads=4)
        Traceback (most recent call last):
        ValueError: num_heads must be divisible by num_key_heads; got 6 and 4
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_key_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary_base: float | None = None,
    ) -> None:
        super().__init__()
        d_model, num_heads, _, d_head = _checked_sizes(
            d_model, num_heads, d_model, d_head
        )
        num_key_heads = num_heads if num_key_heads is None else num_key_heads
        num_key_heads = check_integer("num_key_heads", num_key_heads, least=1)
        _check_groups(num_heads, num_key_heads)
        _check_dropout(dropout)
        _check_rotation(d_head, rotary_base)
        self.num_heads, self.num_key_heads = num_heads, num_key_heads
        self.d_head, self.dropout, self.rotary_base = d_head, dropout, rotary_base
        self.project_query = nn.Linear(d_model, num_heads * d_head, bias)
        self.project_key = nn.Linear(d_model, num_key_heads * d_head, bias)
        self.project_value = nn.Linear(d_model, num_key_heads * d_head, bias)
        self.project_output = nn.Linear(num_heads * d_head, d_model, bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from every query position to the key positions that the mask leaves open.

        Args:
            query: ``(B, T, D)``.
            key: ``(B, S, D)``.
            value: ``(B, S, D)``.
            mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses its kernel.
            cache: keys and values of earlier calls, which stand before those of this one;
                these are added to it, turned and not yet repeated. ``S`` then counts them all.

        Returns:
            The context ``(B, T, D)``, and the weights ``(B, H, T, S)``, or ``None``.

        Raises:
            TypeError: as of :class:`~selfattn_book.multi_head.MultiHeadAttention`.
            ValueError: as there; a cache is then as it was.
        """
        _check_inputs(self, (query, key, value), mask, cache)
        query = self._split_heads(self.project_query(query))  # (B, H, T, d)
        key = self._split_heads(self.project_key(key))  # (B, G, S, d)
        value = self._split_heads(self.project_value(value))  # (B, G, S, d)
        if self.rotary_base is not None:
            query, key = self._turn(query, key, 0 if cache is None else len(cache))
        if cache is not None:
            key, value = cache.join(key, value)  # those of earlier calls first
        dropout = self.dropout if self.training else 0.0
        keys, values = self._shared(key), self._shared(value)  # (B, H, S, d)
        if need_weights:
            weights = attention_weights(query, keys, mask)  # (B, H, T, S)
            context = F.dropout(weights, dropout) @ values  # (B, H, T, d)
        else:
            weights, context = None, _fused(query, keys, values, mask, dropout)
        merged = context.transpose(1, 2).flatten(2)  # (B, T, H * d)
        output = self.project_output(merged)
        if cache is not None:
            cache.keep(key, value)  # last: a refused call leaves it as it was
        return output, weights

    def _turn(
        self, query: Tensor, key: Tensor, before: int
    ) -> tuple[Tensor, Tensor]:
        """Turn queries and keys; the last query stands beside the last key."""
        places = torch.arange(key.size(2), device=key.device) + before
        asking = torch.arange(query.size(2), device=key.device)
        asking = asking + before + key.size(2) - query.size(2)
        base = self.rotary_base or 0.0
        return rotate(query, asking, base), rotate(key, places, base)

    def _shared(self, x: Tensor) -> Tensor:
        times = self.num_heads // self.num_key_heads
        return x.repeat_interleave(times, dim=1)  # (B, G, S, d) -> (B, H, S, d)

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (-1, self.d_head))  # however many there are
        return heads.transpose(1, 2)

    def extra_repr(self) -> str:
        """Show what the printed sub-modules do not: heads, dropout and rotation."""
        heads = f"num_heads={self.num_heads}, num_key_heads={self.num_key_heads}"
        rest = f"dropout={self.dropout}, rotary_base={self.rotary_base}"
        return f"{heads}, d_head={self.d_head}, {rest}"


class GatedFeedForward(nn.Module):
    r"""Pass each position by itself through two maps, of which one opens and closes the other.

    .. math:: \operatorname{ff}(x) = W_2 \big(\operatorname{silu}(W_g x) \odot W_1 x\big),
       \qquad \operatorname{silu}(z) = \frac{z}{1 + e^{-z}}

    Known as SwiGLU. Its maps have no biases.

    Args:
        d_model: width of what comes in and out.
        d_ff: width between the maps.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`shazeer2020glu`, section 2.

    Example:
        >>> feed_forward = GatedFeedForward(4, 16)
        >>> feed_forward(torch.ones(5, 3, 4)).shape
        torch.Size([5, 3, 4])
        >>> GatedFeedForward(4, 0)
        Traceback (most recent call last):
        ValueError: d_ff must be at least 1; got 0
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        d_ff = check_integer("d_ff", d_ff, least=1)
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.expand = nn.Linear(d_model, d_ff, bias=False)
        self.contract = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``(..., D)`` for ``(..., D)``."""
        return self.contract(F.silu(self.gate(x)) * self.expand(x))


class GELUFeedForward(nn.Module):
    r"""Pass each position by itself through two maps with a soft threshold between them.

    .. math:: \operatorname{ff}(x) = W_2 \operatorname{gelu}(W_1 x + b_1) + b_2, \qquad
       \operatorname{gelu}(z) \approx \tfrac z2
       \Big(1 + \tanh\big(\sqrt{2/\pi}\,(z + 0.044715\, z^3)\big)\Big)

    That of GPT-2, which computes the threshold with the approximation on the right.

    Args:
        d_model: width of what comes in and out.
        d_ff: width between the maps.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1.

    Source:
        :cite:t:`hendrycks2016gaussian`, section 2.

    Example:
        >>> GELUFeedForward(4, 16)(torch.ones(5, 3, 4)).shape
        torch.Size([5, 3, 4])
        >>> GELUFeedForward(0, 16)
        Traceback (most recent call last):
        ValueError: d_model must be at least 1; got 0
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        d_ff = check_integer("d_ff", d_ff, least=1)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Return ``(..., D)`` for ``(..., D)``."""
        return self.contract(F.gelu(self.expand(x), approximate="tanh"))


def _check_groups(num_heads: int, num_key_heads: int) -> None:
    if num_heads % num_key_heads:
        rule = "num_heads must be divisible by num_key_heads"
        raise ValueError(f"{rule}; got {num_heads} and {num_key_heads}")


def _check_rotation(d_head: int, base: float | None) -> None:
    """Raise unless heads can be turned, if they shall be.

    >>> _check_rotation(3, None)
    >>> _check_rotation(3, 10000.0)
    Traceback (most recent call last):
    ValueError: d_head must be even where heads are turned; got 3
    """
    if base is None:
        return
    check_base(base)
    if d_head % 2:
        raise ValueError(
            f"d_head must be even where heads are turned; got {d_head}"
        )
