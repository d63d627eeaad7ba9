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
    """Return the names of the chapters that have an exercise in code."""
    modules = iter_modules(package.__path__)
    return sorted(module.name.replace("_", "-") for module in modules if not module.ispkg)


def exercise_of(chapter: str) -> Exercise:
    """Return the exercise of a chapter, or raise."""
    name = f"{package.__name__}.{chapter.replace('-', '_')}"
    if chapter not in chapters():
        rule = "there must be a chapter of this name with an exercise in code"
        raise ValueError(f"{rule}; got {chapter!r}.{hint(chapter, chapters())}")
    exercise: Exercise = import_module(name).EXERCISE
    return exercise


def hint(name: str, names: list[str]) -> str:
    """Return the question whether a similar name was meant, if there is one."""
    near = get_close_matches(name, names, n=1, cutoff=0.3)
    return f" Did you mean {near[0]!r}?" if near else ""


def exercises_in(file: Path, numbers: dict[str, Any]) -> dict[str, Exercise]:
    """Return the exercises for credit in an instructor's file, with a student's numbers, by name."""
    return {made.name: made for made in run_path(str(file))["exercises"](numbers)}
