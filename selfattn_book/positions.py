"""Where a vector stands: a table of sines and cosines, and its module."""

import math
from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn

from selfattn_book._arguments import check_floating, check_integer, check_number


def sinusoidal_encoding(
    length: int,
    d_model: int,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Tabulate the sine and cosine positions: one row a position, one pair of columns a frequency.

    .. math::
       P_{p,\,2i} = \sin\!\big(p / 10000^{2i/D}\big), \qquad
       P_{p,\,2i+1} = \cos\!\big(p / 10000^{2i/D}\big)

    An odd :math:`D` ends on a sine without its cosine.
    The table is computed in float64 and rounded once, to ``dtype``.

    Args:
        length: number of positions.
        d_model: width of a row, :math:`D`.
        dtype: of the table; PyTorch's default dtype when left out.
        device: where the table is made; PyTorch's default device when left out.

    Returns:
        ``(length, d_model)``.

    Raises:
        TypeError: a size is not an integer, or ``dtype`` is not floating point.
        ValueError: ``length`` is negative, or ``d_model`` is below 1.

    Source:
        :cite:t:`vaswani2017attention`, section 3.5.

    Example:
        >>> sinusoidal_encoding(length=3, d_model=4)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0100,  0.9999],
                [ 0.9093, -0.4161,  0.0200,  0.9998]])
        >>> sinusoidal_encoding(length=2, d_model=3)[1]   # the last clock has no cosine
        tensor([0.8415, 0.5403, 0.0022])
        >>> sinusoidal_encoding(length=0, d_model=1).shape
        torch.Size([0, 1])
        >>> sinusoidal_encoding(length=2, d_model=2, dtype=torch.float64)
        tensor([[0.0000, 1.0000],
                [0.8415, 0.5403]], dtype=torch.float64)
        >>> sinusoidal_encoding(length=2, d_model=2, dtype=torch.int64)
        Traceback (most recent call last):
        TypeError: dtype must be floating point; got torch.int64
        >>> sinusoidal_encoding(length=2, d_model=2, dtype="float64")
        Traceback (most recent call last):
        TypeError: dtype must be floating point; got 'float64'
        >>> sinusoidal_encoding(length=-1, d_model=1)
        Traceback (most recent call last):
        ValueError: length must be at least 0; got -1
        >>> sinusoidal_encoding(length=1, d_model=0)
        Traceback (most recent call last):
        ValueError: d_model must be at least 1; got 0
    """
    length = check_integer("length", length, least=0)
    d_model = check_integer("d_model", d_model, least=1)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    _check_dtype(dtype)
    position = torch.arange(length, dtype=torch.float64, device=device)
    column = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)  # 2i
    angle = position[:, None] / 10000 ** (column / d_model)  # (length, clocks)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (length, clocks, 2)
    return pairs.flatten(1)[:, :d_model].to(dtype)


class PositionalEncoding(nn.Module):
    r"""Add to every vector the table's row for its position.

    .. math:: y_p = c\, x_p + P_p

    The table is a buffer, neither trained nor saved.
    It follows the module from device to device and the input from dtype to dtype.
    A module that is cast has a table computed anew, so that ``double()`` gives all digits.

    Args:
        d_model: width of the vectors, odd or even.
        max_len: number of positions in the table.
        scale: the factor :math:`c` on the input;
            :cite:t:`vaswani2017attention` multiply their embeddings by :math:`\sqrt{D}`.

    Raises:
        TypeError: a size is not an integer, or ``scale`` is not a number.
        ValueError: a size is below 1, or ``scale`` is not finite.

    Source:
        :cite:t:`vaswani2017attention`, sections 3.4 and 3.5.

    Example:
        >>> add_positions = PositionalEncoding(d_model=4, max_len=10)
        >>> add_positions(torch.zeros(1, 2, 4))
        tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
                 [0.8415, 0.5403, 0.0100, 0.9999]]])
        >>> list(add_positions.state_dict())
        []
        >>> PositionalEncoding(d_model=2, max_len=1, scale=3.0)(torch.ones(1, 2))
        tensor([[3., 4.]])
        >>> add_positions
        PositionalEncoding(d_model=4, max_len=10, scale=1.0)
        >>> PositionalEncoding(d_model=4).table.shape
        torch.Size([1000, 4])
        >>> precise = sinusoidal_encoding(10, 4, dtype=torch.float64)
        >>> add_positions.double().table.equal(precise)
        True
        >>> PositionalEncoding(d_model=4, scale=math.nan)
        Traceback (most recent call last):
        ValueError: scale must be finite; got nan
        >>> PositionalEncoding(d_model=4, scale=10**400)
        Traceback (most recent call last):
        ValueError: scale must be finite; got an integer too large for a float
        >>> PositionalEncoding(d_model=4, max_len=0)
        Traceback (most recent call last):
        ValueError: max_len must be at least 1; got 0
    """

    table: Tensor

    def __init__(
        self, d_model: int, max_len: int = 1000, scale: float = 1.0
    ) -> None:
        super().__init__()
        check_integer("max_len", max_len, least=1)
        _check_scale(scale)
        self.scale = scale
        self.register_buffer(
            "table", sinusoidal_encoding(max_len, d_model), persistent=False
        )

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Scale the input and add ``T`` rows of the table, from the row ``start`` on.

        Args:
            x: ``(..., T, d_model)``, floating point.
            start: position of the first vector of ``x``; above 0 where a decoder goes on.

        Returns:
            ``(..., T, d_model)``, in the dtype of ``x``.

        Raises:
            TypeError: the input is not floating point.
            ValueError: the input is longer than the table, or of another width.

        Example:
            >>> add_positions = PositionalEncoding(d_model=2, max_len=3)
            >>> add_positions(torch.zeros(3, 2, dtype=torch.float16)).dtype
            torch.float16
            >>> add_positions(torch.zeros(1, 2), start=2).equal(add_positions.table[2:])
            True
            >>> add_positions(torch.zeros(4, 2))
            Traceback (most recent call last):
            ValueError: x must be at most max_len = 3 positions long; got 4
            >>> add_positions(torch.zeros(3, 1))
            Traceback (most recent call last):
            ValueError: x must have shape (..., length, 2); got (3, 1)
            >>> add_positions(torch.zeros(2))
            Traceback (most recent call last):
            ValueError: x must have shape (..., length, 2); got (2,)
            >>> add_positions(torch.zeros(3, 2, dtype=torch.int64))
            Traceback (most recent call last):
            TypeError: x must be a floating-point tensor; got dtype torch.int64
        """
        self._check_input(x, start)
        return self.scale * x + self.table[start : start + x.size(-2)].to(x.dtype)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or cast, as ``to`` does, and compute the table where it has come to."""
        move: Callable[..., Any] = super()._apply
        move(fn, recurse)
        (max_len, d_model), table = self.table.shape, self.table
        self.table = sinusoidal_encoding(
            max_len, d_model, dtype=table.dtype, device=table.device
        )
        return self

    def _check_input(self, x: Tensor, start: int) -> None:
        max_len, d_model = self.table.shape
        check_floating("x", x)
        if x.ndim < 2 or x.size(-1) != d_model:
            raise ValueError(
                f"x must have shape (..., length, {d_model}); got {tuple(x.shape)}"
            )
        end = check_integer("start", start, least=0) + x.size(-2)
        if end > max_len:
            raise ValueError(
                f"x must be at most max_len = {max_len} positions long; got {end}"
            )

    def extra_repr(self) -> str:
        """Show the sizes and the scale in the printed module."""
        max_len, d_model = self.table.shape
        return f"d_model={d_model}, max_len={max_len}, scale={self.scale}"


def _check_scale(scale: float) -> None:
    """Raise unless the scale is a finite number.

    >>> _check_scale(2)
    >>> _check_scale("2")
    Traceback (most recent call last):
    TypeError: scale must be a number; got '2'
    >>> _check_scale(math.inf)
    Traceback (most recent call last):
    ValueError: scale must be finite; got inf
    """
    check_number("scale", scale)
    try:
        finite, got = math.isfinite(scale), str(scale)
    except OverflowError:
        finite, got = False, "an integer too large for a float"
    if not finite:
        raise ValueError(f"scale must be finite; got {got}")


def _check_dtype(dtype: torch.dtype) -> None:
    """Raise unless a table can be kept in a dtype.

    >>> _check_dtype(torch.bfloat16)
    >>> _check_dtype(torch.int64)
    Traceback (most recent call last):
    TypeError: dtype must be floating point; got torch.int64
    """
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be floating point; got {dtype!r}")
