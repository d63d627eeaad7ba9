"""Calling somebody's code: what it returns is looked at before it is judged."""

import sysconfig
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import cast

import torch
from torch import Tensor

from selfattn_book.reasons.answer import STOPS, Answer, RefusedError, wrong_shape

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

# Code in these folders is not the reader's.
LIBRARIES = [
    Path(__file__).parent.parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
]


def call(function: Callable[..., object], *inputs: object) -> object:
    """Call a function; if it stops, say so in an answer.

    Example:
        >>> call(torch.add, 1, 2)
        tensor(3)
        >>> call(lambda x: torch.zeros(2) @ x, torch.zeros(3))
        Traceback (most recent call last):
        selfattn_book.reasons.answer.RefusedError: no: RuntimeError in line 1 of <lambda>,
        `call(lambda x: torch.zeros(2) @ x, torch.zeros(3))`: ...
    """
    try:
        return function(*inputs)
    except STOPS as error:
        raise RefusedError(_stopped(function, inputs, error)) from error


def context_of(attend: Attend, *inputs: Tensor) -> Tensor:
    """Return the context that an attention computes."""
    return _numbers(_pair(attend, *inputs)[0], "the context")


def weights_of(attend: Attend, *inputs: Tensor) -> Tensor:
    """Return the weights that an attention computes, ``(B, T, S)`` or ``(B, H, T, S)``."""
    return _shares(_pair(attend, *inputs)[1], inputs[-1])


def both_of(attend: Attend, *inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the context and the weights of one call."""
    context, weights = _pair(attend, *inputs)
    return _numbers(context, "the context"), _shares(weights, inputs[-1])


def gradients_of(context: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    """Return the gradients of a sum of numbers; an input without effect has gradient 0."""
    if not context.requires_grad:
        told = "no gradient flows back from the context: something was detached."
        raise RefusedError(Answer("mathematics", told))
    back = partial(
        torch.autograd.grad, context.sum(), inputs, materialize_grads=True
    )
    return cast(tuple[Tensor, ...], call(back))


def output_of(
    model: Callable[..., object], *inputs: object, shape: tuple[int, ...] = ()
) -> Tensor:
    """Return the one tensor that a model computes; its first sizes may be asked for."""
    output = _numbers(call(model, *inputs), "the output")
    wrong = output.shape[:-1] != shape or not output.numel()
    if shape and wrong:
        raise RefusedError(wrong_shape("the output", (*shape, "E"), output))
    return output


def rows_of(
    table: Callable[[int, int], object], length: int, d_model: int
) -> Tensor:
    """Return a table of positions, in 64 bits."""
    rows = call(table, length, d_model)
    if not isinstance(rows, Tensor):
        raise RefusedError(missing("return a tensor", rows))
    if rows.shape == (length, d_model):
        return rows.double()
    no = wrong_shape("the table", (length, d_model), rows)
    on_its_side = rows.shape == (d_model, length)
    raise RefusedError(
        no.because(("It is transposed: a row is a position.", lambda: on_its_side))
    )


def missing(wanted: str, got: object) -> Answer:
    """Say what was wanted of a call, and what kind of thing came.

    Example:
        >>> missing("return context and weights", None)
        no: it must return context and weights; got None.
    """
    return Answer("missing", f"it must {wanted}; got {_told(got)}.")


def _pair(attend: Attend, *inputs: Tensor) -> tuple[object, object]:
    pair = call(attend, *inputs)
    if isinstance(pair, tuple | list) and len(pair) == 2:
        return pair[0], pair[1]
    raise RefusedError(missing("return context and weights", pair))


def _shares(got: object, mask: Tensor) -> Tensor:
    """Return weights, or refuse those that are not one for each entry of a mask."""
    weights = _numbers(got, "the weights")
    batch, *rows = mask.shape
    if weights.ndim in (3, 4) and [len(weights), *weights.shape[-2:]] == [
        batch,
        *rows,
    ]:
        return weights
    raise RefusedError(
        wrong_shape("the weights (of one head)", mask.shape, weights)
    )


def _numbers(got: object, what: str) -> Tensor:
    """Return a tensor of 64-bit numbers, or refuse what is none."""
    if not isinstance(got, Tensor):
        raise RefusedError(missing(f"return {what} as a tensor", got))
    if got.dtype == torch.float64:
        return got
    name = str(got.dtype).removeprefix("torch.")
    rule = f"{what} must be float64, as the inputs are; got {name}."
    raise RefusedError(Answer("dtype", rule))


def _told(got: object) -> str:
    if isinstance(got, Tensor):
        return f"one tensor of shape {tuple(got.shape)}"
    if isinstance(got, tuple | list):
        return f"{len(got)} values"
    return "None" if got is None else f"a value of type {type(got).__name__}"


def _stopped(
    function: Callable[..., object], inputs: tuple[object, ...], error: Exception
) -> Answer:
    """Tell what stopped; if it would not in 32 bits, the numbers were too long."""
    said = " ".join(str(error).split("\n")[0].split()).rstrip(".") or "no message"
    told = f"{type(error).__name__}{_place(error)}: {said}"
    shorter = [cast(Tensor, x).float() if _is_long(x) else x for x in inputs]
    if any(map(_is_long, inputs)) and _runs(function, shorter):
        rule = "it stops at float64 and takes float32: call `.double()` on your module first"
        return Answer("dtype", f"{rule}. It said {told}.")
    return Answer("exception", f"{told}.")


def _is_long(x: object) -> bool:
    return isinstance(x, Tensor) and x.dtype == torch.float64


def _runs(function: Callable[..., object], inputs: list[object]) -> bool:
    try:
        function(*inputs)
    except STOPS:
        return False
    return True


def _place(error: Exception) -> str:
    """Return the innermost line of the reader's code, or nothing where there is none."""
    own = [trace for trace in _traces(error) if not _is_library(_file(trace))]
    if not own:
        return ""
    # One line of the reader's is read, and none of a library's or of this package.
    (frame,) = traceback.extract_tb(own[-1], limit=1)
    line = f", `{frame.line}`" if frame.line else ""
    return f" in line {frame.lineno} of {frame.name}{line}"


def _traces(error: Exception) -> Iterator[TracebackType]:
    """Give the calls that an error went through, the outermost first."""
    trace = error.__traceback__
    while trace:
        yield trace
        trace = trace.tb_next


def _file(trace: TracebackType) -> Path:
    return Path(trace.tb_frame.f_code.co_filename)


def _is_library(file: Path) -> bool:
    return any(folder in file.parents for folder in LIBRARIES)
