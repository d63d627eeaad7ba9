"""What is asked of a configuration and of weights: each number and tensor by name, and nothing left."""

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer, check_number


class Options:
    """The options of a model, as its ``config.json`` says them.

    Args:
        said: names and values.

    Example:
        >>> options = Options({"n_head": 4, "eps": 1e-5, "scaled": None, "norm": "post"})
        >>> options.size("n_head"), options.size("n_inner", 16), options.number("eps")
        (4, 16, 1e-05)
        >>> options.only("scaled", None)
        >>> options.only("norm", "pre")
        Traceback (most recent call last):
        ValueError: norm must be 'pre', all that this book's code can do; got 'post'
        >>> options.size("n_layer")
        Traceback (most recent call last):
        ValueError: config.json must say n_layer; it does not
    """

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = said

    def size(self, name: str, otherwise: int | None = None) -> int:
        """Return a size; what is not there, or null, is as is said otherwise."""
        return check_integer(name, self._value(name, otherwise), least=1)

    def number(self, name: str, otherwise: float | None = None) -> float:
        """Return a number above 0."""
        value = self._value(name, otherwise)
        check_number(name, value)
        if not 0 < value < torch.inf:
            raise ValueError(f"{name} must be above 0, and finite; got {value}")
        return float(value)

    def flag(self, name: str, otherwise: bool) -> bool:
        """Return whether something is so."""
        value = self._value(name, otherwise)
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be true or false; got {value!r}")
        return value

    def only(self, name: str, *values: object) -> None:
        """Refuse all but some values; the first is meant where nothing is said."""
        value = self.said.get(name, values[0])
        if not any(type(value) is type(v) and value == v for v in values):
            rule = f"{name} must be {values[0]!r}, all that this book's code can do"
            raise ValueError(f"{rule}; got {value!r}")

    def _value(self, name: str, otherwise: Any) -> Any:
        value = self.said.get(name)
        value = otherwise if value is None else value
        if value is None:
            raise ValueError(f"config.json must say {name}; it does not")
        return value


class Weights:
    """The tensors of a file, each of which is taken once.

    Args:
        tensors: by name.
        dtype: in which they are handed out.

    Example:
        >>> weights = Weights({"h.w": torch.ones(2, 3), "h.b": torch.ones(3)}, torch.float64)
        >>> weights.take("h.w", 2, 3).dtype
        torch.float64
        >>> weights.take("h.b", 2)
        Traceback (most recent call last):
        ValueError: tensor h.b must have shape (2,), as config.json says; got (3,)
        >>> weights.take("h.c", 2)
        Traceback (most recent call last):
        ValueError: the weights must hold tensor h.c; they do not
        >>> weights.nothing_left()
        Traceback (most recent call last):
        ValueError: all tensors must have a place in this book's model; these have none: h.b
    """

    def __init__(self, tensors: Mapping[str, Tensor], dtype: torch.dtype) -> None:
        self.left, self.dtype = dict(tensors), dtype

    def take(self, name: str, *shape: int) -> Tensor:
        """Return a copy of a tensor of a shape, in the dtype that is asked for."""
        if name not in self.left:
            raise ValueError(
                f"the weights must hold tensor {name}; they do not"
            ) from None
        tensor = self.left[name]
        if tuple(tensor.shape) != shape:
            rule = f"tensor {name} must have shape {shape}, as config.json says"
            raise ValueError(f"{rule}; got {tuple(tensor.shape)}")
        if not tensor.is_floating_point():
            rule = f"tensor {name} must be floating point"
            raise ValueError(f"{rule}; got {tensor.dtype}")
        del self.left[name]
        return tensor.to(self.dtype, copy=True)

    def ignore(self, names: Iterable[str]) -> None:
        """Leave out what is no weight, if it is there."""
        for name in names:
            self.left.pop(name, None)

    def nothing_left(self) -> None:
        """Refuse a tensor that nobody has taken."""
        if self.left:
            rule = "all tensors must have a place in this book's model"
            some = ", ".join(sorted(self.left)[:5])
            raise ValueError(f"{rule}; these have none: {some}")
