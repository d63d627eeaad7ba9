"""What a question to somebody's code is answered: yes, or a no with its reason."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Literal, ParamSpec

import torch
from torch import Tensor

Kind = Literal["yes", "mathematics", "shape", "dtype", "missing", "exception"]
Likely = tuple[str, Callable[[], bool]]
P = ParamSpec("P")

# What a function may raise at its input. Any other error is the reader's to see.
STOPS = IndexError, RuntimeError, TypeError, ValueError


@dataclass(frozen=True, repr=False)
class Answer:
    """A yes, or a no with its reason: true or false, and printed in words.

    Args:
        kind: ``"yes"``, or what kind of no it is. ``"mathematics"``: the numbers are wrong.
            ``"shape"`` and ``"dtype"``: they cannot be the right ones. ``"missing"``: something
            was not returned. ``"exception"``: the code stopped.
        reason: what was measured, with the numbers; empty for a yes.
        misconception: what is likely behind it; empty unless a second measurement speaks for it.

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
        """Tell whether it is a yes."""
        return self.kind == "yes"

    def __repr__(self) -> str:
        """Say it in words."""
        if self:
            return "yes"
        return " ".join(filter(None, ["no:", self.reason, self.misconception]))

    def because(self, *likely: Likely) -> "Answer":
        """Add to a no the first misconception for which there is evidence.

        Args:
            likely: each a sentence, and a test that tells whether it explains the numbers.

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
    """Carries the answer about code that could not be asked."""

    def __init__(self, answer: Answer):
        super().__init__(str(answer))
        self.answer = answer


def question(ask: Callable[P, Answer]) -> Callable[P, Answer]:
    """Answer for code that could not be asked, too, and leave PyTorch's generator as it was."""

    @wraps(ask)
    def answer(*args: P.args, **kwargs: P.kwargs) -> Answer:
        try:
            with torch.random.fork_rng(devices=[]):
                return ask(*args, **kwargs)
        except RefusedError as refused:
            return refused.answer

    return answer


def all_of(answers: Iterable[Answer]) -> Answer:
    """Return the first no, and a yes if there is none."""
    return next((answer for answer in answers if not answer), YES)


def same(
    got: Tensor,
    wanted: Tensor,
    what: str,
    axes: tuple[str, ...],
    *,
    told: str = "is {got}, not {wanted}",
    tolerance: float = 1e-12,
) -> Answer:
    """Compare numbers, and tell of the largest difference where it is.

    Args:
        got: what the reader's code says.
        wanted: what it should say.
        what: is compared.
        axes: names of the first axes, one or more.
        told: of the place: ``{got}``, ``{wanted}`` and their difference, ``{gap}``.
        tolerance: a difference that is forgiven.

    Example:
        >>> sums, told = torch.tensor([1.0, 1.84]), "sum to {got}"
        >>> same(sums, torch.ones(2), "the weights", ("query",), told=told)
        no: the weights of query 1 sum to 1.84.
        >>> same(torch.ones(2), torch.ones(3), "the context", ("query",))
        no: the context must have shape (3,); got (2,).
    """
    if got.shape != wanted.shape:
        return wrong_shape(what, wanted.shape, got)
    close = torch.isclose(got, wanted, rtol=0, atol=tolerance)
    if close.all():
        return YES
    gaps = (got - wanted).abs().nan_to_num(nan=torch.inf).masked_fill(close, -1)
    index = [int(i) for i in torch.unravel_index(gaps.argmax(), gaps.shape)]
    place = [f"{axis} {i}" for axis, i in zip(axes, index, strict=False)]
    one, other = got[tuple(index)].item(), wanted[tuple(index)].item()
    numbers = {"got": one, "wanted": other, "gap": abs(one - other)}
    said = told.format(**{name: f"{x:.3g}" for name, x in numbers.items()})
    return Answer("mathematics", f"{what} of {' of '.join(place[::-1])} {said}.")


def equal(got: Tensor, wanted: Tensor, tolerance: float = 1e-12) -> bool:
    """Tell whether two tensors have one shape and the same numbers, or ``nan`` at the same places.

    Example:
        >>> equal(torch.ones(2), torch.ones(2) + 1e-3), equal(torch.ones(2), torch.ones(1))
        (False, False)
    """
    is_close = got.shape == wanted.shape
    return is_close and torch.allclose(
        got, wanted, rtol=0, atol=tolerance, equal_nan=True
    )


def wrong_shape(what: str, wanted: Iterable[object], got: Tensor) -> Answer:
    """Say which shape was wanted, and which came.

    Example:
        >>> wrong_shape("the context", (3, 5, "E"), torch.ones(3, 6))
        no: the context must have shape (3, 5, E); got (3, 6).
    """
    shape = ", ".join(map(str, wanted))
    shape = f"({shape})" if "," in shape or not shape else f"({shape},)"
    return Answer(
        "shape", f"{what} must have shape {shape}; got {tuple(got.shape)}."
    )


def _holds(explains: Callable[[], bool]) -> bool:
    """Tell whether there is evidence; a test that cannot be made gives none."""
    try:
        return bool(explains())
    except (RefusedError, *STOPS):
        return False
