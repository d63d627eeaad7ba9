"""Numbers for cases, and numbers in results: of any type that holds them, in any precision."""

from collections.abc import Iterable
from decimal import Decimal
from numbers import Real

import numpy as np
import torch
from torch import Tensor

from selfattn_book.experiments.seeding import generator
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import missing

COARSE = {torch.float16: 1e-2, torch.bfloat16: 5e-2}  # tolerances


def drawn(*shape: int, seed: int) -> Tensor:
    """Draw normal numbers in the default dtype, the same in each."""
    numbers = torch.randn(shape, generator=generator(seed), dtype=torch.float64)
    return numbers.to(torch.get_default_dtype())


def normal(seed: int, *shapes: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Draw tensors of these shapes, one after the other, in 64 bits and for a fixed seed."""
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes)


def tolerance(got: Tensor) -> float:
    """Return the tolerance for the precision of a tensor.

    Lists do not show how they were computed, so 64 bits are compared as 32 are.
    """
    return COARSE.get(got.dtype, 1e-4)


def tensor_of(got: object, what: str) -> Tensor:
    """Return numbers as a tensor on the CPU, without its graph.

    Args:
        got: a tensor, an array, numbers in lists or generators of any depth, or one number.
        what: name of the numbers.
    """
    if isinstance(got, Tensor):
        return got.detach().cpu()
    if isinstance(got, bool | np.generic | np.ndarray):
        array = np.asarray(got)
        if array.dtype == object:
            return tensor_of(array.tolist(), what)
        return torch.from_numpy(array.copy())
    if isinstance(got, Real | Decimal):  # fractions, too
        return torch.tensor(float(got), dtype=torch.float64)
    if isinstance(got, Iterable) and not isinstance(got, str | bytes | dict):
        return _stacked([tensor_of(row, what) for row in got], what)
    raise RefusedError(missing(f"return {what}", got))


def _stacked(rows: list[Tensor], what: str) -> Tensor:
    if len({row.shape for row in rows}) > 1:
        shapes = sorted({tuple(row.shape) for row in rows})
        message = f"all rows of {what} must have one shape; got {shapes[0]} and {shapes[1]}."
        raise RefusedError(Answer("shape", message))
    return torch.stack(rows) if rows else torch.zeros(0, dtype=torch.float64)
