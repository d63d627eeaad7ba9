"""Calls of the code under test: results are checked for type, dtype and shape before any number."""

import sysconfig
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from selfattn_book.properties.answer import STOPS, Answer, RefusedError, wrong_shape

Attend = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]

# Folders whose code is not the reader's.
LIBRARIES = [
    Path(__file__).parent.parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
]


def call(function: Callable[..., object], *inputs: object) -> object:
    """Call a function; raise :class:`.RefusedError` with an answer if it raises an error.

    Example:
        >>> call(torch.add, 1, 2)
        tensor(3)
    """
    try:
        return function(*inputs)
    except STOPS as error:
        raise RefusedError(_stopped(function, inputs, error)) from error


def context_of(attend: Attend, *inputs: Tensor) -> Tensor:
    """Return the context of an attention function."""
    return _numbers(_pair(attend, *inputs)[0], "the context")


def weights_of(attend: Attend, *inputs: Tensor) -> Tensor:
    """Return the weights of an attention function, ``(B, T, S)`` or ``(B, H, T, S)``."""
    return _weights(_pair(attend, *inputs)[1], inputs[-1])


def both_of(attend: Attend, *inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the context and the weights of one call."""
    context, weights = _pair(attend, *inputs)
    return _numbers(context, "the context"), _weights(weights, inputs[-1])


def gradients_of(context: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    """Return the gradients of the sum of a context; 0 for an input without effect."""
    if not context.requires_grad:
        reason = "the context has no gradient: a tensor was detached."
        raise RefusedError(Answer("mathematics", reason))
    back = partial(torch.autograd.grad, context.sum(), inputs, materialize_grads=True)
    return cast(tuple[Tensor, ...], call(back))


def output_of(model: Callable[..., object], *inputs: object, shape: tuple[int, ...] = ()) -> Tensor:
    """Return the output of a model; if a shape is given, the output is ``(*shape, E)``."""
    output = _numbers(call(model, *inputs), "the output")
    wrong = output.shape[:-1] != shape or not output.numel()
    if shape and wrong:
        raise RefusedError(wrong_shape("the output", (*shape, "E"), output))
    return output


def rows_of(table: Callable[[int, int], object], length: int, d_model: int) -> Tensor:
    """Return a table of positions, ``(length, d_model)``, in float64."""
    rows = call(table, length, d_model)
    if not isinstance(rows, Tensor):
        raise RefusedError(missing("return a tensor", rows))
    if rows.shape == (length, d_model):
        return rows.double()
    no = wrong_shape("the table", (length, d_model), rows)
    is_transposed = rows.shape == (d_model, length)
    raise RefusedError(
        no.because(("It is transposed: a row is a position.", lambda: is_transposed))
    )


def missing(wanted: str, got: object) -> Answer:
    """Return the answer for a return value that is missing or of the wrong type.

    Example:
        >>> missing("return context and weights", None)
        no: it must return context and weights; got None.
    """
    return Answer("missing", f"it must {wanted}; got {_description(got)}.")


def _pair(attend: Attend, *inputs: Tensor) -> tuple[object, object]:
    pair = call(attend, *inputs)
    if isinstance(pair, tuple | list) and len(pair) == 2:
        return pair[0], pair[1]
    if isinstance(pair, Tensor):
        return pair, None  # the context alone, as PyTorch's own function
    raise RefusedError(missing("return context and weights", pair))


def _weights(got: object, mask: Tensor) -> Tensor:
    """Return weights that have one entry for each entry of a mask."""
    weights = _numbers(got, "the weights")
    batch, *rows = mask.shape
    if weights.ndim in (3, 4) and [len(weights), *weights.shape[-2:]] == [batch, *rows]:
        return weights
    raise RefusedError(wrong_shape("the weights (of one head)", mask.shape, weights))


def _numbers(got: object, what: str) -> Tensor:
    """Return a float64 tensor, and refuse anything else."""
    if not isinstance(got, Tensor):
        raise RefusedError(missing(f"return {what} as a tensor", got))
    if got.dtype == torch.float64:
        return got
    name = str(got.dtype).removeprefix("torch.")
    rule = f"{what} must be float64, as the inputs are; got {name}."
    raise RefusedError(Answer("dtype", rule))


def _description(got: object) -> str:
    if isinstance(got, Tensor):
        return f"one tensor of shape {tuple(got.shape)}"
    if isinstance(got, tuple | list):
        return f"{len(got)} values"
    return "None" if got is None else f"a value of type {type(got).__name__}"


def _stopped(
    function: Callable[..., object], inputs: tuple[object, ...], error: Exception
) -> Answer:
    """Return the answer for an error; its kind is dtype if the call succeeds in float32."""
    text = " ".join(str(error).split("\n")[0].split()).rstrip(".") or "no message"
    message = f"{type(error).__name__}{_line(error)}: {text}"
    is_long = [isinstance(x, Tensor) and x.dtype == torch.float64 for x in inputs]
    shorter = [cast(Tensor, x).float() if y else x for x, y in zip(inputs, is_long, strict=True)]
    if any(is_long) and _runs(function, shorter):
        rule = "it fails for float64 and runs for float32: call `.double()` on your module first"
        return Answer("dtype", f"{rule}. The error was {message}.")
    return Answer("exception", f"{message}.")


def _runs(function: Callable[..., object], inputs: list[object]) -> bool:
    try:
        function(*inputs)
    except STOPS:
        return False
    return True


def _line(error: Exception) -> str:
    """Return the innermost line of the reader's code, or an empty string if there is none."""
    own, trace = None, error.__traceback__
    while trace:
        file = Path(trace.tb_frame.f_code.co_filename)
        if not any(folder in file.parents for folder in LIBRARIES):
            own = trace
        trace = trace.tb_next
    if own is None:
        return ""
    # One line of the reader's is read, and none of a library's or of this package.
    (frame,) = traceback.extract_tb(own, limit=1)
    line = f", `{frame.line}`" if frame.line else ""
    return f" in line {frame.lineno} of {frame.name}{line}"
