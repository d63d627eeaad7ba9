"""A decoder as a function of its target, or of its memory, and what can stop it."""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.course.modules import WIDTH, Built, Kind, built, of_batches, runs
from selfattn_book.course.numbers import drawn
from selfattn_book.course.sight import CAUSAL_MEMORY, hears
from selfattn_book.reasons.answer import Likely

WHAT = "the outputs"
SHORT, LONG = (3, 4, WIDTH), (3, 5, WIDTH)  # of targets and of memories


def reading(model: Built, states: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a decoder as a function of targets, with a memory without padding."""
    lengths = torch.full((len(states),), states.size(1))
    return lambda x: model(x, states, lengths)


def target() -> Tensor:
    """Draw the shifted targets of three samples."""
    return 3 * drawn(*SHORT, seed=7)


def memory() -> Tensor:
    """Draw the states of three sources."""
    return 3 * drawn(*LONG, seed=9)


def heard_targets(kind: Kind) -> Tensor:
    """Return which output moves with which target point, ``(T, T)``."""
    states = 3 * drawn(8, 5, WIDTH, seed=9)
    model = reading(built(kind, WHAT, seed=7), states)
    return hears(model, 3 * drawn(8, 4, WIDTH, seed=7))


def heard_states(kind: Kind) -> Tensor:
    """Return which output moves with which state, where there are five of both, ``(T, S)``."""
    model, x = built(kind, WHAT, seed=7), drawn(8, 5, WIDTH, seed=7)
    lengths = torch.full((8,), 5)
    return hears(lambda m: model(x, m, lengths), drawn(8, 5, WIDTH, seed=9))


def of_stops(kind: Kind, model: Built) -> list[Likely]:
    """Return what can stop a decoder whose target is shorter than its memory."""

    def runs_if_equal() -> bool:
        return runs(model, LONG, LONG)

    def hides_memory() -> bool:
        return torch.equal(heard_states(kind), torch.ones(5, 5).tril().bool())

    def hides_target() -> bool:
        x, lengths = drawn(8, 5, WIDTH, seed=7), torch.full((8,), 2)
        heard = hears(lambda x: model(x, drawn(8, 5, WIDTH, seed=8), lengths), x)
        return not heard[:, 2:].tril(-3).any() and bool(heard[2:, 0].all())

    return [
        (CAUSAL_MEMORY, lambda: runs_if_equal() and hides_memory()),
        (
            "The lengths of the sources hide points of the target.",
            lambda: runs_if_equal() and hides_target(),
        ),
        (
            "Target and memory stand side by side as keys and values: both are to be the memory.",
            runs_if_equal,
        ),
        of_batches(model, LONG, LONG),
    ]
