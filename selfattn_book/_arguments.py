"""Argument checks shared by several modules: a message states the rule, then the value."""

from contextlib import AbstractContextManager, nullcontext
from numbers import Integral, Real

import torch
from torch import Tensor, nn


def check_integer(name: str, number: int, *, least: int) -> int:
    """Return an integer of at least ``least`` (a NumPy integer as a Python one), or raise."""
    # A length read from a shape is a SymInt while torch.export traces.
    if isinstance(number, bool) or not isinstance(number, Integral | torch.SymInt):
        raise TypeError(f"{name} must be an integer; got {number!r}")
    if number < least:
        raise ValueError(f"{name} must be at least {least}; got {number}")
    return number if isinstance(number, int | torch.SymInt) else int(number)


def check_number(name: str, number: float) -> None:
    """Raise ``TypeError`` unless ``number`` is a real number."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number; got {number!r}")


def check_positive(name: str, number: float) -> None:
    """Raise unless ``number`` is a finite number above 0."""
    check_number(name, number)
    if not 0 < number < torch.inf:
        raise ValueError(f"{name} must be above 0, and finite; got {number}")


def check_dropout(dropout: float) -> float:
    """Return a dropout probability, or raise unless it is a number between 0 and 1."""
    check_number("dropout", dropout)
    if not 0 <= dropout <= 1:
        raise ValueError(f"dropout must be between 0 and 1; got {dropout}")
    return dropout


def check_finite(losses: Tensor, where: str) -> Tensor:
    """Return losses without their gradient, or raise ``ValueError`` unless all are finite."""
    if not losses.isfinite().all():
        raise ValueError(f"losses must be finite; got {losses.tolist()} {where}")
    return losses.detach()


def check_floating(name: str, x: Tensor) -> None:
    """Raise ``TypeError`` unless ``x`` is a tensor of floating-point numbers."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a floating-point tensor; got {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor; got dtype {x.dtype}")


def check_boolean(mask: Tensor, name: str = "mask") -> None:
    """Raise ``TypeError`` unless ``mask`` is a boolean tensor."""
    rule = f"{name} must be a boolean tensor, True = may attend"
    if not isinstance(mask, Tensor):
        raise TypeError(f"{rule}; got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{rule}; got dtype {mask.dtype}")


def check_query_and_key(query: Tensor, key: Tensor) -> None:
    """Raise unless every query can be compared with every key."""
    check_pair("query", query, "key", key)
    shapes = f"{tuple(query.shape)} and {tuple(key.shape)}"
    if min(query.ndim, key.ndim) < 2 or query.size(-1) != key.size(-1):
        rule = "query (..., T, D) and key (..., S, D) must have one dimension D"
        raise ValueError(f"{rule}; got {shapes}")
    if query.size(-1) == 0:
        raise ValueError(f"query and key must have a dimension of at least 1; got {shapes}")


def check_value(key: Tensor, value: Tensor) -> None:
    """Raise unless there is one value for each key."""
    check_pair("key", key, "value", value)
    if min(key.ndim, value.ndim) < 2 or key.size(-2) != value.size(-2):
        rule = "key (..., S, D) and value (..., S, E) must have one length S"
        raise ValueError(f"{rule}; got {tuple(key.shape)} and {tuple(value.shape)}")


def check_pair(name: str, x: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless two tensors have one floating dtype, and leading axes that broadcast."""
    check_floating(name, x)
    check_floating(other_name, other)
    if x.dtype != other.dtype:
        dtypes = f"{x.dtype} and {other.dtype}"
        raise TypeError(f"{name} and {other_name} must have one dtype; got {dtypes}")
    leading = zip(reversed(x.shape[:-2]), reversed(other.shape[:-2]), strict=False)
    if any(a != b and a != 1 and b != 1 for a, b in leading):
        rule = f"the leading axes of {name} and {other_name} must broadcast"
        raise ValueError(f"{rule}; got {tuple(x.shape)} and {tuple(other.shape)}")


def check_mask(mask: Tensor, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise unless a mask is boolean, on a device, and broadcasts to a shape."""
    check_boolean(mask)
    # PyTorch's CPU kernel does not check the device: it would read arbitrary memory.
    if mask.device != device:
        rule = f"mask must be on the device of what it masks, {device}"
        raise ValueError(f"{rule}; got {mask.device}")
    trailing = shape[len(shape) - mask.ndim :]
    sizes = zip(mask.shape, trailing, strict=False)
    if mask.ndim > len(shape) or any(size not in (1, wanted) for size, wanted in sizes):
        rule = f"mask must broadcast to the scores' shape {tuple(shape)}"
        raise ValueError(f"{rule}; got {tuple(mask.shape)}")


def check_tokens(name: str, tokens: Tensor) -> None:
    """Raise unless tokens are an integer tensor ``(B, T)``."""
    if not isinstance(tokens, Tensor):
        raise TypeError(f"{name} must be an integer tensor; got {type(tokens).__name__}")
    if tokens.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"{name} must be an integer tensor; got dtype {tokens.dtype}")
    if tokens.ndim != 2:
        raise ValueError(f"{name} must have shape (B, T); got {tuple(tokens.shape)}")


def check_vocabulary(name: str, tokens: Tensor, vocabulary: int) -> None:
    """Raise ``ValueError`` unless all tokens are from 0 to ``vocabulary - 1``."""
    for token in (tokens.min(), tokens.max()) if tokens.numel() else ():
        if not 0 <= token < vocabulary:
            rule = f"{name} must hold tokens from 0 to {vocabulary - 1}"
            raise ValueError(f"{rule}; got {token.item()}")


def look_up(name: str, table: nn.Embedding, tokens: Tensor) -> Tensor:
    """Return the embeddings ``(B, T, D)`` of tokens ``(B, T)``, or raise."""
    check_tokens(name, tokens)
    # Values are read only after the table has refused them: reading them makes a GPU wait.
    try:
        return table(tokens)
    except IndexError:
        check_vocabulary(name, tokens, table.num_embeddings)
        raise


def drop(dropout: nn.Dropout, x: Tensor) -> Tensor:
    """Apply dropout while training; in evaluation not even the module is called, for speed."""
    return dropout(x) if dropout.training else x


def is_autocast(x: Tensor) -> bool:
    """Return whether autocast is enabled on the device of a tensor."""
    return not x.is_meta and torch.is_autocast_enabled(x.device.type)


def without_autocast(x: Tensor) -> AbstractContextManager[object]:
    """Disable autocast, which would choose float16: that ends at 65504."""
    return torch.autocast(x.device.type, enabled=False) if is_autocast(x) else nullcontext()
