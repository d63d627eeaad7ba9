"""Who hears whom: which output moves with which point, and what a pattern of this tells of a mask."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from selfattn_book.exercises.checking.modules import WIDTH
from selfattn_book.exercises.checking.numbers import drawn, tolerance
from selfattn_book.properties.answer import YES, Answer, Likely

CAUSAL = "A causal mask is for a decoder: here each point may see all the others."
CAUSAL_MEMORY = "The causal mask of the target lies over the memory, all of which may be seen."

MANY = 200  # points that are all alike


def is_outvoted(model: Callable[[Tensor], Tensor], what: str, name: str) -> Answer:
    """Ask that of one point behind many that are all alike, next to nothing is left at its place.

    An average can do no other, whatever its weights are, as long as all scores are small.

    Args:
        model: given points ``(B, S, 6)``, returns what it makes of them, ``(B, S, 6)``.
        what: it returns, in words.
        name: of what carries a point past the average, if it is not that each hears itself alone.
    """
    one, other = 0.3 * drawn(2, 8, 1, WIDTH, seed=5)
    together = torch.cat([other.expand(-1, MANY, -1), one], dim=1)
    alike = (x.expand(-1, MANY + 1, -1) for x in (one, other))
    own, alone, theirs = (model(x)[:, -1].double() for x in (together, *alike))
    left = ((own - theirs).norm() / (alone - theirs).norm().clamp(min=1e-9)).item()
    if left < 0.05:
        return YES
    message = (
        f"of one point behind {MANY} others, all alike, {what} keeps {left:.0%} of what it is alone"
    )
    no = Answer("mathematics", f"{message}; an average leaves about 1 in {MANY}.")
    return no.because((name, lambda: bool(hears(model, drawn(8, 4, WIDTH, seed=5))[-1].all())))


def hears(model: Callable[[Tensor], Tensor], source: Tensor) -> Tensor:
    """Return which output moves with which source point, in any of the samples, ``(T, S)``.

    Example:
        >>> hears(lambda x: x.cumsum(1), torch.ones(1, 3, 2)).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
    """
    before, columns = model(source), []
    for place in range(source.size(1)):
        other = source.clone()
        other[:, place] = -source[:, place]
        gap = (model(other) - before).abs().amax((0, 2))
        columns.append(gap > tolerance(before) / 10)
    return torch.stack(columns, dim=1)


def of_points(heard: Tensor) -> list[Likely]:
    """Return what can be behind points of a source that do not all hear each other, ``(S, S)``."""
    last = "The last point is hidden: the padding mask begins one place too early."
    return [
        (CAUSAL, _is(heard, torch.tril)),
        (
            "Each point sees what comes after it: a causal mask, and transposed.",
            _is(heard, torch.triu),
        ),
        (
            "Each point hears only itself.",
            _is(heard, lambda every: every.tril().triu()),
        ),
        (last, lambda: not heard[:-1, -1].any() and bool(heard[:, :-1].all())),
    ]


NO_CAUSAL_MASK = "Every point sees every other: there is no causal mask, or it hides nothing."
SHIFTED_TWICE = "The target is shifted by one more place, and it came shifted."
TOO_WIDE = "Each point sees one point of its future: the mask is one diagonal too wide."


def of_targets(heard: Tensor) -> list[Likely]:
    """Return what can be behind points of a target that are heard or not, ``(T, T)``."""
    rows = heard[heard.any(1)]  # that hear anything
    return [
        (NO_CAUSAL_MASK, lambda: len(rows) > 1 and bool(rows.all())),
        (SHIFTED_TWICE, _is(heard, partial(torch.tril, diagonal=-1))),
        (TOO_WIDE, _is(heard, partial(torch.tril, diagonal=1))),
        (
            "What comes later is seen, and what comes before is not: the mask is transposed.",
            _is(heard, torch.triu),
        ),
        (
            "Each point sees only itself: no attention goes back.",
            _is(heard, lambda every: every.tril().triu()),
        ),
        (
            "The target plays no part: its states are the queries of the second attention.",
            lambda: not heard.any(),
        ),
    ]


def of_memory(heard: Tensor) -> list[Likely]:
    """Return what can be behind states of a memory that are not heard, ``(T, S)``."""
    last = "The last state is hidden: the padding mask begins one place too early."
    return [
        ("The memory plays no part.", lambda: not heard.any()),
        (CAUSAL_MEMORY, _is(heard, torch.tril)),
        (last, lambda: not heard[:, -1].any() and bool(heard[:, :-1].all())),
    ]


def _is(heard: Tensor, pattern: Callable[[Tensor], Tensor]) -> Callable[[], bool]:
    """Return whether exactly those are heard that a pattern leaves of all."""
    return lambda: torch.equal(heard, pattern(torch.ones_like(heard)))
