"""Answers to exercises in code, for tests: what is right in unusual ways, and what is wrong, by kind."""

from collections.abc import Callable
from typing import Any

from selfattn_book.exercises.checking.chapters import exercises_of
from selfattn_book.exercises.checking.exercise import Report


def report(chapter: str, answer: Callable[..., Any], name: str) -> Report:
    """Ask an answer to one exercise of a chapter."""
    (exercise,) = [found for found in exercises_of(chapter) if found.name == name]
    return exercise(answer)


def said(found: Report) -> str:
    """Return all that is said of what is wrong, with the kinds of no."""
    refusals = [answer for _, answer in found.results if not answer]
    return " ".join(f"{no.kind}: {no.reason} {no.misconception}" for no in refusals)
