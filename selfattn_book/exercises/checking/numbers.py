"""Numbers that an answer gives back: of any kind that holds them, in any precision."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import partial
from numbers import Real

import numpy as np
import torch
from torch import Tensor

from selfattn_book.experiments.seeding import generator
from selfattn_book.properties.answer import (
    Answer,
    Likely,
    RefusedError,
    equal,
    same,
    wrong_shape,
)
from selfattn_book.properties.calls import call, missing

TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 5e-2}


def drawn(*shape: int, seed: int) -> Tensor:
    """Draw what an answer is asked about, in the default dtype, and alike in each.

    Example:
        >>> drawn(2, 3, seed=0).dtype == torch.get_default_dtype()
        True
    """
    numbers = torch.randn(shape, generator=generator(seed), dtype=torch.float64)
    return numbers.to(torch.get_default_dtype())


def asked(answer: Callable[..., object], *inputs: object) -> object:
    """Call an answer on copies, so that it may work in place.

    Example:
        >>> x = torch.ones(2)
        >>> asked(torch.Tensor.zero_, x), x
        (tensor([0., 0.]), tensor([1., 1.]))
    """
    copies = [x.clone() if isinstance(x, Tensor) else x for x in inputs]
    return call(answer, *copies)


def numbers(got: object, what: str, shape: tuple[int, ...]) -> Tensor:
    """Return the numbers that came, in their own precision, or refuse what holds none.

    Args:
        got: a tensor, an array, numbers in lists of any depth, or one number.
        what: came, in words.
        shape: that it must have.

    Example:
        >>> numbers([[1, 0.5]], "the weights", (1, 2))
        tensor([[1.0000, 0.5000]], dtype=torch.float64)
        >>> numbers(None, "the weights", (1, 2))
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: it must return the weights; got None.
        >>> numbers([[1, 0.5]], "the weights", (2,))
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: the weights must have shape (2,); got (1, 2).
        >>> numbers([True], "the weights", (1,))
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: the weights must be floating-point numbers;
        got bool.
    """
    held = tensor_of(got, what)
    if held.shape != shape:
        raise RefusedError(wrong_shape(what, shape, held))
    if not held.is_floating_point():
        name = str(held.dtype).removeprefix("torch.")
        message = f"{what} must be floating-point numbers; got {name}."
        raise RefusedError(Answer("dtype", message))
    return held


def tolerance(got: Tensor) -> float:
    """Return how far right numbers may be off: what 32 bits lose, or 16 where 16 came.

    Lists do not tell how they were computed, so 64 bits are not asked for more.

    Example:
        >>> tolerance(torch.ones(1)), tolerance(torch.ones(1).half())
        (0.0001, 0.01)
    """
    return TOLERANCES.get(got.dtype, 1e-4)


def near(got: Tensor, wanted: Tensor) -> bool:
    """Tell whether numbers that came are the wanted ones, in their own precision.

    Example:
        >>> near(torch.tensor([1.00001]), torch.tensor([1.0])), near(torch.ones(1), torch.zeros(1))
        (True, False)
    """
    return equal(got.double(), wanted.double(), tolerance(got))


def compared(
    got: Tensor,
    wanted: Tensor,
    what: str,
    axes: tuple[str, ...],
    *,
    message: str = "is {got}, not {wanted}",
) -> Answer:
    """Compare numbers as :func:`selfattn_book.properties.answer.same` does, in their own precision.

    Example:
        >>> compared(torch.tensor([0.5, 1.0]), torch.ones(2), "the sum", ("row",))
        no: the sum of row 0 is 0.5, not 1.
    """
    slack = tolerance(got)
    return same(got.double(), wanted.double(), what, axes, message=message, tolerance=slack)


def likely(got: Tensor, wrong: Mapping[str, Tensor]) -> list[Likely]:
    """Return sentences beside the question whether what came are their numbers.

    Example:
        >>> no = Answer("mathematics", "it is 2, not 1.")
        >>> no.because(*likely(torch.tensor(2.0), {"It was doubled.": torch.tensor(2.0)}))
        no: it is 2, not 1. It was doubled.
    """
    return [(said, partial(near, got, numbers)) for said, numbers in wrong.items()]


def tensor_of(got: object, what: str) -> Tensor:
    """Return what came as a tensor on the CPU, out of the graph, whatever numbers it holds.

    Args:
        got: a tensor, an array, numbers in lists or generators of any depth, or one number.
        what: came, in words.

    Example:
        >>> tensor_of((row for row in [torch.ones(2) > 0, [True, False]]), "a mask")
        tensor([[ True,  True],
                [ True, False]])
    """
    if isinstance(got, Tensor):
        return got.detach().cpu()
    if isinstance(got, bool | np.generic | np.ndarray):
        return _of_array(np.asarray(got), what)
    if isinstance(got, Real | Decimal):  # fractions, too
        return torch.tensor(float(got), dtype=torch.float64)
    if isinstance(got, Iterable) and not isinstance(got, str | bytes | dict):
        return _stacked([tensor_of(row, what) for row in got], what)
    raise RefusedError(missing(f"return {what}", got))


def _of_array(array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", what: str) -> Tensor:
    if array.dtype == object:
        return tensor_of(array.tolist(), what)
    return torch.from_numpy(array.copy())


def _stacked(rows: list[Tensor], what: str) -> Tensor:
    if len({row.shape for row in rows}) > 1:
        shapes = sorted({tuple(row.shape) for row in rows})
        message = f"all rows of {what} must have one shape; got {shapes[0]} and {shapes[1]}."
        raise RefusedError(Answer("shape", message))
    return torch.stack(rows) if rows else torch.zeros(0, dtype=torch.float64)
