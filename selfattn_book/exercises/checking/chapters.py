"""Which chapters have exercises in code, and where their checks are."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import selfattn_book.exercises as package
from selfattn_book.exercises.checking.exercise import Exercise


def chapters() -> list[str]:
    """Return the names of the chapters that have exercises in code.

    Example:
        >>> "masks" in chapters()
        True
    """
    modules = iter_modules(package.__path__)
    return sorted(module.name.replace("_", "-") for module in modules if not module.ispkg)


def exercises_of(chapter: str) -> Sequence[Exercise]:
    """Return the exercises of a chapter, in their order.

    Example:
        >>> [exercise.name for exercise in exercises_of("masks")]
        ['window_mask']
        >>> exercises_of("mask")
        Traceback (most recent call last):
        ValueError: there must be a chapter of this name with exercises in code; got 'mask'.
        Did you mean 'masks'?
    """
    name = f"{package.__name__}.{chapter.replace('-', '_')}"
    if chapter not in chapters():
        near = get_close_matches(chapter, chapters(), n=1, cutoff=0.3)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        rule = "there must be a chapter of this name with exercises in code"
        raise ValueError(f"{rule}; got {chapter!r}.{hint}")
    exercises: Sequence[Exercise] = import_module(name).EXERCISES
    return exercises


def exercises_in(file: Path, numbers: dict[str, Any]) -> Sequence[Exercise]:
    """Return the exercises for credit in a file of an instructor's, for one student.

    Args:
        file: defines ``exercises(numbers)``.
        numbers: those of the student, from :func:`~selfattn_book.exercises.checking.variants.draw`.
    """
    exercises: Sequence[Exercise] = load(file).exercises(numbers)
    return exercises


def load(file: Path) -> Any:
    """Import a file that is in no package."""
    spec = spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"checks must be a Python file; got {file}")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
