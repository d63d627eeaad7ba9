"""Which chapters have exercises in code, and where their checks are."""

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pkgutil import iter_modules

from selfattn_book.course import exercises as room
from selfattn_book.course.exercise import Exercise


def chapters() -> list[str]:
    """Return the names of the chapters that have exercises in code.

    Example:
        >>> "masks" in chapters()
        True
    """
    return sorted(
        module.name.replace("_", "-") for module in iter_modules(room.__path__)
    )


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
    name = f"{room.__name__}.{chapter.replace('-', '_')}"
    if chapter not in chapters():
        near = get_close_matches(chapter, chapters(), n=1, cutoff=0.3)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        rule = "there must be a chapter of this name with exercises in code"
        raise ValueError(f"{rule}; got {chapter!r}.{hint}")
    exercises: Sequence[Exercise] = import_module(name).EXERCISES
    return exercises
