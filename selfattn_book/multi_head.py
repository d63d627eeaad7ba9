"""Multi-head attention, with grouped heads, RoPE, QK-norm and a window as options.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` query heads, ``G`` key-value
heads, ``D`` dimension of the model, ``d`` dimension of one head.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book._arguments import (
    check_dropout,
    check_floating,
    check_integer,
    check_mask,
    check_positive,
    is_autocast,
)
from selfattn_book.attention import attention_weights
from selfattn_book.cache import KeyValueCache
from selfattn_book.masks import causal_mask, sliding_window_mask
from selfattn_book.rotary import Scaling, rotate


class MultiHeadAttention(nn.Module):
    r"""Attend with several heads at once, each with its own projections.

    .. math::
       \begin{aligned}
       \operatorname{head}_h &= \operatorname{Attention}\!\big(
       X_q W^Q_h + b^Q_h,\; X_k W^K_h + b^K_h,\; X_v W^V_h + b^V_h\big) \\
       Y &= [\operatorname{head}_1, \dots, \operatorname{head}_H]\, W^O + b^O
       \end{aligned}

    With ``num_kv_heads`` = :math:`G` below :math:`H`, query head :math:`h` uses key-value head
    :math:`\lfloor h\,G/H \rfloor`: grouped-query attention (GQA), or, with one key-value head,
    multi-query attention (MQA). With ``rotary_base``, queries and keys are rotated by their
    positions (RoPE). With ``qk_norm``, they are normalized before.

    Args:
        d_model: dimension of the output, and of the inputs unless ``d_input`` is given.
        num_heads: number of query heads, :math:`H`.
        num_kv_heads: number of key-value heads, :math:`G`; ``num_heads`` by default.
        rotary_base: base of :func:`~selfattn_book.rotary.rotate`; no rotation by default.
        rotary_scaling: function from RoPE's base frequencies to frequencies, such as
            ``functools.partial(llama3_scaling, factor=8, original_length=8192)``.
        dynamic_scaling: ``rotary_scaling`` also takes ``length``, the number of positions so far.
        temperature: number that divides the scores, in addition to the root of ``d_head``.
        qk_norm: norm of each query and key, called with ``d_head``, such as ``nn.RMSNorm``.
        window: number of the last keys that a query may attend to, itself included, where
            ``is_causal``; all by default.
        d_input: dimension of the inputs.
        d_head: dimension of one head; ``d_model // num_heads`` by default.
        bias: add biases in the four projections.
        dropout: dropout probability of the attention weights.

    Raises:
        TypeError, ValueError: a size is not an integer, out of range, or not divisible.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.2; grouped, :cite:t:`ainslie2023gqa`;
        multi-query, :cite:t:`shazeer2019fast`; QK-norm, :cite:t:`henry2020query`.

    Example:
        >>> attention = MultiHeadAttention(d_model=12, num_heads=6, num_kv_heads=3)
        >>> x, cache = torch.zeros(5, 4, 12), KeyValueCache()   # (B, T, D)
        >>> output, weights = attention(x, x, x, cache=cache)
        >>> output.shape, weights.shape, cache.keys.shape
        (torch.Size([5, 4, 12]), torch.Size([5, 6, 4, 4]), torch.Size([5, 3, 4, 2]))
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        rotary_base: float | None = None,
        rotary_scaling: Scaling | None = None,
        dynamic_scaling: bool = False,
        temperature: float = 1.0,
        qk_norm: Callable[[int], nn.Module] | None = None,
        window: int | None = None,
        d_input: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_model = check_integer("d_model", d_model, least=1)
        d_input = d_model if d_input is None else check_integer("d_input", d_input, least=1)
        self.num_heads = check_integer("num_heads", num_heads, least=1)
        self.num_kv_heads = _checked_groups(self.num_heads, num_kv_heads)
        self.d_head = _checked_head(d_model, self.num_heads, d_head, rotary_base)
        self.rotary_base, self.dropout = rotary_base, check_dropout(dropout)
        self.rotary_scaling, self.dynamic_scaling = rotary_scaling, dynamic_scaling
        _check_scaling(rotary_base, rotary_scaling, dynamic=dynamic_scaling)
        check_positive("temperature", temperature)
        self.temperature = temperature
        self.window = None if window is None else check_integer("window", window, least=1)
        if not (qk_norm is None or callable(qk_norm)):
            raise TypeError(f"qk_norm must be a function of d_head, as nn.RMSNorm; got {qk_norm!r}")
        self.project_query = nn.Linear(d_input, self.num_heads * self.d_head, bias)
        self.project_key = nn.Linear(d_input, self.num_kv_heads * self.d_head, bias)
        self.project_value = nn.Linear(d_input, self.num_kv_heads * self.d_head, bias)
        self.project_output = nn.Linear(self.num_heads * self.d_head, d_model, bias)
        self.query_norm = None if qk_norm is None else qk_norm(self.d_head)
        self.key_norm = None if qk_norm is None else qk_norm(self.d_head)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = True,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from every query position to the key positions that the mask allows.

        Args:
            query: ``(B, T, d_input)``.
            key: ``(B, S, d_input)``.
            value: ``(B, S, d_input)``.
            mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, S)``.
            is_causal: apply the causal mask as well; the last query is aligned with the last key.
            need_weights: return the weights; without them PyTorch chooses a fused kernel.
            cache: keys and values of earlier calls, included in ``S``; grows, unless refused.

        Returns:
            The output ``(B, T, d_model)``, and the weights ``(B, H, T, S)`` before dropout, or
            ``None``. A fully masked query gets the bias of the output projection alone.

        Raises:
            TypeError, ValueError: an input, the mask or the cache does not fit.
        """
        self._check_inputs(query, key, value)
        if self.window is not None and not is_causal:
            raise ValueError("a window needs is_causal=True; got False")
        query = self._split_heads(self.project_query(query))  # (B, H, T, d)
        key = self._split_heads(self.project_key(key))  # (B, G, S, d)
        value = self._split_heads(self.project_value(value))  # (B, G, S, d)
        query, key = self._prepare(query, key, start=0 if cache is None else len(cache))
        if cache is not None:
            key, value = cache.append(key, value, self)  # those of earlier calls first
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            mask = _with_causal(mask, query, key, self.window) if is_causal else mask
            weights = attention_weights(query, self._repeat_heads(key), mask)  # (B, H, T, S)
            context = F.dropout(weights, dropout) @ self._repeat_heads(value)  # (B, H, T, d)
        else:
            weights = None
            context = _fused(
                query, key, value, mask, dropout=dropout, is_causal=is_causal, window=self.window
            )
        merged = context.transpose(1, 2).flatten(2)  # (B, T, H * d)
        output = self.project_output(merged)  # (B, T, D)
        if cache is not None:
            cache.length = key.size(2)  # last: a refused call leaves it unchanged
        return output, weights

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (-1, self.d_head))  # (B, T, H, d)
        return heads.transpose(1, 2)  # (B, H, T, d)

    def _prepare(self, query: Tensor, key: Tensor, *, start: int) -> tuple[Tensor, Tensor]:
        """Normalize, rotate and scale queries and keys, as far as the options say.

        The first key has position ``start``; the last query is aligned with the last key.
        """
        if self.query_norm is not None and self.key_norm is not None:
            query, key = self.query_norm(query), self.key_norm(key)
        if self.rotary_base is not None:
            end, scaling = start + key.size(2), self.rotary_scaling
            if scaling is not None and self.dynamic_scaling:
                scaling = partial(scaling, length=end)
            query_positions = torch.arange(end - query.size(2), end, device=query.device)
            key_positions = torch.arange(start, end, device=key.device)
            query = rotate(query, query_positions, self.rotary_base, scaling=scaling)
            key = rotate(key, key_positions, self.rotary_base, scaling=scaling)
        return query if self.temperature == 1 else query / self.temperature, key

    def _repeat_heads(self, x: Tensor) -> Tensor:
        group = self.num_heads // self.num_kv_heads
        return x if group == 1 else x.repeat_interleave(group, dim=1)  # (B, H, S, d)

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        """Raise unless query, key and value fit the module and each other."""
        self._check_input("query", query)
        if query is key is value:  # self-attention
            return
        self._check_input("key", key)
        self._check_input("value", value)
        sizes = query.size(0), key.size(0), value.size(0)
        if not sizes[0] == sizes[1] == sizes[2]:
            raise ValueError(f"query, key, value must share a batch size; got {sizes}")
        if key.size(1) != value.size(1):
            rule = "key (B, S, d_input) and value (B, S, d_input) must have one length S"
            raise ValueError(f"{rule}; got {tuple(key.shape)} and {tuple(value.shape)}")

    def _check_input(self, name: str, x: Tensor) -> None:
        """Raise unless an input fits the module."""
        projection = self.project_query
        d_input, dtype = projection.in_features, projection.weight.dtype
        check_floating(name, x)
        if x.dtype != dtype and not is_autocast(x):
            rule = f"{name} must have the dtype of the parameters, {dtype}"
            raise TypeError(f"{rule}; got {x.dtype}")
        if x.ndim != 3 or x.size(-1) != d_input:
            rule = f"{name} must have shape (batch, length, {d_input})"
            raise ValueError(f"{rule}; got {tuple(x.shape)}")

    def extra_repr(self) -> str:
        """Show the settings that the printed submodules do not show."""
        settings = f"num_heads={self.num_heads}, d_head={self.d_head}, dropout={self.dropout}"
        if self.num_kv_heads != self.num_heads:
            settings += f", num_kv_heads={self.num_kv_heads}"
        if self.rotary_base is not None:
            settings += f", rotary_base={self.rotary_base}"
        if self.rotary_scaling is not None:
            settings += f", rotary_scaling={self.rotary_scaling}"
        if self.temperature != 1:
            settings += f", temperature={self.temperature}"
        if self.window is not None:
            settings += f", window={self.window}"
        return settings


def _with_causal(mask: Tensor | None, query: Tensor, key: Tensor, window: int | None) -> Tensor:
    """Return the causal mask of all queries and keys, of a window if any, combined with a mask."""
    lengths, device = (query.size(2), key.size(2)), query.device
    if window is None:
        causal = causal_mask(*lengths, device=device)
    else:
        causal = sliding_window_mask(lengths[0], window, lengths[1], device=device)
    if mask is None:
        return causal
    check_mask(mask, (*query.shape[:-1], key.size(2)), query.device)
    return causal & mask


def _fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    dropout: float,
    is_causal: bool,
    window: int | None,
) -> Tensor:
    """Return attention's output by PyTorch's fused kernel, which forms no weights."""
    # PyTorch aligns the first query with the first key, and takes no mask beside `is_causal`.
    window = None if window is None or window >= key.size(2) else window
    if is_causal and not (mask is None and window is None and query.size(2) == key.size(2)):
        is_newest = mask is None and window is None and query.size(2) == 1  # attends to every key
        mask, is_causal = None if is_newest else _with_causal(mask, query, key, window), False
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.size(-2)), query.device)
        mask = torch.atleast_2d(mask)  # the kernel requires two axes
    grouped = query.size(1) != key.size(1)
    return F.scaled_dot_product_attention(
        query, key, value, mask, dropout, is_causal=is_causal, enable_gqa=grouped
    )


def _check_scaling(base: float | None, scaling: Scaling | None, *, dynamic: bool) -> None:
    """Raise if an option of RoPE is given without the one that it modifies."""
    if base is None and scaling is not None:
        raise ValueError(f"rotary_scaling must be left out without rotary_base; got {scaling}")
    if scaling is None and dynamic:
        raise ValueError("dynamic_scaling must be False without rotary_scaling; got True")


def _checked_groups(num_heads: int, num_kv_heads: int | None) -> int:
    """Return the number of key-value heads, or raise."""
    if num_kv_heads is None:
        return num_heads
    num_kv_heads = check_integer("num_kv_heads", num_kv_heads, least=1)
    if num_heads % num_kv_heads:
        rule = "num_heads must be divisible by num_kv_heads"
        raise ValueError(f"{rule}; got {num_heads} and {num_kv_heads}")
    return num_kv_heads


def _checked_head(
    d_model: int, num_heads: int, d_head: int | None, rotary_base: float | None
) -> int:
    """Return the dimension of one head, or raise."""
    if d_head is None and d_model % num_heads:
        rule = "d_model must be divisible by num_heads when d_head is left out"
        raise ValueError(f"{rule}; got {d_model} and {num_heads}")
    d_head = d_model // num_heads if d_head is None else check_integer("d_head", d_head, least=1)
    if rotary_base is not None:
        check_positive("rotary_base", rotary_base)
        if d_head % 2:
            raise ValueError(f"d_head must be even where heads are rotated; got {d_head}")
    return d_head
