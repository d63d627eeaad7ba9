"""The attention equation, and the module that runs it with many heads.

Shape letters: ``B`` batch, ``T`` query length, ``S`` key length, ``H`` heads, ``D`` width.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import skip_init

from selfattn_book.checks import (
    check_floating,
    check_integer,
    check_mask,
    check_number,
    check_pair,
    check_query_and_key,
    check_value,
)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Turn scores into weights: a softmax along each row, over the keys that the row may see.

    .. math:: w_{ij} = \frac{m_{ij}\,e^{s_{ij}}}{\sum_k m_{ik}\,e^{s_{ik}}}

    with :math:`m_{ij} = 1` where the mask is ``True`` and 0 elsewhere.
    A row that may see nothing gets weights of 0; it sums to 0, not to 1.

    Args:
        scores: ``(..., T, S)``, floating point.
        mask: boolean, ``True`` = may attend, broadcastable to the scores.

    Returns:
        ``(..., T, S)``, in the dtype of the scores; computed in float32 at least.

    Raises:
        TypeError: the scores are not floating point, or the mask is not boolean.
        ValueError: the mask does not broadcast to the shape of the scores.

    Example:
        >>> scores = torch.tensor([[0.0, 0.0, 5.0], [1.0, 2.0, 3.0]])
        >>> masked_softmax(scores, torch.tensor([[True, True, False], [False, False, False]]))
        tensor([[0.5000, 0.5000, 0.0000],
                [0.0000, 0.0000, 0.0000]])
    """
    _check_scores(scores, mask)
    precise = torch.promote_types(scores.dtype, torch.float32)
    if mask is None:
        return scores.softmax(-1, dtype=precise).to(scores.dtype)
    blind = ~mask.any(-1, keepdim=True)
    # A blind row keeps its scores for now: nothing but -inf would become NaN.
    scores = scores.masked_fill(~(mask | blind), -torch.inf)
    weights = scores.softmax(-1, dtype=precise).to(scores.dtype)
    return weights.masked_fill(blind, 0.0)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None = None
) -> Tensor:
    r"""Compare every query with every key, and share out each query's attention.

    .. math:: W = \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``.

    Returns:
        ``(..., T, S)``: non-negative, each row sums to 1, or to 0 where it may see nothing.

    Raises:
        TypeError: dtypes differ or are not floating point, or the mask is not boolean.
        ValueError: the widths differ, or the mask does not broadcast to ``(..., T, S)``.

    Source:
        :cite:t:`vaswani2017attention`, equation 1.

    Example:
        >>> attention_weights(torch.zeros(2, 4), torch.ones(3, 4))
        tensor([[0.3333, 0.3333, 0.3333],
                [0.3333, 0.3333, 0.3333]])
        >>> attention_weights(torch.zeros(2, 4), torch.ones(3, 5))
        Traceback (most recent call last):
        ValueError: query (..., T, D) and key (..., S, D) must have one width D; got (2, 4) and (3, 5)
    """
    check_query_and_key(query, key)
    # Divided first, and multiplied in float32 at least: float16 ends at 65504.
    scores = _product(query / math.sqrt(query.size(-1)), key.mT)  # (..., T, S)
    return masked_softmax(scores, mask).to(query.dtype)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    r"""Give every query the average of the values, weighted by how well their keys match.

    .. math:: \operatorname{Attention}(Q, K, V) =
       \operatorname{softmax}\!\big(Q K^{\mathsf T} / \sqrt{D}\big)\, V

    Args:
        query: ``(..., T, D)``, floating point.
        key: ``(..., S, D)``.
        value: ``(..., S, E)``, one value a key.
        mask: boolean, ``True`` = may attend, broadcastable to ``(..., T, S)``;
            with heads that is ``(B, H, T, S)``.

    Returns:
        The context ``(..., T, E)`` and the weights ``(..., T, S)``.
        A query that may see nothing has weights 0 and context 0.

    Raises:
        TypeError: dtypes differ or are not floating point, or the mask is not boolean.
        ValueError: widths or numbers of keys differ, or the mask does not broadcast.

    Source:
        :cite:t:`vaswani2017attention`, equation 1.

    Example:
        >>> query = torch.tensor([[1.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
        >>> value = torch.tensor([[10.0], [20.0]])
        >>> context, weights = scaled_dot_product_attention(query, key, value)
        >>> weights
        tensor([[0.8044, 0.1956]])
        >>> context
        tensor([[11.9557]])
        >>> scaled_dot_product_attention(query, key, value[:1])
        Traceback (most recent call last):
        ValueError: key (..., S, D) and value (..., S, E) must have one length S; got (2, 2) and (1, 1)
        >>> scaled_dot_product_attention(query.expand(2, 1, 2), key, value.expand(3, 2, 1))
        Traceback (most recent call last):
        ValueError: the leading axes of query and value must broadcast; got (2, 1, 2) and (3, 2, 1)
    """
    check_value(key, value)
    check_pair("query", query, "value", value)
    weights = attention_weights(query, key, mask)  # (..., T, S)
    return weights @ value, weights


class KeyValueCache:
    """The keys and values of all calls so far, so that a decoder computes each of them once.

    It belongs to whoever decodes, and is handed to the attention at every step.

    Example:
        >>> cache = KeyValueCache()
        >>> len(cache)
        0
        >>> for step in range(3):
        ...     keys, values = cache.join(torch.zeros(5, 2, 1, 4), torch.ones(5, 2, 1, 4))
        ...     cache.keep(keys, values)
        >>> len(cache), keys.shape, values.shape   # (B, H, S, D)
        (3, torch.Size([5, 2, 3, 4]), torch.Size([5, 2, 3, 4]))
        >>> cache.join(torch.zeros(7, 2, 1, 4), torch.ones(7, 2, 1, 4))
        Traceback (most recent call last):
        ValueError: keys must continue the cache's, (5, 2, length, 4); got (7, 2, 1, 4)
        >>> cache.join(keys.half(), values.half())
        Traceback (most recent call last):
        TypeError: keys must have the dtype of the cache's, torch.float32; got torch.float16
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """Return how many keys there are."""
        return 0 if self.keys is None else self.keys.size(2)

    def join(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return all keys and values, these ``(B, H, S, D)`` last; nothing is kept yet."""
        if self.keys is None or self.values is None:
            return keys, values
        _check_continues("keys", keys, self.keys)
        _check_continues("values", values, self.values)
        keys = torch.cat([self.keys, keys], dim=2)
        return keys, torch.cat([self.values, values], dim=2)

    def keep(self, keys: Tensor | None, values: Tensor | None) -> None:
        """Keep these instead of those that were kept."""
        self.keys, self.values = keys, values


class MultiHeadAttention(nn.Module):
    r"""Attend with several heads at once, each with its own query, key and value maps.

    .. math::
       \operatorname{head}_h = \operatorname{Attention}\!\big(
       X_q W^Q_h + b^Q_h,\; X_k W^K_h + b^K_h,\; X_v W^V_h + b^V_h\big), \qquad
       Y = [\operatorname{head}_1, \dots, \operatorname{head}_H]\, W^O + b^O

    Parameters are drawn as :class:`torch.nn.Linear` draws them, from PyTorch's global generator:
    the output map first, then head by head its query, key and value maps, each weight before its bias.

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

        The encoder of a well-known course, from its seed to its printed states:

        >>> _ = torch.manual_seed(11)
        >>> attention = MultiHeadAttention(2, 3, d_input=2, d_head=2)
        >>> feed_forward = nn.Sequential(nn.Linear(2, 10), nn.ReLU(), nn.Linear(10, 2))
        >>> corners = torch.tensor([[[-1.0, -1.0], [-1.0, 1.0]]])
        >>> feed_forward(attention(corners, corners, corners)[0]).detach()
        tensor([[[-0.0498,  0.2193],
                 [-0.0642,  0.2258]]])
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
        self.project_query = _undrawn_linear(d_input, num_heads * d_head, bias)
        self.project_key = _undrawn_linear(d_input, num_heads * d_head, bias)
        self.project_value = _undrawn_linear(d_input, num_heads * d_head, bias)
        self.project_output = _undrawn_linear(num_heads * d_head, d_model, bias)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all parameters anew: the output map, then head by head query, key and value."""
        _draw(self.project_output, slice(None))
        for head in range(self.num_heads):
            rows = slice(head * self.d_head, (head + 1) * self.d_head)
            _draw(self.project_query, rows)
            _draw(self.project_key, rows)
            _draw(self.project_value, rows)

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
        self._check_inputs(query, key, value)
        query = self._split_heads(self.project_query(query))  # (B, H, T, D)
        key = self._split_heads(self.project_key(key))  # (B, H, S, D)
        value = self._split_heads(self.project_value(value))  # (B, H, S, D)
        if cache is not None:
            key, value = cache.join(key, value)
        if need_weights:
            weights = attention_weights(query, key, mask)  # (B, H, T, S)
            context = F.dropout(weights, self.dropout, self.training) @ value
        else:
            weights, context = None, self._fused(query, key, value, mask)
        merged = context.transpose(1, 2).flatten(2)  # (B, T, H * D)
        output = self.project_output(merged)
        if cache is not None:
            cache.keep(key, value)  # last: a refused call leaves it as it was
        return output, weights

    def _split_heads(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (self.num_heads, self.d_head))  # (B, T, H, D)
        return heads.transpose(1, 2)  # (B, H, T, D)

    def _fused(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        if mask is not None:
            check_mask(mask, (*query.shape[:-1], key.size(-2)), query.device)
            mask = torch.atleast_2d(mask)  # the kernel wants two axes at least
        dropout = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(query, key, value, mask, dropout)

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        d_input, dtype = (
            self.project_query.in_features,
            self.project_query.weight.dtype,
        )
        for name, x in (("query", query), ("key", key), ("value", value)):
            check_floating(name, x)
            _check_dtype(name, x, dtype)
            if x.ndim != 3 or x.size(-1) != d_input:
                raise ValueError(
                    f"{name} must have shape (batch, length, {d_input}); got {tuple(x.shape)}"
                )
        sizes = query.size(0), key.size(0), value.size(0)
        if not sizes[0] == sizes[1] == sizes[2]:
            raise ValueError(
                f"query, key, value must share a batch size; got {sizes}"
            )
        if key.size(1) != value.size(1):
            rule = "key (B, S, d_input) and value (B, S, d_input) must have one length S"
            raise ValueError(
                f"{rule}; got {tuple(key.shape)} and {tuple(value.shape)}"
            )

    def extra_repr(self) -> str:
        """Show what the printed sub-modules do not: heads and dropout."""
        heads = f"num_heads={self.num_heads}, d_head={self.d_head}"
        return f"{heads}, dropout={self.dropout}"


def _undrawn_linear(d_in: int, d_out: int, bias: bool) -> nn.Linear:
    """Make an ``nn.Linear`` without spending random numbers on it."""
    device = torch.get_default_device()
    return skip_init(nn.Linear, d_in, d_out, bias=bias, device=device)


def _draw(linear: nn.Linear, rows: slice) -> None:
    """Draw some rows of a map as ``nn.Linear`` would draw a map of that many rows.

    >>> ours, theirs = _undrawn_linear(3, 2, bias=True), nn.Linear(3, 2)
    >>> _ = torch.manual_seed(0); _draw(ours, slice(None))
    >>> _ = torch.manual_seed(0); theirs.reset_parameters()
    >>> ours.weight.equal(theirs.weight), ours.bias.equal(theirs.bias)
    (True, True)
    >>> _draw(_undrawn_linear(3, 2, bias=False), slice(None))
    """
    nn.init.kaiming_uniform_(linear.weight[rows], a=math.sqrt(5))
    if linear.bias is not None:
        bound = 1 / math.sqrt(linear.in_features)
        nn.init.uniform_(linear.bias[rows], -bound, bound)


def _product(x: Tensor, y: Tensor) -> Tensor:
    """Multiply in float32 at least, also where autocast would go back to float16.

    >>> large = torch.full((1, 1), 300.0, dtype=torch.float16)
    >>> _product(large, large), large @ large
    (tensor([[90000.]]), tensor([[inf]], dtype=torch.float16))
    >>> with torch.autocast("cpu", torch.float16):
    ...     _product(large, large)
    tensor([[90000.]])
    """
    precise = torch.promote_types(x.dtype, torch.float32)
    x, y = x.to(precise), y.to(precise)
    if not _is_autocast(x):
        return x @ y
    with torch.autocast(x.device.type, enabled=False):
        return x @ y


def _check_continues(name: str, new: Tensor, kept: Tensor) -> None:
    """Raise unless new keys or values can stand behind those of a cache."""
    if new.dtype != kept.dtype:
        rule = f"{name} must have the dtype of the cache's, {kept.dtype}"
        raise TypeError(f"{rule}; got {new.dtype}")
    if new.device != kept.device:
        rule = f"{name} must be on the device of the cache's, {kept.device}"
        raise ValueError(f"{rule}; got {new.device}")
    batch, heads, _, width = kept.shape
    if new.ndim != 4 or new.shape != (batch, heads, new.size(2), width):
        rule = f"{name} must continue the cache's"
        raise ValueError(
            f"{rule}, ({batch}, {heads}, length, {width}); got {tuple(new.shape)}"
        )


def _check_scores(scores: Tensor, mask: Tensor | None) -> None:
    """Raise unless the scores are numbers and the mask fits them.

    >>> _check_scores(torch.zeros(2, 3, dtype=torch.int64), None)
    Traceback (most recent call last):
    TypeError: scores must be a floating-point tensor; got dtype torch.int64
    """
    check_floating("scores", scores)
    if mask is not None:
        check_mask(mask, scores.shape, scores.device)


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
    if x.dtype == dtype or _is_autocast(x):
        return
    rule = f"{name} must have the dtype of the parameters, {dtype}"
    raise TypeError(f"{rule}; got {x.dtype}")


def _is_autocast(x: Tensor) -> bool:
    return not x.is_meta and torch.is_autocast_enabled(x.device.type)


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
