"""Rotary position embedding (RoPE): queries and keys rotated by angles that grow with position.

Shape letters: ``T`` length, ``D`` dimension.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book._arguments import check_floating, check_integer, check_positive

Scaling = Callable[..., Tensor]  # from base frequencies (D/2,) to frequencies (D/2,)


def rotate(
    x: Tensor, positions: Tensor, base: float = 10000.0, *, scaling: Scaling | None = None
) -> Tensor:
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
        scaling: function from the frequencies :math:`\omega` to those used instead.

    Raises:
        TypeError, ValueError: an argument has a wrong dtype or shape, or is out of range.

    Source:
        :cite:t:`su2021roformer`, section 3.2.

    Example:
        >>> quarter = torch.tensor([0.0, torch.pi / 2])
        >>> rotate(torch.tensor([[3.0, 1.0], [3.0, 1.0]]), quarter)
        tensor([[ 3.,  1.], [-1.,  3.]])
    """
    check_positive("base", base)
    _check_rotated(x, positions)
    half = x.size(-1) // 2
    precise = torch.promote_types(x.dtype, torch.float32)
    frequencies = base ** -(torch.arange(half, device=x.device, dtype=precise) / half)  # (D/2,)
    frequencies = frequencies if scaling is None else scaling(frequencies)
    angles = positions[..., None].to(precise) * frequencies  # (..., T, D/2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def linear_scaling(frequencies: Tensor, *, factor: float) -> Tensor:
    r"""Divide all frequencies by a factor (position interpolation): :math:`\omega'_i = \omega_i / s`.

    Source:
        :cite:t:`chen2023extending`, section 2.3.

    Example:
        >>> linear_scaling(torch.tensor([1.0, 0.1]), factor=4)
        tensor([0.2500, 0.0250])
    """
    check_positive("factor", factor)
    return frequencies / factor


def ntk_scaling(frequencies: Tensor, *, factor: float) -> Tensor:
    r"""Enlarge RoPE's base, so that the lowest frequency is divided by a factor (NTK-aware).

    .. math:: \omega'_i = \omega_i\, s^{-i / (D/2 - 1)}

    Source:
        :cite:t:`peng2024yarn`, definition 1.

    Example:
        >>> ntk_scaling(torch.tensor([1.0, 0.1, 0.01]), factor=4)
        tensor([1.0000, 0.0500, 0.0025])
    """
    check_positive("factor", factor)
    last = max(frequencies.size(-1) - 1, 1)
    return frequencies * factor ** -(_indices(frequencies) / last)


def dynamic_ntk_scaling(
    frequencies: Tensor, length: int, *, factor: float, original_length: int
) -> Tensor:
    r"""Scale as :func:`ntk_scaling`, by a factor that grows with the number of positions.

    .. math:: s' = \max\big(1,\; 1 + s\,(T/L - 1)\big)

    for a text of :math:`T` positions, and a training length :math:`L`. Beyond it, all frequencies
    change with each token; a KV cache, here as in ``transformers``, keeps what was computed before.

    Source:
        :cite:t:`peng2024yarn`, section 3.3, with a factor as in ``transformers``.

    Example:
        >>> options = {"factor": 2.0, "original_length": 8}
        >>> [dynamic_ntk_scaling(torch.ones(2), t, **options)[1].item() for t in (8, 12, 16)]
        [1.0, 0.5, 0.333...]
    """
    check_positive("factor", factor)
    original_length = check_integer("original_length", original_length, least=1)
    return ntk_scaling(frequencies, factor=max(1.0, 1 + factor * (length / original_length - 1)))


def yarn_scaling(
    frequencies: Tensor,
    *,
    factor: float,
    original_length: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
) -> Tensor:
    r"""Divide the low frequencies by a factor, keep the high ones, and blend those between (YaRN).

    .. math:: \omega'_i = k_i\,\omega_i + (1 - k_i)\,\omega_i / s, \qquad
       k_i = 1 - \operatorname{clip}\!\Big(\frac{i - a}{b - a},\, 0,\, 1\Big)

    A pair at index :math:`a` makes ``beta_fast`` turns within the training length, and one at
    :math:`b` makes ``beta_slow``; ``truncate`` rounds both outward. This is the ramp of the authors'
    code: in the paper it is linear in the number of turns, as in :func:`llama3_scaling`.
    Scores are divided by :func:`yarn_temperature` as well.

    Raises:
        TypeError, ValueError: an option is out of range, or there is one frequency only.

    Source:
        :cite:t:`peng2024yarn`, section 3.2.

    Example:
        >>> frequencies = 10.0 ** -torch.arange(4)
        >>> yarn_scaling(frequencies, factor=4, original_length=64, beta_fast=8) / frequencies
        tensor([1.0000, 0.6250, 0.2500, 0.2500])
    """
    check_positive("factor", factor)
    original_length = check_integer("original_length", original_length, least=1)
    _check_above("beta_fast", beta_fast, "beta_slow", beta_slow)
    if frequencies.size(-1) < 2:
        raise ValueError(f"YaRN needs at least two frequencies; got {frequencies.size(-1)}")
    step = (frequencies[0] / frequencies[1]).log()
    first, last = (
        math.log(original_length / (2 * math.pi * n)) / step for n in (beta_fast, beta_slow)
    )
    if truncate:
        first, last = first.floor(), last.ceil()
    first, last = first.clamp(min=0), last.clamp(max=2 * frequencies.size(-1) - 1)
    width = torch.where(first == last, 0.001, last - first)
    return _blend(frequencies, factor, 1 - (_indices(frequencies) - first) / width)


def yarn_temperature(factor: float) -> float:
    r"""Return YaRN's temperature of the scores, :math:`t = (0.1 \ln s + 1)^{-2}` for :math:`s > 1`.

    ``transformers`` multiplies queries and keys by its ``attention_factor``, :math:`1/\sqrt t`.

    Source:
        :cite:t:`peng2024yarn`, section 3.4.

    Example:
        >>> yarn_temperature(1.0), yarn_temperature(4.0)
        (1.0, 0.77...)
    """
    check_positive("factor", factor)
    return (0.1 * math.log(max(factor, 1.0)) + 1) ** -2


def llama3_scaling(
    frequencies: Tensor,
    *,
    factor: float,
    original_length: int,
    low: float = 1.0,
    high: float = 4.0,
) -> Tensor:
    r"""Divide the low frequencies by a factor, keep the high ones, and blend those between (Llama 3).

    .. math:: \omega'_i = k_i\,\omega_i + (1 - k_i)\,\omega_i / s, \qquad
       k_i = \operatorname{clip}\!\Big(\frac{n_i - \ell}{h - \ell},\, 0,\, 1\Big)

    where :math:`n_i = L\,\omega_i / 2\pi` is the number of turns within the training length
    :math:`L`, between ``low`` :math:`\ell` and ``high`` :math:`h`.

    Source:
        Llama 3.1 in ``transformers``; the ramp, :cite:t:`peng2024yarn`, section 3.2.

    Example:
        >>> frequencies = 10.0 ** -torch.arange(4)
        >>> llama3_scaling(frequencies, factor=4, original_length=128) / frequencies
        tensor([1.0000, 0.5093, 0.2500, 0.2500])
    """
    check_positive("factor", factor)
    original_length = check_integer("original_length", original_length, least=1)
    _check_above("high", high, "low", low)
    turns = original_length * frequencies / (2 * math.pi)
    return _blend(frequencies, factor, (turns - low) / (high - low))


def _blend(frequencies: Tensor, factor: float, kept: Tensor) -> Tensor:
    """Keep a part of each frequency, limited to 0 to 1, and divide the rest by a factor."""
    kept = kept.clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / factor


def _indices(frequencies: Tensor) -> Tensor:
    return torch.arange(frequencies.size(-1), device=frequencies.device, dtype=frequencies.dtype)


def _check_above(name: str, number: float, other_name: str, other: float) -> None:
    """Raise unless both numbers are positive, and the first is larger."""
    check_positive(name, number)
    check_positive(other_name, other)
    if number <= other:
        raise ValueError(f"{name} must be above {other_name}, {other}; got {number}")


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
