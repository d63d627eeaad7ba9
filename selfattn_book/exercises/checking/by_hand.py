"""Exercises by hand: an answer returns a dictionary of numbers, and no message tells a right one."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Exercise, checked, factory
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.exercises.checking.results import Program, near
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import call


class Name(str):
    """The name of a number, with the reason when it is wrong."""

    reason = "{got:.4g} is not right"
    __slots__ = ()


def by_hand(
    name: str,
    section: str,
    right: Mapping[str, Any],
    wrong: Mapping[str, Mapping[str, Any]],
    *,
    points: Mapping[str, int] | None = None,
    tolerance: float = 0.01,
) -> Exercise:
    """Return an exercise with a question for each number.

    A wrong number that equals the right one is left out; sentences with the same number are joined.

    Args:
        name: the name of the function.
        section: the section that explains the numbers.
        right: the right number or list of numbers, by its name.
        wrong: by the sentence of each misconception, the wrong numbers by their names.
        points: the points for a number, if there is more than one.
        tolerance: relative to the largest number.

    Example:
        >>> right, wrong = {"a": 0.25, "b": [1, 2]}, {"It is a half.": {"a": 0.5}}
        >>> by_hand("f", "x.html#y", right, wrong)(lambda: {"a": 0.5, "b": (1, 2)})
        f: 1 of 2 points
          no   a: 0.5 is not right. It is a half. Read again: x.html#y
          yes  b
    """
    programs: dict[str, tuple[Program, ...]] = {}
    for part in right:
        known: list[tuple[Any, list[str]]] = [(right[part], [])]
        for sentence, numbers in wrong.items():
            number = numbers.get(part)
            if number is None:
                continue
            for other, names in known:
                if near(_tensor(number), _tensor(other), tolerance):
                    names.append(sentence)
                    break
            else:
                known.append((number, [sentence]))
        for number, names in known[1:]:
            sentence = " Or: ".join(names)
            program: Program = partial(dict, right, **{part: number})
            programs[sentence] = (*programs.get(sentence, ()), program)
    return Exercise(
        f"def {name}(): ...",
        [checked(part, section, (points or {}).get(part, 1), (Name(part),)) for part in right],
        right=lambda: right,
        wrong=programs,
        tolerance=tolerance,
        via=number_of,
    )


@factory
def number_of(answer: Callable[[], Any], part: str) -> Tensor:
    """Return the program that returns one number of an answer, by its name."""
    given = call(answer)
    if not isinstance(given, Mapping):
        message = f"it must return a dictionary of numbers; got {type(given).__name__}."
        raise RefusedError(Answer("missing", message))
    value = given.get(part)
    if value is None or value is ...:
        raise RefusedError(Answer("missing", f"there is no number for {part} yet."))
    return tensor_of(value, part)


def _tensor(value: Any) -> Tensor:
    return torch.as_tensor(value, dtype=torch.float64)
