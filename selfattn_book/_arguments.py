"""What several modules ask of their arguments."""

from numbers import Integral, Real

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


def check_number(name: str, number: float) -> None:
    """Raise ``TypeError`` unless ``number`` is a real number.

    Example:
        >>> check_number("scale", 2)
        >>> check_number("scale", "2")
        Traceback (most recent call last):
        TypeError: scale must be a number; got '2'
        >>> check_number("scale", True)
        Traceback (most recent call last):
        TypeError: scale must be a number; got True
    """
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number; got {number!r}")


def check_finite(losses: Tensor, where: str) -> Tensor:
    """Return losses without their gradient, or raise ``ValueError`` unless all are finite.

    Example:
        >>> check_finite(torch.tensor([0.5, torch.nan]), "in epoch 3")
        Traceback (most recent call last):
        ValueError: losses must be finite; got [0.5, nan] in epoch 3
    """
    if not losses.isfinite().all():
        raise ValueError(f"losses must be finite; got {losses.tolist()} {where}")
    return losses.detach()


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


def check_query_and_key(query: Tensor, key: Tensor) -> None:
    """Raise unless every query can be compared with every key.

    Example:
        >>> check_query_and_key(torch.zeros(2, 3), torch.zeros(5, 4))
        Traceback (most recent call last):
        ValueError: query (..., T, D) and key (..., S, D) must have one width D; got (2, 3) and (5, 4)
        >>> check_query_and_key(torch.zeros(2, 0), torch.zeros(5, 0))
        Traceback (most recent call last):
        ValueError: query and key must have a width of at least 1; got (2, 0) and (5, 0)
        >>> check_query_and_key(torch.zeros(3), torch.zeros(5, 3))
        Traceback (most recent call last):
        ValueError: query (..., T, D) and key (..., S, D) must have one width D; got (3,) and (5, 3)
        >>> check_query_and_key(torch.zeros(7, 2, 1), torch.zeros(1, 5, 1))
    """
    check_pair("query", query, "key", key)
    shapes = f"{tuple(query.shape)} and {tuple(key.shape)}"
    if min(query.ndim, key.ndim) < 2 or query.size(-1) != key.size(-1):
        rule = "query (..., T, D) and key (..., S, D) must have one width D"
        raise ValueError(f"{rule}; got {shapes}")
    if query.size(-1) == 0:
        raise ValueError(
            f"query and key must have a width of at least 1; got {shapes}"
        )


def check_value(key: Tensor, value: Tensor) -> None:
    """Raise unless there is one value for each key.

    Example:
        >>> check_value(torch.zeros(5, 4), torch.zeros(3, 4))
        Traceback (most recent call last):
        ValueError: key (..., S, D) and value (..., S, E) must have one length S; got (5, 4) and (3, 4)
        >>> check_value(torch.zeros(5, 4), torch.zeros(5))
        Traceback (most recent call last):
        ValueError: key (..., S, D) and value (..., S, E) must have one length S; got (5, 4) and (5,)
        >>> check_value(torch.zeros(5, 4), torch.zeros(5, 1))
    """
    check_pair("key", key, "value", value)
    if min(key.ndim, value.ndim) < 2 or key.size(-2) != value.size(-2):
        rule = "key (..., S, D) and value (..., S, E) must have one length S"
        raise ValueError(f"{rule}; got {tuple(key.shape)} and {tuple(value.shape)}")


def check_pair(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless two tensors have one floating dtype, and leading axes that broadcast.

    Example:
        >>> check_pair("key", torch.zeros(2, 3), "value", torch.zeros(2, 3).half())
        Traceback (most recent call last):
        TypeError: key and value must have one dtype; got torch.float32 and torch.float16
        >>> check_pair("key", torch.zeros(2, 5, 4), "value", torch.zeros(3, 5, 4))
        Traceback (most recent call last):
        ValueError: the leading axes of key and value must broadcast; got (2, 5, 4) and (3, 5, 4)
        >>> check_pair("key", torch.zeros(1, 5, 4), "value", torch.zeros(3, 5, 4))
        >>> check_pair("key", torch.zeros(3, 5, 4), "value", torch.zeros(1, 5, 4))
        >>> check_pair("key", torch.zeros(2, 3), "value", [1.0])
        Traceback (most recent call last):
        TypeError: value must be a floating-point tensor; got list
        >>> check_pair("key", [1.0], "value", torch.zeros(2, 3))
        Traceback (most recent call last):
        TypeError: key must be a floating-point tensor; got list
    """
    check_floating(name, x)
    check_floating(other_name, other)
    if x.dtype != other.dtype:
        dtypes = f"{x.dtype} and {other.dtype}"
        raise TypeError(
            f"{name} and {other_name} must have one dtype; got {dtypes}"
        )
    leading = zip(reversed(x.shape[:-2]), reversed(other.shape[:-2]), strict=False)
    if any(a != b and a != 1 and b != 1 for a, b in leading):
        rule = f"the leading axes of {name} and {other_name} must broadcast"
        raise ValueError(f"{rule}; got {tuple(x.shape)} and {tuple(other.shape)}")


def check_mask(mask: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise unless a mask is on a device and broadcasts to a shape, without making it larger.

    PyTorch's kernel for the CPU reads whatever it finds where a mask of another device is not.

    Example:
        >>> cpu = torch.device("cpu")
        >>> check_mask(torch.ones(1, 3, dtype=torch.bool), (2, 3), cpu)
        >>> check_mask(torch.ones(3, dtype=torch.bool), (2, 3), cpu)
        >>> check_mask(torch.ones(2, dtype=torch.bool), (2, 3), cpu)
        Traceback (most recent call last):
        ValueError: mask must broadcast to the scores' shape (2, 3); got (2,)
        >>> check_mask(torch.ones(1, 2, 3, dtype=torch.bool), (2, 3), cpu)
        Traceback (most recent call last):
        ValueError: mask must broadcast to the scores' shape (2, 3); got (1, 2, 3)
        >>> check_mask(torch.ones(2, 3), (2, 3), cpu)
        Traceback (most recent call last):
        TypeError: mask must be a boolean tensor, True = may attend; got dtype torch.float32
        >>> check_mask(torch.ones(3, dtype=torch.bool, device="meta"), (2, 3), cpu)
        Traceback (most recent call last):
        ValueError: mask must be on the device of what it masks, cpu; got meta
    """
    check_boolean(mask)
    if mask.device != device:
        rule = f"mask must be on the device of what it masks, {device}"
        raise ValueError(f"{rule}; got {mask.device}")
    trailing = shape[len(shape) - mask.ndim :]
    sizes = zip(mask.shape, trailing, strict=False)
    if mask.ndim > len(shape) or any(
        size not in (1, wanted) for size, wanted in sizes
    ):
        rule = f"mask must broadcast to the scores' shape {tuple(shape)}"
        raise ValueError(f"{rule}; got {tuple(mask.shape)}")


def is_autocast(x: Tensor) -> bool:
    """Tell whether autocast chooses dtypes where a tensor lies.

    Example:
        >>> with torch.autocast("cpu", torch.bfloat16):
        ...     is_autocast(torch.ones(1))
        True
        >>> is_autocast(torch.ones(1)), is_autocast(torch.ones(1, device="meta"))
        (False, False)
    """
    return not x.is_meta and torch.is_autocast_enabled(x.device.type)
