"""Positions as turns: each query and key is turned by an angle that grows with its place.

Shape letters: ``T`` length, ``D`` width.
"""

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating, check_number


def rotate(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    r"""Turn each pair of numbers of a vector by an angle that grows with its position.

    .. math:: \begin{aligned}
       x'_i &= x_i \cos p\,\omega_i - x_{i + D/2} \sin p\,\omega_i \\
       x'_{i + D/2} &= x_i \sin p\,\omega_i + x_{i + D/2} \cos p\,\omega_i
       \end{aligned} \qquad \omega_i = \text{base}^{-2i/D}

    A pair are the numbers :math:`i` and :math:`i + D/2`, as in the weights of Llama that
    ``transformers`` reads. The paper pairs neighbours, :math:`2i` and :math:`2i + 1`: the same numbers
    in another order. Angles are computed in 32 bits at least.

    Args:
        x: ``(..., T, D)``, ``D`` even: queries or keys.
        positions: ``(T,)``, or what broadcasts to ``(..., T)``.
        base: the slowest hand turns by about 1 / base a step; above 0.

    Returns:
        ``(..., T, D)``, in the dtype of ``x``.

    Raises:
        TypeError: ``x`` is not floating point, or ``base`` no number.
        ValueError: ``D`` is odd, the positions do not fit, or ``base`` is not above 0 and finite.

    Source:
        :cite:t:`su2021roformer`, section 3.2.

    Example:
        >>> quarter = torch.tensor([0.0, torch.pi / 2])   # positions need not be whole
        >>> rotate(torch.tensor([[3.0, 1.0], [3.0, 1.0]]), quarter)
        tensor([[ 3.,  1.], [-1.,  3.]])
        >>> x = torch.ones(5, 7, 3, 4)   # (B, H, T, D)
        >>> rotate(x, torch.arange(3)).shape
        torch.Size([5, 7, 3, 4])
        >>> rotate(x[..., :3], torch.arange(3))
        Traceback (most recent call last):
        ValueError: x must have shape (..., T, D) with an even D; got (5, 7, 3, 3)
        >>> rotate(x, torch.arange(4))
        Traceback (most recent call last):
        ValueError: positions must broadcast to (5, 7, 3); got (4,)
    """
    check_base(base)
    _check_turned(x, positions)
    half = x.size(-1) // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    steps = torch.arange(half, device=x.device, dtype=precise) / half
    angles = positions[..., None].to(precise) * base**-steps  # (..., T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.cat(turned, dim=-1)


def check_base(base: float) -> None:
    """Raise unless the clocks of a rotation can have this base.

    Example:
        >>> check_base(10000)
        >>> check_base(0)
        Traceback (most recent call last):
        ValueError: base must be above 0, and finite; got 0
    """
    check_number("base", base)
    if not 0 < base < float("inf"):
        raise ValueError(f"base must be above 0, and finite; got {base}")


def _check_turned(x: Tensor, positions: Tensor) -> None:
    """Raise unless pairs of numbers can be turned.

    >>> _check_turned(torch.ones(3), torch.arange(3))
    Traceback (most recent call last):
    ValueError: x must have shape (..., T, D) with an even D; got (3,)
    >>> _check_turned(torch.ones(3, 2).int(), torch.arange(3))
    Traceback (most recent call last):
    TypeError: x must be a floating-point tensor; got dtype torch.int32
    """
    check_floating("x", x)
    if x.ndim < 2 or x.size(-1) % 2:
        rule = "x must have shape (..., T, D) with an even D"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    wanted, got = x.shape[:-1], positions.shape
    fits = zip(reversed(got), reversed(wanted), strict=False)
    if not 0 < len(got) <= len(wanted) or any(a not in (1, b) for a, b in fits):
        rule = f"positions must broadcast to {tuple(wanted)}"
        raise ValueError(f"{rule}; got {tuple(got)}")
