"""What attention costs: two parts of a softmax, merged into one."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial, wraps
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import asked, compared, drawn, likely, numbers
from selfattn_book.properties.answer import YES, Answer, RefusedError, all_of
from selfattn_book.properties.calls import missing

Part = tuple[Tensor, Tensor, Tensor]  # highest (T, 1), total (T, 1), mixture (T, E)
Merge = Callable[[Part, Part], Any]
Formula = Callable[[Part, Part], Tensor]
NAMES = ("highest", "total", "mixture")
CUTS = ((3, 7, 4, 2), (5, 6, 1, 3))  # queries, keys, keys in the left part, width


def part_of(scores: Tensor, values: Tensor) -> Part:
    """Return what one pass keeps of some keys."""
    highest = scores.amax(-1, keepdim=True)
    shares = (scores - highest).exp()
    return highest, shares.sum(-1, keepdim=True), shares @ values


def problem(cut: tuple[int, int, int, int], size: float = 1.0) -> list[Part]:
    """Return the parts of the left keys and of the right keys, and that of all."""
    queries, keys, left, width = cut
    scores = size * drawn(queries, keys, seed=81)
    # Each side has the higher score in some of the rows.
    scores[::2, 0] += 3 * size
    scores[1::2, -1] += 3 * size
    values = drawn(keys, width, seed=82)
    sides = slice(None, left), slice(left, None), slice(None)
    return [part_of(scores[:, side], values[side]) for side in sides]


def merged(merge: Merge, left: Part, right: Part) -> dict[str, Tensor]:
    """Return what an answer makes of two parts, by name, if it may be such a thing."""
    made = asked(lambda *six: merge(six[:3], six[3:]), *left, *right)
    try:
        three = list(made)  # type: ignore[call-overload]
    except TypeError:
        raise RefusedError(missing("return highest, total and mixture", made)) from None
    if len(three) != 3:
        message = "it must return three things, highest, total and mixture"
        raise RefusedError(Answer("shape", f"{message}; got {len(three)}."))
    return {
        name: numbers(own, f"the {name}", tuple(like.shape))
        for name, own, like in zip(NAMES, three, left, strict=True)
    }


def of_each_cut(
    ask: Callable[[Merge, list[Part]], Answer],
) -> Callable[[Merge], Answer]:
    """Ask about parts of several sizes."""

    @wraps(ask)
    def asked_of_all(merge: Merge) -> Answer:
        return all_of(ask(merge, problem(cut)) for cut in CUTS)

    return asked_of_all


def compares(name: str) -> Callable[[Merge], Answer]:
    """Ask for one of the three."""

    @of_each_cut
    def ask(merge: Merge, parts: list[Part]) -> Answer:
        left, right, whole = parts
        found = merged(merge, left, right)[name]
        wanted = dict(zip(NAMES, whole, strict=True))[name]
        no = compared(found, wanted, f"the {name}", ("query",))
        wrong = {said: make(left, right) for said, make in MISTAKES[name].items()}
        return no.because(*likely(found, wrong))

    return ask


@of_each_cut
def is_a_part(merge: Merge, parts: list[Part]) -> Answer:
    """Ask for three tensors of the right shapes, which they are if they can be asked."""
    merged(merge, *parts[:2])
    return YES


def bears_large_scores(merge: Merge) -> Answer:
    """Ask with scores whose exponentials no format can hold."""
    return all_of(_with_large_scores(merge))


def _with_large_scores(merge: Merge) -> Iterable[Answer]:
    left, right, whole = problem(CUTS[0], 1e3)
    for low in (0.0, 1e5):
        one, other = ((x[0] - low, x[1], x[2]) for x in (left, right))
        found = merged(merge, one, other)
        size = f"{float(one[0].abs().max()):.2g}"
        for name, wanted in list(zip(NAMES, whole, strict=True))[1:]:
            message = "is {got}, not {wanted}"
            what = f"with scores up to {size}, the {name}"
            no = compared(found[name], wanted, what, ("query",), message=message)
            kept_finite = found[name].isfinite().all() and found["total"].all()
            lost = partial(bool, not kept_finite)
            yield no.because(("An exponential was taken of a bare score.", lost))


def bears_an_empty_part(merge: Merge) -> Answer:
    """Ask with a part that has seen no key: it must change nothing, on either side."""
    return all_of(_with_an_empty_part(merge))


def _with_an_empty_part(merge: Merge) -> Iterable[Answer]:
    *_, whole = problem(CUTS[0])
    least = torch.finfo(whole[0].dtype).min
    empty = torch.full_like(whole[0], least), 0 * whole[1], 0 * whole[2]
    for left, right in ((empty, whole), (whole, empty), (empty, empty)):
        wanted = empty if left is right else whole
        found = merged(merge, left, right)
        for name, own in zip(NAMES[1:], wanted[1:], strict=True):
            what = f"beside a part that has seen nothing, the {name}"
            yield compared(found[name], own, what, ("query",))


def _shrink(left: Part, right: Part) -> tuple[Tensor, Tensor]:
    higher = torch.maximum(left[0], right[0])
    return (left[0] - higher).exp(), (right[0] - higher).exp()


def _sums(i: int) -> Mapping[str, Formula]:
    """Return what mistakes make of the totals, or of the mixtures."""
    return {
        "Both parts were added as they are: the one with the lower scores must shrink.": (
            lambda x, y: x[i] + y[i]
        ),
        "Only the left part shrinks; the right one may have the lower scores, too.": (
            lambda x, y: _shrink(x, y)[0] * x[i] + y[i]
        ),
        "Only the right part shrinks; the left one may have the lower scores, too.": (
            lambda x, y: x[i] + _shrink(x, y)[1] * y[i]
        ),
        "The exponents have the wrong sign: the parts grow instead of shrinking.": (
            lambda x, y: x[i] / _shrink(x, y)[0] + y[i] / _shrink(x, y)[1]
        ),
        "The factors are exchanged: each part shrinks by the other's.": (
            lambda x, y: _shrink(x, y)[1] * x[i] + _shrink(x, y)[0] * y[i]
        ),
        "The parts shrink in proportion to their scores, not by an exponential.": (
            lambda x, y: (
                x[0] / torch.maximum(x[0], y[0]) * x[i] + y[0] / torch.maximum(x[0], y[0]) * y[i]
            )
        ),
    }


def _mean(left: Part, right: Part) -> Tensor:
    a, b = _shrink(left, right)
    return (a * left[2] + b * right[2]) / (a * left[1] + b * right[1])


MISTAKES: dict[str, Mapping[str, Formula]] = {
    "highest": {
        "The scores are not added; the higher one is kept.": lambda x, y: x[0] + y[0],
        "This is the lower one.": lambda x, y: torch.minimum(x[0], y[0]),
        "One number was taken for all queries; each has its own.": (
            lambda x, y: torch.maximum(x[0], y[0]).max().expand_as(x[0])
        ),
        "This is always the left one's.": lambda x, y: x[0],
        "This is always the right one's.": lambda x, y: y[0],
    },
    "total": _sums(1),
    "mixture": {
        **_sums(2),
        "The mixture is a sum; it is divided by the total at the very end.": _mean,
        "These are the means of the two parts, added.": (lambda x, y: x[2] / x[1] + y[2] / y[1]),
        "This is the mean of two means: each part counts as much as its total.": (
            lambda x, y: (x[2] / x[1] + y[2] / y[1]) / 2
        ),
    },
}
SECTION = "cost.html#a-softmax-that-never-sees-its-whole-row"

EXERCISES = [
    Exercise(
        "merge",
        "def merge(left, right):\n    highest, total, mixture = left\n    ...",
        [
            Asked("it returns highest, total and mixture", is_a_part, SECTION),
            Asked("the higher score is kept", compares("highest"), SECTION),
            Asked("the totals are added to one scale", compares("total"), SECTION),
            Asked(
                "the mixtures are added to one scale",
                compares("mixture"),
                SECTION,
                points=2,
            ),
            Asked("large scores do no harm", bears_large_scores, SECTION),
            Asked(
                "a part that has seen nothing changes nothing",
                bears_an_empty_part,
                SECTION,
            ),
        ],
    )
]
check = checker(EXERCISES)
