"""The exercises in code of all chapters, by their names."""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from runpy import run_path
from typing import Any

import selfattn_book.exercises as package
from selfattn_book.exercises.checking.exercise import Exercise


def chapters() -> list[str]:
    """Return the names of the chapters that have an exercise in code.

    Example:
        >>> "masks" in chapters()
        True
    """
    modules = iter_modules(package.__path__)
    return sorted(module.name.replace("_", "-") for module in modules if not module.ispkg)


def exercise_of(chapter: str) -> Exercise:
    """Return the exercise of a chapter, or raise.

    Example:
        >>> exercise_of("masks").name
        'window_mask'
    """
    name = f"{package.__name__}.{chapter.replace('-', '_')}"
    if chapter not in chapters():
        near = get_close_matches(chapter, chapters(), n=1, cutoff=0.3)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        rule = "there must be a chapter of this name with an exercise in code"
        raise ValueError(f"{rule}; got {chapter!r}.{hint}")
    exercise: Exercise = import_module(name).EXERCISE
    return exercise


def exercises_in(file: Path, numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises for credit in a file of an instructor's, for one student.

    Args:
        file: defines ``exercises(numbers)``.
        numbers: those of the student, from :func:`~selfattn_book.exercises.checking.variants.draw`.
    """
    exercises: list[Exercise] = run_path(str(file))["exercises"](numbers)
    return exercises
