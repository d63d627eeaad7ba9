"""Positional encoding: sines and cosines of the position.

Shape letters: ``T`` length, ``D`` dimension.
"""

import math

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
    r"""Tabulate the positional encoding, ``(length, d_model)``: a row for each position.

    .. math::
       P_{p,\,2i} = \sin\!\big(p / 10000^{2i/D}\big), \qquad
       P_{p,\,2i+1} = \cos\!\big(p / 10000^{2i/D}\big)

    An odd :math:`D` ends on a sine without its cosine.
    The table is computed in float64 and rounded once, to ``dtype``.

    Args:
        length: number of positions.
        d_model: dimension, :math:`D`.
        dtype: dtype of the table; PyTorch's default by default.
        device: device of the table; PyTorch's default by default.

    Source:
        :cite:t:`vaswani2017attention`, section 3.5.

    Example:
        >>> sinusoidal_encoding(length=3, d_model=4)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0100,  0.9999],
                [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    length = check_integer("length", length, least=0)
    d_model = check_integer("d_model", d_model, least=1)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be floating point; got {dtype!r}")
    position = torch.arange(length, dtype=torch.float64, device=device)
    column = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)  # 2i
    angle = position[:, None] / 10000 ** (column / d_model)  # (length, frequencies)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (length, frequencies, 2)
    return pairs.flatten(1)[:, :d_model].to(dtype)


class PositionalEncoding(nn.Module):
    r"""Add the positional encoding to a sequence of vectors.

    .. math:: y_p = c\, x_p + P_p

    The table is a buffer, neither trained nor saved. It is kept in float64 until the module is
    cast, and rounded once, to the dtype of the input.

    Args:
        d_model: dimension of the vectors, odd or even.
        max_len: number of positions in the table.
        scale: factor :math:`c` on the input; :math:`\sqrt{D}` for the embeddings of 2017.

    Source:
        :cite:t:`vaswani2017attention`, sections 3.4 and 3.5.

    Example:
        >>> PositionalEncoding(d_model=4, max_len=10)(torch.zeros(1, 2, 4))
        tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
                 [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int = 1000, scale: float = 1.0) -> None:
        super().__init__()
        check_integer("max_len", max_len, least=1)
        _check_scale(scale)
        self.scale = scale
        table = sinusoidal_encoding(max_len, d_model, dtype=torch.float64)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Scale the input and add ``T`` rows of the table.

        Args:
            x: ``(..., T, d_model)``, floating point; the output has the same shape and dtype.
            start: position of the first vector; above 0 when a decoder continues.

        Raises:
            TypeError, ValueError: the input does not fit the table.
        """
        self._check_input(x, start)
        return self.scale * x + self.table[start : start + x.size(-2)].to(x.dtype)

    def _check_input(self, x: Tensor, start: int) -> None:
        max_len, d_model = self.table.shape
        check_floating("x", x)
        if x.ndim < 2 or x.size(-1) != d_model:
            raise ValueError(f"x must have shape (..., length, {d_model}); got {tuple(x.shape)}")
        end = check_integer("start", start, least=0) + x.size(-2)
        if end > max_len:
            raise ValueError(f"x must be at most max_len = {max_len} positions long; got {end}")

    def extra_repr(self) -> str:
        """Show the sizes and the scale in the printed module."""
        max_len, d_model = self.table.shape
        return f"d_model={d_model}, max_len={max_len}, scale={self.scale}"


def _check_scale(scale: float) -> None:
    """Raise unless the scale is a finite number."""
    check_number("scale", scale)
    try:
        finite, got = math.isfinite(scale), str(scale)
    except OverflowError:
        finite, got = False, "an integer too large for a float"
    if not finite:
        raise ValueError(f"scale must be finite; got {got}")
