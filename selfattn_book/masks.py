"""Boolean masks: causal, sliding-window and padding.

One convention holds everywhere: a mask is boolean, and `True` means *may attend*.
Rows are queries, columns are keys. Masks are combined with `&`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer


def causal_mask(
    length: int, key_length: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    r"""Allow every query to attend to its own position and to earlier ones.

    Query :math:`i` of :math:`T` may attend to key :math:`j` of :math:`S` when

    .. math:: j \le i + (S - T).

    The last query is aligned with the last key, as with a KV cache.

    Args:
        length: number of queries, :math:`T`.
        key_length: number of keys, :math:`S`; ``length`` by default.
        device: device of the mask; PyTorch's default device by default.

    Returns:
        ``(T, S)``, boolean, ``True`` where a query may attend.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.3.

    Example:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    key_length = length if key_length is None else key_length
    length = check_integer("length", length, least=0)
    key_length = check_integer("key_length", key_length, least=0)
    everything = torch.ones(length, key_length, dtype=torch.bool, device=device)
    return everything.tril(diagonal=key_length - length)


def sliding_window_mask(
    length: int,
    window: int,
    key_length: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Allow every query to attend to its own position and to the ``window`` - 1 before it.

    Query :math:`i` of :math:`T` may attend to key :math:`j` of :math:`S` when

    .. math:: i + (S - T) - w < j \le i + (S - T).

    The other arguments are those of :func:`causal_mask`.

    Source:
        :cite:t:`jiang2023mistral`, section 2.

    Example:
        >>> sliding_window_mask(4, window=2).int()
        tensor([[1, 0, 0, 0],
                [1, 1, 0, 0],
                [0, 1, 1, 0],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    window = check_integer("window", window, least=1)
    causal = causal_mask(length, key_length, device=device)
    return causal.triu(diagonal=causal.size(1) - causal.size(0) - window + 1)


def padding_mask(lengths: Tensor | Sequence[int], max_length: int | None = None) -> Tensor:
    """Allow every query of a sequence to attend to its real positions, and not to padding.

    Args:
        lengths: ``(B,)``, number of real positions of each sequence, at its start.
        max_length: padded length :math:`S`; the largest of ``lengths`` by default.

    Returns:
        ``(B, 1, 1, S)``, boolean, ``True`` where a key is real.

    Raises:
        TypeError, ValueError: the lengths are not integers from 0 to ``max_length``.

    Example:
        >>> padding_mask([3, 1])[:, 0, 0].int()
        tensor([[1, 1, 1],
                [1, 0, 0]], dtype=torch.int32)
    """
    lengths = _checked_lengths(lengths)
    if max_length is None:
        max_length = int(lengths.max()) if len(lengths) else 0
    max_length = check_integer("max_length", max_length, least=0)
    if _has_numbers(lengths) and lengths.max() > max_length:
        rule = f"lengths must be at most max_length = {max_length}"
        raise ValueError(f"{rule}; got {int(lengths.max())}")
    positions = torch.arange(max_length, device=lengths.device)
    # Without the axes of heads and queries, the mask could broadcast over the wrong axis.
    return (positions < lengths[:, None])[:, None, None, :]  # (B, 1, 1, S)


def _checked_lengths(lengths: Tensor | Sequence[int]) -> Tensor:
    """Return lengths as 64-bit integers, or raise."""
    rule = "lengths must be a sequence or a tensor of integers"
    if isinstance(lengths, str) or not hasattr(lengths, "__len__"):
        raise TypeError(f"{rule}; got {type(lengths).__name__}")
    if not isinstance(lengths, Tensor):
        # An empty list would become a tensor of floats.
        dtype = None if len(lengths) else torch.int64
        try:
            lengths = torch.tensor(lengths, dtype=dtype)
        except (RuntimeError, TypeError, ValueError) as error:
            raise TypeError(f"{rule}; got {lengths!r}") from error
    dtype = lengths.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        raise TypeError(f"lengths must be integers; got dtype {dtype}")
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have shape (B,); got {tuple(lengths.shape)}")
    lengths = lengths.long()  # small integers would overflow in comparisons
    if _has_numbers(lengths) and lengths.min() < 0:
        raise ValueError(f"lengths must be at least 0; got {int(lengths.min())}")
    return lengths


def _has_numbers(lengths: Tensor) -> bool:
    return len(lengths) > 0 and not lengths.is_meta
