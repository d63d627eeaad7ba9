"""Sources of different lengths in one batch: padding has neither a say nor a share."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from selfattn_book.exercises.checking.numbers import compared, near, tolerance
from selfattn_book.properties.answer import Answer, Likely, all_of

LENGTHS = (5, 2, 3)
UNUSED = "The lengths make no difference: with all points real, the answer is the same."
INVERTED = "The mask is inverted: padding is seen, and the rest is hidden."
LATE = "One padded point is seen: the mask begins one place too late."
WEAKENED = (
    "The mask weakens padding and does not hide it: numbers were added to the scores, "
    "or something was set to 0 behind them."
)
ZEROED = "Padding is set to 0, and not hidden: it still has its share of the attention."
COUNTS = "What padding holds is of no matter, but it counts."
Run = Callable[[Tensor, Tensor, list[int]], Tensor]


@dataclass(frozen=True)
class Padded:
    """A batch of padded sources, and somebody who reads it.

    Args:
        run: given sources, their lengths and which samples they are, returns outputs ``(B, T, D)``.
        source: ``(3, 5, D)``, with numbers in the padding.
        what: comes out, in words.
        own: whether each output belongs to a source point, so that those of padding do not count.
    """

    run: Run
    source: Tensor
    what: str
    own: bool

    def outputs(self, source: Tensor, lengths: tuple[int, ...] = LENGTHS) -> list[Tensor]:
        """Return the outputs of the padded samples that count."""
        found = self.run(source, torch.tensor(lengths), [0, 1, 2])
        return [found[b, :n] if self.own else found[b] for b, n in SHORT]

    def moves(self, b: int, place: int) -> Tensor:
        """Return which outputs of a sample a source point moves, without its own."""
        other = self.source.clone()
        other[b, place] = 9 - other[b, place]
        once, again = (self.outputs(x)[b - 1] for x in (self.source, other))
        moved = (again - once).abs().amax(-1) > tolerance(once) / 10
        rows = torch.arange(len(moved))
        return moved[rows != place] if self.own else moved


SHORT = [(b, n) for b, n in enumerate(LENGTHS) if n < max(LENGTHS)]


def has_no_say(padded: Padded, *likely: Likely) -> Answer:
    """Ask with other numbers in the padding; what is likely beside the usual comes first."""
    other = padded.source.clone()
    for b, n in SHORT:
        other[b, n:] = 9 - other[b, n:]
    once, again = padded.outputs(padded.source), padded.outputs(other)
    message = "of sample {} moves by {{gap}} when other numbers stand in its padding"
    return all_of(
        compared(after, before, padded.what, ("place",), message=message.format(b))
        for (b, _), before, after in zip(SHORT, once, again, strict=True)
    ).because(*likely, *_of_say(padded))


def _of_say(padded: Padded) -> list[Likely]:
    def is_unused() -> bool:
        full = padded.outputs(padded.source, (5, 5, 5))
        return all(map(near, padded.outputs(padded.source), full))

    def moves(*places: int) -> list[bool]:
        return [bool(padded.moves(2, place).any()) for place in places]

    def is_weakened() -> bool:
        return all(bool(padded.moves(2, place).all()) for place in (0, 1, 3, 4))

    return [
        (UNUSED, is_unused),
        (INVERTED, lambda: all(moves(3, 4)) and not any(moves(0, 1, 2))),
        (LATE, lambda: moves(3, 4) == [True, False]),
        (WEAKENED, is_weakened),
    ]


def has_no_share(padded: Padded, *likely: Likely) -> Answer:
    """Ask each short source alone, without padding; what is likely comes first."""
    message = "of sample {} moves by {{gap}} when its source stands alone, without padding"
    together = padded.outputs(padded.source)
    return all_of(
        compared(
            found,
            padded.run(padded.source[b : b + 1, :n], torch.tensor([n]), [b])[0],
            padded.what,
            ("place",),
            message=message.format(b),
        )
        for (b, n), found in zip(SHORT, together, strict=True)
    ).because(*likely, *_of_share(padded), *_of_say(padded))


def _of_share(padded: Padded) -> list[Likely]:
    zeros = padded.source.clone()
    for b, n in SHORT:
        zeros[b, n:] = 0

    def is_zeroed() -> bool:
        full = padded.outputs(zeros, (5, 5, 5))
        return all(map(near, padded.outputs(padded.source), full))

    return [
        (ZEROED, lambda: bool(has_no_say(padded)) and is_zeroed()),
        (COUNTS, lambda: bool(has_no_say(padded))),
    ]
