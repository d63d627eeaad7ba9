"""Checked access to a model's configuration and weights: by name, and with nothing left over."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer, check_positive


class Options:
    """The options in a model's ``config.json``.

    Args:
        values: options by name.

    Example:
        >>> options = Options({"n_head": 4, "eps": 1e-5, "n_inner": None})
        >>> options.size("n_head"), options.size("n_inner", 16), options.number("eps")
        (4, 16, 1e-05)
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def size(self, name: str, default: int | None = None) -> int:
        """Return an integer of at least 1; the default if the option is missing or null."""
        return check_integer(name, self._value(name, default), least=1)

    def number(self, name: str, default: float | None = None) -> float:
        """Return a finite number above 0; the default if the option is missing or null."""
        value = self._value(name, default)
        check_positive(name, value)
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """Return a boolean; the default if the option is missing or null."""
        value = self._value(name, default)
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be true or false; got {value!r}")
        return value

    def only(self, name: str, *supported: object) -> None:
        """Raise ``ValueError`` unless an option has a supported value; the first is the default."""
        value = self.values.get(name, supported[0])
        if not any(type(value) is type(v) and value == v for v in supported):
            rule = " or ".join(map(repr, supported))
            raise ValueError(f"{name} must be {rule} in a supported model; got {value!r}")

    def equal(self, alias: str, name: str) -> None:
        """Raise ``ValueError`` if an option is given under two names with different values."""
        value = self.values.get(name)
        if {alias, name} <= self.values.keys() and self.values[alias] != value:
            raise ValueError(f"{alias} must be {name}, {value}; got {self.values[alias]!r}")

    def _value(self, name: str, default: Any) -> Any:
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise ValueError(f"config.json must give {name}; it does not")
        return value


class Weights:
    """The tensors of a file, each of which is taken once.

    Args:
        tensors: tensors by name.
        dtype: dtype of the tensors taken.

    Example:
        >>> weights = Weights({"h.w": torch.ones(2, 3), "h.b": torch.ones(3)}, torch.float64)
        >>> weights.take("h.w", 2, 3).dtype, list(weights.left)
        (torch.float64, ['h.b'])
    """

    def __init__(self, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> None:
        self.left, self.dtype = dict(tensors), dtype

    def take(self, name: str, *shape: int) -> Tensor:
        """Remove a tensor and return a copy; raise ``ValueError`` if it is not as expected."""
        if name not in self.left:
            raise ValueError(f"the weights must hold tensor {name}; they do not")
        tensor = self.left[name]
        if tuple(tensor.shape) != shape:
            rule = f"tensor {name} must have shape {shape}, as config.json says"
            raise ValueError(f"{rule}; got {tuple(tensor.shape)}")
        if not tensor.is_floating_point():
            raise ValueError(f"tensor {name} must be floating point; got {tensor.dtype}")
        copy = tensor.to(self.dtype, copy=True)
        if not copy.isfinite().all():
            wrong = copy[~copy.isfinite()][0].item()
            raise ValueError(f"tensor {name} must be finite in {self.dtype}; got {wrong}")
        del self.left[name]
        return copy

    def ignore(self, names: Iterable[str]) -> None:
        """Remove tensors that are not weights, if they exist."""
        for name in names:
            self.left.pop(name, None)

    def nothing_left(self) -> None:
        """Raise ``ValueError`` if a tensor was not taken."""
        if self.left:
            some = ", ".join(sorted(self.left)[:5])
            raise ValueError(
                f"each tensor must have a counterpart in this book's model; got {some}"
            )
