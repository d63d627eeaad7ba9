"""Where a vector stands: the sine and cosine table, and the module that adds it."""

import math

import torch
from torch import Tensor, nn

from selfattn_book.checks import check_floating, check_integer


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
        TypeError: a size is not an integer.
        ValueError: ``length`` is negative, or ``d_model`` is below 1.

    Source:
        :cite:t:`vaswani2017attention`, section 3.5.

    Example:
        >>> sinusoidal_encoding(length=3, d_model=4)
        tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
                [ 0.8415,  0.5403,  0.0100,  0.9999],
                [ 0.9093, -0.4161,  0.0200,  0.9998]])
    """
    check_integer("length", length, least=0)
    check_integer("d_model", d_model, least=1)
    dtype = torch.get_default_dtype() if dtype is None else dtype
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

    def forward(self, x: Tensor) -> Tensor:
        """Scale the input and add the first ``T`` rows of the table.

        Args:
            x: ``(..., T, d_model)``, floating point.

        Returns:
            ``(..., T, d_model)``, in the dtype of ``x``.

        Raises:
            TypeError: the input is not floating point.
            ValueError: the input is longer than the table, or of another width.
        """
        self._check_input(x)
        return self.scale * x + self.table[: x.size(-2)].to(x.dtype)

    def _check_input(self, x: Tensor) -> None:
        max_len, d_model = self.table.shape
        check_floating("x", x)
        if x.ndim < 2 or x.size(-1) != d_model:
            raise ValueError(
                f"x must have shape (..., length, {d_model}); got {tuple(x.shape)}"
            )
        if x.size(-2) > max_len:
            raise ValueError(
                f"x must be at most max_len = {max_len} positions long; got {x.size(-2)}"
            )

    def extra_repr(self) -> str:
        """Show the sizes and the scale in the printed module."""
        max_len, d_model = self.table.shape
        return f"d_model={d_model}, max_len={max_len}, scale={self.scale}"


def _check_scale(scale: float) -> None:
    if isinstance(scale, bool) or not isinstance(scale, int | float):
        raise TypeError(f"scale must be a number; got {scale!r}")
    if not math.isfinite(scale):
        raise ValueError(f"scale must be finite; got {scale}")
