"""What several modules ask of their arguments: the rule first, then what came."""

from numbers import Integral

import torch
from torch import Tensor


def check_integer(name: str, number: int, *, least: int) -> int:
    """Raise unless ``number`` is an integer of at least ``least``, and return it.

    An integer of NumPy comes back as one of Python, which does not overflow.

    Raises:
        TypeError: it is no integer; ``True`` and ``False`` are none either.
        ValueError: it is too small.

    Example:
        >>> check_integer("length", 3, least=0)
        3
        >>> check_integer("length", 2.5, least=0)
        Traceback (most recent call last):
        TypeError: length must be an integer; got 2.5
        >>> check_integer("length", -1, least=0)
        Traceback (most recent call last):
        ValueError: length must be at least 0; got -1
    """
    # A length read from a shape is a SymInt while torch.export traces.
    if isinstance(number, bool) or not isinstance(number, Integral | torch.SymInt):
        raise TypeError(f"{name} must be an integer; got {number!r}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}")
    return number if isinstance(number, int | torch.SymInt) else int(number)


def check_floating(name: str, x: Tensor) -> None:
    """Raise ``TypeError`` unless ``x`` is a tensor of floating-point numbers.

    Example:
        >>> check_floating("scores", torch.tensor([1, 2]))
        Traceback (most recent call last):
        TypeError: scores must be a floating-point tensor; got dtype torch.int64
    """
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{name} must be a floating-point tensor; got {type(x).__name__}"
        )
    if not x.is_floating_point():
        raise TypeError(
            f"{name} must be a floating-point tensor; got dtype {x.dtype}"
        )


def check_boolean(mask: Tensor) -> None:
    """Raise ``TypeError`` unless ``mask`` is a boolean tensor.

    Example:
        >>> check_boolean(torch.tensor([[1, 0]]))
        Traceback (most recent call last):
        TypeError: mask must be a boolean tensor, True = may attend; got dtype torch.int64
    """
    rule = "mask must be a boolean tensor, True = may attend"
    if not isinstance(mask, Tensor):
        raise TypeError(f"{rule}; got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{rule}; got dtype {mask.dtype}")
