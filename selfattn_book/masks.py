"""Who may attend to whom: boolean masks.

One convention holds everywhere: a mask is boolean, and `True` means *may attend*.
Rows are queries, columns are keys. Masks are combined with `&`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer


def causal_mask(
    length: int,
    key_length: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Let every query see its own position and the positions before it.

    Query :math:`i` of :math:`T` may see key :math:`j` of :math:`S` when

    .. math:: j \le i + (S - T).

    The last query is aligned with the last key.
    With fewer queries than keys, the queries are therefore the newest positions of a longer sequence.

    Args:
        length: number of queries, :math:`T`.
        key_length: number of keys, :math:`S`; the same as ``length`` when left out.
        device: where the mask is made; PyTorch's default device when left out.

    Returns:
        ``(T, S)``, boolean, ``True`` where a query may attend.

    Raises:
        TypeError: a length is not an integer.
        ValueError: a length is negative.

    Source:
        :cite:t:`vaswani2017attention`, section 3.2.3.

    Example:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> causal_mask(1, key_length=3)   # one new query, after two that are known
        tensor([[True, True, True]])
        >>> causal_mask(0).shape
        torch.Size([0, 0])
        >>> causal_mask(-1)
        Traceback (most recent call last):
        ValueError: length must be at least 0; got -1
        >>> causal_mask(2, key_length=-1)
        Traceback (most recent call last):
        ValueError: key_length must be at least 0; got -1
    """
    key_length = length if key_length is None else key_length
    length = check_integer("length", length, least=0)
    key_length = check_integer("key_length", key_length, least=0)
    everything = torch.ones(length, key_length, dtype=torch.bool, device=device)
    return everything.tril(diagonal=key_length - length)


def padding_mask(
    lengths: Tensor | Sequence[int], max_length: int | None = None
) -> Tensor:
    r"""Let every query of a sequence see that sequence's own positions, and no padding.

    Sequence :math:`b` of length :math:`\ell_b` shows key :math:`j` when

    .. math:: j < \ell_b.

    Args:
        lengths: ``(B,)``, the number of real positions of each sequence, at its start.
        max_length: the padded length :math:`S`; the longest of ``lengths`` when left out.

    Returns:
        ``(B, 1, 1, S)``, boolean, ``True`` where a key is real.
        The two axes of size one stand for heads and queries,
        so that the mask cannot land on the wrong axis.

    Raises:
        TypeError: the lengths are not integers.
        ValueError: the lengths are not a one-dimensional collection, one of them is negative,
            or one is larger than ``max_length``.

    Example:
        >>> padding_mask([3, 1]).shape
        torch.Size([2, 1, 1, 3])
        >>> padding_mask([3, 1])[:, 0, 0].int()
        tensor([[1, 1, 1],
                [1, 0, 0]], dtype=torch.int32)
        >>> padding_mask([0], max_length=2)
        tensor([[[[False, False]]]])
        >>> padding_mask([]).shape
        torch.Size([0, 1, 1, 0])
        >>> padding_mask([3], max_length=2)
        Traceback (most recent call last):
        ValueError: lengths must be at most max_length = 2; got 3
        >>> padding_mask([], max_length=-1)
        Traceback (most recent call last):
        ValueError: max_length must be at least 0; got -1
    """
    lengths = _checked_lengths(lengths)
    if max_length is None:
        max_length = int(lengths.max()) if len(lengths) else 0
    max_length = check_integer("max_length", max_length, least=0)
    _check_lengths_fit(lengths, max_length)
    positions = torch.arange(max_length, device=lengths.device)
    return (positions < lengths[:, None])[:, None, None, :]  # (B, 1, 1, S)


def _checked_lengths(lengths: Tensor | Sequence[int]) -> Tensor:
    """Return lengths as 64-bit integers, or raise.

    >>> _checked_lengths(torch.tensor([2, 0], dtype=torch.int8))
    tensor([2, 0])
    >>> _checked_lengths([])
    tensor([], dtype=torch.int64)
    >>> _checked_lengths(3)
    Traceback (most recent call last):
    TypeError: lengths must be a sequence or a tensor of integers; got int
    >>> _checked_lengths([3, None])
    Traceback (most recent call last):
    TypeError: lengths must be a sequence or a tensor of integers; got [3, None]
    >>> _checked_lengths([[1], [1, 2]])
    Traceback (most recent call last):
    TypeError: lengths must be a sequence or a tensor of integers; got [[1], [1, 2]]
    >>> _checked_lengths([1.5])
    Traceback (most recent call last):
    TypeError: lengths must be integers; got dtype torch.float32
    >>> _checked_lengths([True])
    Traceback (most recent call last):
    TypeError: lengths must be integers; got dtype torch.bool
    >>> _checked_lengths([1j])
    Traceback (most recent call last):
    TypeError: lengths must be integers; got dtype torch.complex64
    >>> _checked_lengths([[1]])
    Traceback (most recent call last):
    ValueError: lengths must have shape (B,); got (1, 1)
    >>> _checked_lengths([1, -1])
    Traceback (most recent call last):
    ValueError: lengths must be at least 0; got -1
    """
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
        raise ValueError(
            f"lengths must have shape (B,); got {tuple(lengths.shape)}"
        )
    lengths = lengths.long()  # small integers would overflow in comparisons
    if _has_numbers(lengths) and lengths.min() < 0:
        raise ValueError(f"lengths must be at least 0; got {int(lengths.min())}")
    return lengths


def _check_lengths_fit(lengths: Tensor, max_length: int) -> None:
    if _has_numbers(lengths) and lengths.max() > max_length:
        rule = f"lengths must be at most max_length = {max_length}"
        raise ValueError(f"{rule}; got {int(lengths.max())}")


def _has_numbers(lengths: Tensor) -> bool:
    return len(lengths) > 0 and not lengths.is_meta
