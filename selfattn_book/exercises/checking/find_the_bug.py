"""Find the bug: an answer names the line of a bug, and an input on which it shows."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.by_hand import Name, number_of
from selfattn_book.exercises.checking.exercise import Exercise, checked
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.exercises.checking.results import Program, near
from selfattn_book.properties.answer import Answer, RefusedError

LARGEST, MOST = 1000, 100  # of a number, and of the count of numbers in an argument


class Input(Name):
    """The name of the question for an input, with the reason when the bug does not show."""

    reason = "the program gives the right result for this input"
    __slots__ = ()


def find_the_bug(program: str, right: str, section: str, example: Mapping[str, Any]) -> Exercise:
    r"""Return an exercise with a point for the line of a bug, and two for an input on which it shows.

    An answer is a function ``found_bug`` that returns a dictionary: ``line``, and each argument of the
    program by its name, a number or numbers in lists. The program gets lists as tensors of 64 bits.

    Args:
        program: the source of one function, with the bug; ``math`` and ``torch`` are imported.
        right: the same without the bug; one line is different.
        section: the section that explains the program.
        example: arguments by their names, on which the bug shows.

    Raises:
        ValueError: the programs differ in more than one line or in none, or the bug does not show.

    Example:
        >>> right, program = ("def f(x):\n    return x ** 2", "def f(x):\n    return 2 * x")
        >>> exercise = find_the_bug(program, right, "x.html#y", {"x": 3})
        >>> exercise(lambda: {"line": 2, "x": 2})
        found_bug: 1 of 3 points
          yes  line
          no   an input on which the bug shows (2 points): the program gives the right
               result for this input. Read again: x.html#y
    """
    lines = enumerate(zip(program.splitlines(), right.splitlines(), strict=True), 1)
    different = [number for number, (one, other) in lines if one != other]
    if len(different) != 1:
        raise ValueError(f"a program must have a bug in one line; got lines {different}")
    programs = defined(program), defined(right)
    if not shows(
        *programs, {name: argument(tensor_of(x, name), name) for name, x in example.items()}
    ):
        raise ValueError(f"the bug must show on the example; got {example}")
    key = {"line": different[0], **example}
    return Exercise(
        "def found_bug(): ...",
        [
            checked("line", section, 1, (Name("line"),)),
            checked("an input on which the bug shows", section, 2, (Input("input"),)),
        ],
        right=lambda: key,
        wrong={"Lines are counted from 1.": lambda: key | {"line": different[0] - 1}},
        via=partial(part_of, *programs, [*example]),
    )


def part_of(
    program: Program, right: Program, names: list[str], answer: Callable[[], Any]
) -> Program:
    """Return the program that returns the line of an answer, or whether the bug shows on its input."""
    value = number_of(answer)

    def part(asked: str) -> Tensor:
        if asked == "line":
            return value("line")
        given = {name: argument(value(name), name) for name in names}
        return torch.tensor(shows(program, right, given))

    return part


def argument(value: Tensor, name: str) -> Any:
    """Return an argument as a program takes it: a number, whole if it can be, or a tensor."""
    if value.numel() > MOST or not bool((value.abs() <= LARGEST).all()):
        rule = f"{name} must have at most {MOST} numbers, none above {LARGEST}."
        raise RefusedError(Answer("missing", rule))
    if value.ndim:
        return value.double()
    number = value.item()
    return int(number) if number == int(number) else number


def shows(program: Program, right: Program, given: Mapping[str, Any]) -> bool:
    """Return whether two programs have different results, or refuse what is no input."""
    wanted = result(right, given)
    if wanted is None:
        reason = "the program has no result for this input, even without its bug."
        raise RefusedError(Answer("missing", reason))
    got = result(program, given)
    return got is None or got.shape != wanted.shape or not near(got, wanted, 1e-6)


def result(program: Program, given: Mapping[str, Any]) -> Tensor | None:
    """Return the result of a program on copies, or nothing if it fails or is not finite."""
    copies = (x.clone() if isinstance(x, Tensor) else x for x in given.values())
    try:
        found = tensor_of(program(*copies), "numbers")
    except Exception:  # whatever an input does to a program
        return None
    return found if bool(found.double().isfinite().all()) else None


def defined(source: str) -> Program:
    """Return the function that a source defines."""
    names: dict[str, Any] = {"math": math, "torch": torch}
    exec(source, names)
    program: Program = list(names.values())[-1]
    return program
