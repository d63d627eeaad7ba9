"""Rotary position embedding (RoPE): queries and keys rotated by angles that grow with position.

Shape letters: ``T`` length, ``D`` dimension.
"""

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating, check_number


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    r"""Rotate each pair of entries of a vector by an angle proportional to its position.

    .. math:: \begin{aligned}
       x'_i &= x_i \cos p\,\omega_i - x_{i + D/2} \sin p\,\omega_i \\
       x'_{i + D/2} &= x_i \sin p\,\omega_i + x_{i + D/2} \cos p\,\omega_i
       \end{aligned} \qquad \omega_i = \text{base}^{-2i/D}

    Entries :math:`i` and :math:`i + D/2` form a pair, as in Llama's weights; the paper pairs
    neighbors. Angles are computed in float32 at least.

    Args:
        x: queries or keys, ``(..., T, D)`` with an even ``D``, like the output.
        positions: ``(T,)``, or broadcastable to ``(..., T)``; need not be integers.
        base: positive; the lowest frequency is about 1 / base per position.

    Raises:
        TypeError, ValueError: an argument has a wrong dtype or shape, or is out of range.

    Source:
        :cite:t:`su2021roformer`, section 3.2.

    Example:
        >>> quarter = torch.tensor([0.0, torch.pi / 2])
        >>> rotate(torch.tensor([[3.0, 1.0], [3.0, 1.0]]), quarter)
        tensor([[ 3.,  1.], [-1.,  3.]])
    """
    check_base(base)
    _check_rotated(x, positions)
    half = x.size(-1) // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    exponents = torch.arange(half, device=x.device, dtype=precise) / half
    angles = positions[..., None].to(precise) * base**-exponents  # (..., T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def check_base(base: float) -> None:
    """Raise unless ``base`` is a positive, finite number."""
    check_number("base", base)
    if not 0 < base < float("inf"):
        raise ValueError(f"base must be above 0, and finite; got {base}")


def _check_rotated(x: Tensor, positions: Tensor) -> None:
    """Raise unless ``x`` consists of pairs of numbers, and the positions fit it."""
    check_floating("x", x)
    if x.ndim < 2 or x.size(-1) % 2:
        rule = "x must have shape (..., T, D) with an even D"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    wanted, got = x.shape[:-1], positions.shape
    fits = zip(reversed(got), reversed(wanted), strict=False)
    if not 0 < len(got) <= len(wanted) or any(a not in (1, b) for a, b in fits):
        rule = f"positions must broadcast to {tuple(wanted)}"
        raise ValueError(f"{rule}; got {tuple(got)}")
