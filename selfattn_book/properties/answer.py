"""Answers of a property: yes, or no with the measured reason and the likely misconception."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Literal, ParamSpec

import torch
from torch import Tensor

Kind = Literal["yes", "mathematics", "shape", "dtype", "missing", "exception"]
Likely = tuple[str, Callable[[], bool]]  # a misconception, and a test for it
P = ParamSpec("P")

# Exceptions that count as an answer; any other exception reaches the caller.
STOPS = IndexError, RuntimeError, TypeError, ValueError


@dataclass(frozen=True, repr=False)
class Answer:
    """Yes, or no with a reason: usable as a boolean, and printed in words.

    Args:
        kind: ``"yes"``, or the kind of no. ``"mathematics"``: the numbers are wrong. ``"shape"``
            and ``"dtype"``: the tensors cannot be right. ``"missing"``: a value was not returned.
            ``"exception"``: the code raised an error.
        reason: measured failure with its numbers; empty for a yes.
        misconception: likely cause; empty unless a second measurement supports it.

    Example:
        >>> answer = Answer("mathematics", "the weights sum to 2, not to 1.", "They were doubled.")
        >>> answer
        no: the weights sum to 2, not to 1. They were doubled.
        >>> bool(answer), answer.kind, Answer("yes")
        (False, 'mathematics', yes)
    """

    kind: Kind
    reason: str = ""
    misconception: str = ""

    def __bool__(self) -> bool:
        """Return whether the answer is yes."""
        return self.kind == "yes"

    def __repr__(self) -> str:
        """Return the answer in words."""
        if self:
            return "yes"
        return " ".join(filter(None, ["no:", self.reason, self.misconception]))

    def because(self, *likely: Likely) -> "Answer":
        """Add the first misconception whose test holds to a no.

        Args:
            likely: pairs of a sentence and a test whether it explains the failure.

        Example:
            >>> no = Answer("mathematics", "it is 4, not 2.")
            >>> halved = "It was halved.", lambda: 4 == 2 / 2
            >>> no.because(halved, ("It was doubled.", lambda: 4 == 2 * 2)), no.because(halved)
            (no: it is 4, not 2. It was doubled., no: it is 4, not 2.)
        """
        if self or self.misconception:
            return self
        named = (sentence for sentence, explains in likely if _holds(explains))
        return replace(self, misconception=next(named, ""))


YES = Answer("yes")


class RefusedError(Exception):
    """The answer about code that could not be evaluated, as an exception."""

    def __init__(self, answer: Answer):
        super().__init__(str(answer))
        self.answer = answer


def question(ask: Callable[P, Answer]) -> Callable[P, Answer]:
    """Turn a :class:`RefusedError` into its answer, and restore PyTorch's generator."""

    @wraps(ask)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            with torch.random.fork_rng(devices=[]):
                return ask(*args, **kwargs)
        except RefusedError as refused:
            return refused.answer

    return answer


def all_of(answers: Iterable[Answer]) -> Answer:
    """Return the first no, or yes if there is none."""
    return next((answer for answer in answers if not answer), YES)


def same(
    got: Tensor,
    wanted: Tensor,
    what: str,
    axes: tuple[str, ...],
    *,
    message: str = "is {got}, not {wanted}",
    tolerance: float = 1e-12,
) -> Answer:
    """Compare two tensors, and report the largest difference and its position.

    Args:
        got: computed tensor.
        wanted: expected tensor.
        what: name of the tensor in the answer.
        axes: names of the first axes, at least one.
        message: format string for the answer, with ``{got}``, ``{wanted}`` and ``{gap}``.
        tolerance: largest accepted difference.

    Example:
        >>> sums, message = torch.tensor([1.0, 1.84]), "sum to {got}"
        >>> same(sums, torch.ones(2), "the weights", ("query",), message=message)
        no: the weights of query 1 sum to 1.84.
    """
    if got.shape != wanted.shape:
        return wrong_shape(what, wanted.shape, got)
    close = torch.isclose(got, wanted, rtol=0, atol=tolerance)
    if close.all():
        return YES
    gaps = (got - wanted).abs().nan_to_num(nan=torch.inf).masked_fill(close, -1)
    index = [int(i) for i in torch.unravel_index(gaps.argmax(), gaps.shape)]
    position = [f"{axis} {i}" for axis, i in zip(axes, index, strict=False)]
    one, other = got[tuple(index)].item(), wanted[tuple(index)].item()
    numbers = {"got": one, "wanted": other, "gap": abs(one - other)}
    text = message.format(**{name: f"{x:.3g}" for name, x in numbers.items()})
    return Answer("mathematics", f"{what} of {' of '.join(position[::-1])} {text}.")


def equal(got: Tensor, wanted: Tensor, tolerance: float = 1e-12) -> bool:
    """Return whether two tensors have the same shape and numbers; ``nan`` equals ``nan``."""
    is_close = got.shape == wanted.shape
    return is_close and torch.allclose(got, wanted, rtol=0, atol=tolerance, equal_nan=True)


def wrong_shape(what: str, wanted: Iterable[object], got: Tensor) -> Answer:
    """Return the answer for a tensor of the wrong shape.

    Example:
        >>> wrong_shape("the context", (3, 5, "E"), torch.ones(3, 6))
        no: the context must have shape (3, 5, E); got (3, 6).
    """
    shape = ", ".join(map(str, wanted))
    shape = f"({shape})" if "," in shape or not shape else f"({shape},)"
    return Answer("shape", f"{what} must have shape {shape}; got {tuple(got.shape)}.")


def _holds(explains: Callable[[], bool]) -> bool:
    """Return whether a test holds; a test that raises an error does not."""
    try:
        return bool(explains())
    except (RefusedError, *STOPS):
        return False
