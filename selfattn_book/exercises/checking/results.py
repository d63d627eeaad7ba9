"""Call programs on copies of a case, take their results as tensors, and compare them."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.numbers import COARSE, tensor_of
from selfattn_book.experiments.seeding import manual_seed
from selfattn_book.properties.answer import YES, Answer, RefusedError, equal, wrong_shape
from selfattn_book.properties.calls import call, missing

Program = Callable[..., Any]
Wrong = Mapping[str, Program | tuple[Program, ...]]  # by the sentence of their misconception
Case = tuple[Any, ...]
Results = tuple[Tensor, ...]


class Described(list[Any]):
    """A list with a brief description for messages."""

    def __init__(self, items: Iterable[Any], message: str):
        super().__init__(items)
        self.message = message


def results_of(program: Program, case: Case, names: str | tuple[str, ...]) -> Results:
    """Return the results of a program as tensors, or refuse a result without numbers."""
    manual_seed(0)
    returned = call(program, *map(deepcopy, case))
    if isinstance(names, str):
        return (tensor_of(returned, names),)
    if not isinstance(returned, tuple | list) or len(returned) != len(names):
        raise RefusedError(missing(f"return {' and '.join(names)}", returned))
    return tuple(tensor_of(part, name) for part, name in zip(returned, names, strict=True))


def form_of(got: Results, wanted: Results, case: Case, names: str | tuple[str, ...]) -> Answer:
    """Compare shapes and dtypes: a mask must be boolean, and other numbers must not be."""
    every = (names,) if isinstance(names, str) else names
    for one, right, name in zip(got, wanted, every, strict=True):
        if one.shape != right.shape:
            return wrong_shape(f"{_called(case)}, {name}", right.shape, one)
        if (one.dtype == torch.bool) != (right.dtype == torch.bool):
            rule = "boolean" if right.dtype == torch.bool else "numbers"
            got_dtype = str(one.dtype).removeprefix("torch.")
            return Answer("dtype", f"{name} must be {rule}; got {got_dtype}.")
    return YES


def difference(got: Results, wanted: Results, case: Case, tolerance: float) -> Answer:
    """Return a yes for equal results, else a no with the largest difference.

    An argument with a ``reason`` says in which words, as a format string.
    """
    for one, right in zip(got, wanted, strict=True):
        if near(one, right, tolerance):
            continue
        gaps = (one.double() - right.double()).abs().nan_to_num(nan=torch.inf)
        index = tuple(int(i) for i in torch.unravel_index(gaps.argmax(), gaps.shape))
        if reason := next((x.reason for x in case if hasattr(x, "reason")), ""):
            numbers = {"got": one[index].item(), "wanted": right[index].item()}
            return Answer("mathematics", f"{reason.format(*index, **numbers)}.")
        entry = f"entry [{', '.join(map(str, index))}] is" if index else "it gives"
        return Answer("mathematics", f"{_called(case)}, {entry} {_says(one[index], right[index])}.")
    return YES


def alike(one: Results | Answer, other: Results | Answer, tolerance: float) -> bool:
    """Return whether two programs gave the same results, or both none."""
    if isinstance(one, Answer) or isinstance(other, Answer):
        return isinstance(one, Answer) and isinstance(other, Answer)
    pairs = zip(one, other, strict=True)
    return all(a.shape == b.shape and near(a, b, tolerance) for a, b in pairs)


def near(got: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Return whether numbers agree, relative to the largest and in the precision that came."""
    largest = wanted.double().nan_to_num(0, 0, 0).abs().max() if wanted.numel() else 1.0
    slack = max(tolerance, COARSE.get(got.dtype, 0)) * max(float(largest), 1.0)
    return equal(got.double(), wanted.double(), slack)


def described(value: Any) -> str:
    """Describe an argument briefly."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return f"{value.item():.4g}"
    if isinstance(value, Tensor) and value.numel() <= 6 and value.ndim == 1:
        return "[" + ", ".join(f"{x:.4g}" for x in value.tolist()) + "]"
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    if callable(value) or hasattr(value, "message"):
        return str(getattr(value, "message", type(value).__name__))
    return repr(value) if len(repr(value)) < 60 else type(value).__name__


def _called(case: Case) -> str:
    return f"called with {', '.join(map(described, case))}" if case else "called"


def _says(got: Tensor, wanted: Tensor) -> str:
    if wanted.dtype == torch.bool:
        return f"{bool(got)}, not {bool(wanted)}"
    return f"{got.item():.4g}, not {wanted.item():.4g}"
