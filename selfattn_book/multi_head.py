"""Attention with many heads: the central module of the Transformer.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads, ``D`` width of the
model, ``d`` width of one head.
"""

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from selfattn_book._arguments import (
    check_floating,
    check_integer,
    check_mask,
    check_number,
    is_autocast,
)
from selfattn_book.attention import attention_weights
from selfattn_book.cache import KeyValueCache


class MultiHeadAttention(nn.Module):
    r"""Attend with several heads at once, each with its own query, key and value maps.

    .. math::
       \begin{aligned}
       \operatorname{head}_h &= \operatorname{Attention}\!\big(
       X_q W^Q_h + b^Q_h,\; X_k W^K_h + b^K_h,\; X_v W^V_h + b^V_h\big) \\
       Y &= [\operatorname{head}_1, \dots, \operatorname{head}_H]\, W^O + b^O
       \end{aligned}

    Four linear maps and the equation: all heads are mapped by one product of matrices, then split.
    The maps are :class:`torch.nn.Linear`, which draws its parameters from PyTorch's global generator.

    Args:
        d_model: width of what comes out, and of what comes in unless ``d_input`` says otherwise.
        num_heads: number of heads, :math:`H`.
        d_input: width of what comes in.
        d_head: width of one head; ``d_model // num_heads`` (narrow heads) when left out.
            ``d_head=d_model`` gives wide heads.
        bias: whether the maps add a bias.
        dropout: probability with which a weight is dropped, while training only.

    Raises:
        TypeError: a size is not an integer.
        ValueError: a size is below 1, ``dropout`` is outside of 0 to 1,
            or ``d_model`` is not divisible by ``num_heads`` while ``d_head`` is left out.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.2.

    Example:
        >>> attention = MultiHeadAttention(d_model=6, num_heads=2)
        >>> x = torch.zeros(5, 3, 6)   # (B, T, D)
        >>> context, weights = attention(x, x, x)
        >>> context.shape, weights.shape
        (torch.Size([5, 3, 6]), torch.Size([5, 2, 3, 3]))
        >>> attention
        MultiHeadAttention(
          num_heads=2, d_head=3, dropout=0.0
          (project_query): Linear(in_features=6, out_features=6, bias=True)
          (project_key): Linear(in_features=6, out_features=6, bias=True)
          (project_value): Linear(in_features=6, out_features=6, bias=True)
          (project_output): Linear(in_features=6, out_features=6, bias=True)
        )
        >>> MultiHeadAttention(5, 2, d_input=3, d_head=5, bias=False).project_query
        Linear(in_features=3, out_features=10, bias=False)
        >>> MultiHeadAttention(5, 2)
        Traceback (most recent call last):
        ValueError: d_model must be divisible by num_heads when d_head is left out; got 5 and 2
        >>> MultiHeadAttention(5, 1, dropout=2)
        Traceback (most recent call last):
        ValueError: dropout must be between 0 and 1; got 2
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_input: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_input = d_model if d_input is None else d_input
        d_model, num_heads, d_input, d_head = _checked_sizes(
            d_model, num_heads, d_input, d_head
        )
        _check_dropout(dropout)
        self.num_heads, self.d_head, self.dropout = num_heads, d_head, dropout
        width = num_heads * d_head  # of all heads, side by side
        self.project_query = nn.Linear(d_input, width, bias)
        self.project_key = nn.Linear(d_input, width, bias)
        self.project_value = nn.Linear(d_input, width, bias)
        self.project_output = nn.Linear(width, d_model, bias)

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
            query: ``(B, T, d_input)``.
            key: ``(B, S, d_input)``.
            value: ``(B, S, d_input)``.
            mask: boolean, ``True`` = may attend, broadcastable to ``(B, H, T, S)``.
            need_weights: return the weights; without them PyTorch chooses its kernel.
            cache: keys and values of earlier calls, which stand before those of this one;
                these are added to it. ``S`` then counts them all.

        Returns:
            The context ``(B, T, d_model)``, and the weights ``(B, H, T, S)`` of every head
            before dropout, or ``None``.

        Raises:
            TypeError: an input is not floating point, or of another dtype than the parameters
                (under autocast it may be) or the cache, or the mask is not boolean.
            ValueError: a shape is not as above, does not continue the cache, or the mask does not
                broadcast. A cache is then as it was.

        Example:
            >>> attention, x = MultiHeadAttention(4, 2, dropout=1.0), torch.ones(1, 3, 4)
            >>> _, weights = attention(x, x, x)   # of before the dropout
            >>> weights.sum(-1)
            tensor([[[1., 1., 1.], [1., 1., 1.]]], grad_fn=...)
            >>> dropped, nothing = attention(x, x, x, need_weights=False)
            >>> dropped.allclose(attention.project_output.bias), nothing
            (True, None)
            >>> cache, words = KeyValueCache(), torch.ones(1, 3, 4).cumsum(1).split(1, dim=1)
            >>> one_by_one = [attention.eval()(word, word, word, cache=cache)[0] for word in words]
            >>> len(cache), one_by_one[2].allclose(attention(words[2], *[x.cumsum(1)] * 2)[0])
            (3, True)
            >>> sees_two = torch.tensor([True, True, False])
            >>> slow, _ = attention.eval()(x, x.cumsum(1), x.cumsum(1), sees_two)
            >>> fast, _ = attention(x, x.cumsum(1), x.cumsum(1), sees_two, need_weights=False)
            >>> slow.allclose(fast, atol=1e-6)
            True
            >>> attention(x, x, x, torch.ones(2, dtype=torch.bool), need_weights=False)
            Traceback (most recent call last):
            ValueError: mask must broadcast to the scores' shape (1, 2, 3, 3); got (2,)
            >>> attention(x[0], x, x)
            Traceback (most recent call last):
            ValueError: query must have shape (batch, length, 4); got (3, 4)
            >>> attention(x, x.expand(2, 3, 4), x)
            Traceback (most recent call last):
            ValueError: query, key, value must share a batch size; got (1, 2, 1)
            >>> attention(x, x[:, :2], x)
            Traceback (most recent call last):
            ValueError: key ... must have one length S; got (1, 2, 4) and (1, 3, 4)
            >>> attention(x.int(), x, x)
            Traceback (most recent call last):
            TypeError: query must be a floating-point tensor; got dtype torch.int32
            >>> attention(x, x.double(), x.double())
            Traceback (most recent call last):
            TypeError: key must have the dtype of the parameters, torch.float32; got torch.float64
            >>> with torch.autocast("cpu", torch.bfloat16):
            ...     attention(x, x.bfloat16(), x.bfloat16())[0].dtype
            torch.bfloat16
        """
        _check_inputs(self, (query, key, value), mask, cache)
        query = self._split_heads(self.project_query(query))  # (B, H, T, d)
        key = self._split_heads(self.project_key(key))  # (B, H, S, d)
        value = self._split_heads(self.project_value(value))  # (B, H, S, d)
        if cache is not None:
            key, value = cache.join(key, value)  # those of earlier calls first
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            weights = attention_weights(query, key, mask)  # (B, H, T, S)
            context = F.dropout(weights, dropout) @ value  # (B, H, T, d)
        else:
            weights, context = None, _fused(query, key, value, mask, dropout)
        merged = context.transpose(1, 2).flatten(2)  # (B, T, H * d)
        output = self.project_output(merged)
        if cache is not None:
            cache.keep(key, value)  # last: a refused call leaves it as it was
        return output, weights

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (self.num_heads, self.d_head))  # (B, T, H, d)
        return heads.transpose(1, 2)  # (B, H, T, d)

    def extra_repr(self) -> str:
        """Show what the printed sub-modules do not: heads and dropout."""
        heads = f"num_heads={self.num_heads}, d_head={self.d_head}"
        return f"{heads}, dropout={self.dropout}"


def _fused(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
) -> Tensor:
    """Return the context by PyTorch's own kernel, which forms no weights."""
    if mask is not None:
        mask = torch.atleast_2d(mask)  # the kernel wants two axes at least
    return F.scaled_dot_product_attention(query, key, value, mask, dropout)


class _Heads(Protocol):
    """What is asked of a module whose inputs are checked."""

    num_heads: int
    project_query: nn.Linear


def _check_inputs(
    attention: _Heads,
    inputs: tuple[Tensor, Tensor, Tensor],
    mask: Tensor | None,
    cache: KeyValueCache | None,
) -> None:
    """Raise unless query, key and value fit the module and each other, and the mask fits them."""
    d_input = attention.project_query.in_features
    dtype = attention.project_query.weight.dtype
    for name, x in zip(("query", "key", "value"), inputs, strict=True):
        check_floating(name, x)
        _check_dtype(name, x, dtype)
        if x.ndim != 3 or x.size(-1) != d_input:
            rule = f"{name} must have shape (batch, length, {d_input})"
            raise ValueError(f"{rule}; got {tuple(x.shape)}")
    query, key, value = inputs
    sizes = query.size(0), key.size(0), value.size(0)
    if not sizes[0] == sizes[1] == sizes[2]:
        raise ValueError(f"query, key, value must share a batch size; got {sizes}")
    if key.size(1) != value.size(1):
        rule = (
            "key (B, S, d_input) and value (B, S, d_input) must have one length S"
        )
        raise ValueError(f"{rule}; got {tuple(key.shape)} and {tuple(value.shape)}")
    if mask is not None:
        earlier = 0 if cache is None else len(cache)
        lengths = query.size(1), earlier + key.size(1)
        check_mask(
            mask, (query.size(0), attention.num_heads, *lengths), query.device
        )


def _checked_sizes(
    d_model: int, num_heads: int, d_input: int, d_head: int | None
) -> tuple[int, int, int, int]:
    """Return the sizes of a multi-head attention, the head's included, or raise.

    >>> _checked_sizes(6, 2, 5, None)
    (6, 2, 5, 3)
    >>> _checked_sizes(7, 2, 5, 7)
    (7, 2, 5, 7)
    >>> _checked_sizes(7, 2, 5, None)
    Traceback (most recent call last):
    ValueError: d_model must be divisible by num_heads when d_head is left out; got 7 and 2
    >>> _checked_sizes(0, 2, 5, 1)
    Traceback (most recent call last):
    ValueError: d_model must be at least 1; got 0
    >>> _checked_sizes(1, 0, 5, 1)
    Traceback (most recent call last):
    ValueError: num_heads must be at least 1; got 0
    >>> _checked_sizes(1, 1, 0, 1)
    Traceback (most recent call last):
    ValueError: d_input must be at least 1; got 0
    >>> _checked_sizes(1, 1, 1, 0)
    Traceback (most recent call last):
    ValueError: d_head must be at least 1; got 0
    >>> _checked_sizes(1, 1, 1, 1)
    (1, 1, 1, 1)
    """
    d_model = check_integer("d_model", d_model, least=1)
    num_heads = check_integer("num_heads", num_heads, least=1)
    d_input = check_integer("d_input", d_input, least=1)
    if d_head is not None:
        return d_model, num_heads, d_input, check_integer("d_head", d_head, least=1)
    if d_model % num_heads:
        rule = "d_model must be divisible by num_heads when d_head is left out"
        raise ValueError(f"{rule}; got {d_model} and {num_heads}")
    return d_model, num_heads, d_input, d_model // num_heads


def _check_dtype(name: str, x: Tensor, dtype: torch.dtype) -> None:
    """Raise unless an input has the dtype of the parameters, or autocast will see to it."""
    if x.dtype == dtype or is_autocast(x):
        return
    rule = f"{name} must have the dtype of the parameters, {dtype}"
    raise TypeError(f"{rule}; got {x.dtype}")


def _check_dropout(dropout: float) -> None:
    """Raise unless dropout is a probability.

    >>> _check_dropout(0), _check_dropout(1)
    (None, None)
    >>> _check_dropout(1.5)
    Traceback (most recent call last):
    ValueError: dropout must be between 0 and 1; got 1.5
    >>> _check_dropout(-0.5)
    Traceback (most recent call last):
    ValueError: dropout must be between 0 and 1; got -0.5
    >>> _check_dropout(True)
    Traceback (most recent call last):
    TypeError: dropout must be a number; got True
    """
    check_number("dropout", dropout)
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be between 0 and 1; got {dropout}")
