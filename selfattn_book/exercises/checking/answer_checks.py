"""Ask answers for numbers: what comes is looked at, compared, and its likely error named.

A function is called with some cases, and what it returns is compared with the right result.
Wrong functions say which misconceptions there are: one that an answer agrees with on all cases is named.
Lists, NumPy's arrays and other precisions are welcome.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.properties.answer import (
    YES,
    Answer,
    RefusedError,
    all_of,
    equal,
    wrong_shape,
)
from selfattn_book.properties.calls import call

Function = Callable[..., Any]


def agrees(
    right: Function,
    cases: Sequence[tuple[Any, ...]],
    *wrong: tuple[str, Function],
    tolerance: float = 1e-5,
) -> Callable[[Function], Answer]:
    """Return a question: does an answer compute what it should, in each of these cases?

    Args:
        right: what it should compute.
        cases: the arguments of each call.
        wrong: each a misconception, and a function that computes what follows from it.
        tolerance: relative to the largest number; answers may be computed in 32 bits.

    Example:
        >>> asks = agrees(lambda n: 2 * n, [(1,), (3,)], ("It is squared.", lambda n: n * n))
        >>> asks(lambda n: n + n), asks(lambda n: n**2)
        (yes, no: called with 1, it gives 1, not 2. It is squared.)
        >>> asks(lambda n: None)
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: called with 1, what it returns
        must be numbers; got None.
    """

    def ask(answer: Function) -> Answer:
        def one(case: tuple[Any, ...]) -> Answer:
            wanted = as_numbers(right(*_fresh(case)))
            got = result(answer, *case, shape=wanted.shape)
            if near(got, wanted, tolerance):
                return YES
            return difference(got, wanted, case)

        def computes(other: Function) -> bool:
            return all(
                near(result(answer, *c), as_numbers(other(*_fresh(c))), tolerance) for c in cases
            )

        return all_of(map(one, cases)).because(
            *((name, partial(computes, other)) for name, other in wrong)
        )

    return ask


def gives(
    wanted: Mapping[str, Any],
    wrong: Mapping[str, Mapping[str, Any]],
    reread: str,
    *,
    points: Mapping[str, int] | None = None,
    tolerance: float = 0.01,
) -> list[Asked]:
    """Return the questions to an answer by hand: a function that returns a dictionary of numbers.

    What is wanted is never told.

    Args:
        wanted: by name, the right numbers.
        wrong: by name, what follows from misconceptions, each with its sentence.
        reread: the section that explains it.
        points: of what is not worth one.
        tolerance: of a number, as many digits as an exercise asks for; of large ones, as a share.

    Example:
        >>> first, second = gives({"a": 0.25, "b": [1, 2]}, {"a": {"It is a half.": 0.5}}, "x.html#y")
        >>> first.ask(lambda: {"a": 0.5}), second.ask(lambda: {"a": 1, "b": (1, 2)})
        (no: 0.5 is not right. It is a half., yes)
    """

    def about(name: str) -> Asked:
        def ask(answer: Function) -> Answer:
            got = part(answer, name)
            right = as_numbers(wanted[name])
            if got.shape != right.shape:
                return wrong_shape(name, right.shape, got)
            if near(got, right, tolerance):
                return YES
            no = Answer("mathematics", f"{_told(got)} is not right.")
            return no.because(
                *(
                    (message, partial(near, got, as_numbers(value), tolerance))
                    for message, value in wrong.get(name, {}).items()
                )
            )

        return Asked(name, ask, reread, (points or {}).get(name, 1))

    return [about(name) for name in wanted]


def part(answer: Function, name: str) -> Tensor:
    """Return what an answer by hand gives for one name, as numbers."""
    given = call(answer)
    if not isinstance(given, Mapping):
        message = f"it must return a dictionary of numbers; got {type(given).__name__}."
        raise RefusedError(Answer("missing", message))
    if given.get(name, ...) in (None, ...):
        raise RefusedError(Answer("missing", f"there is nothing for {name} yet."))
    return as_numbers(given[name], name)


def result(answer: Function, *case: Any, shape: Sequence[int] | None = None) -> Tensor:
    """Return what an answer computes, as numbers of the shape that is asked for."""
    message = "called with " + ", ".join(map(_told, case))
    got = as_numbers(call(answer, *_fresh(case)), f"{message}, what it returns")
    if shape is not None and tuple(got.shape) != tuple(shape):
        raise RefusedError(wrong_shape(f"{message}, what it returns", shape, got))
    return got


def as_numbers(value: Any, what: str = "what it returns") -> Tensor:
    """Return numbers as a tensor of 64 bits, whatever they came as.

    Example:
        >>> as_numbers([True, False]), as_numbers([[torch.tensor(1)], [2]])
        (tensor([1., 0.], dtype=torch.float64), tensor([[1.], [2.]], dtype=torch.float64))
        >>> as_numbers("one", "a")
        Traceback (most recent call last):
        selfattn_book.properties.answer.RefusedError: no: a must be numbers; got str.
    """
    try:
        return tensor_of(value, what).double()
    except (RefusedError, RuntimeError, TypeError, ValueError) as error:
        name = "None" if value is None else type(value).__name__
        message = f"{what} must be numbers; got {name}."
        raise RefusedError(Answer("missing", message)) from error


def near(got: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Tell whether numbers agree, relative to the largest."""
    if not wanted.numel():
        return got.shape == wanted.shape
    largest = wanted.nan_to_num(0, 0, 0).abs().max().clamp(min=1.0)
    return equal(got, wanted, tolerance * float(largest))


def difference(got: Tensor, wanted: Tensor, case: tuple[Any, ...]) -> Answer:
    """Say where numbers differ most."""
    message = "called with " + ", ".join(map(_told, case))
    if not wanted.ndim:
        numbers = f"it gives {got.item():.4g}, not {wanted.item():.4g}"
        return Answer("mathematics", f"{message}, {numbers}.")
    gaps = (got - wanted).abs().nan_to_num(nan=torch.inf)
    place = tuple(int(i) for i in torch.unravel_index(gaps.argmax(), gaps.shape))
    at = ", ".join(map(str, place))
    numbers = f"entry [{at}] is {got[place].item():.4g}"
    return Answer("mathematics", f"{message}, {numbers}, not {wanted[place]:.4g}.")


def _fresh(case: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments that an answer may change in place."""
    return tuple(x.clone() if isinstance(x, Tensor) else x for x in case)


def _told(value: Any) -> str:
    """Say briefly what a value is."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return f"{value.item():.4g}"
    if isinstance(value, Tensor) and value.numel() <= 6 and value.ndim == 1:
        return "[" + ", ".join(f"{x:.4g}" for x in value.tolist()) + "]"
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}"
    if callable(value):
        return str(getattr(value, "told", "a function"))
    return repr(value) if len(repr(value)) < 60 else type(value).__name__
