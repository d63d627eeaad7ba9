"""A decoder as a function of its target, or of its memory, and what can stop it."""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.exercises.checking.modules import (
    HEADS,
    WIDTH,
    Built,
    Kind,
    built,
    of_batches,
    runs,
)
from selfattn_book.exercises.checking.numbers import compared, drawn, near, tolerance
from selfattn_book.exercises.checking.sight import CAUSAL_MEMORY, hears, of_targets
from selfattn_book.properties.answer import YES, Answer, Likely

WHAT = "the outputs"
PAST = "A residual path carries the point past the self-attention."
HIDDEN_TARGET = "The lengths of the sources hide points of the target."
TURNED = "The target asks the memory first, and then looks back: it is the other way round."
SMALL = "Large points do not make large queries, as if a norm stood between."
LARGE = 1e6  # so much larger points make of each weight 0 or 1
SHORT, LONG = (3, 4, WIDTH), (3, 5, WIDTH)  # of targets and of memories


def reading(model: Built, states: Tensor, length: int = 0) -> Callable[[Tensor], Tensor]:
    """Return a decoder as a function of targets, with memories of one length, or without padding."""
    lengths = torch.full((len(states),), length or states.size(1))
    return lambda x: model(x, states, lengths)


def target() -> Tensor:
    """Draw the shifted targets of three samples."""
    return 3 * drawn(*SHORT, seed=7)


def memory() -> Tensor:
    """Draw the states of three sources."""
    return 3 * drawn(*LONG, seed=9)


def heard_targets(kind: Kind, length: int = 5) -> Tensor:
    """Return which output moves with which target point, ``(T, T)``, for memories of a length."""
    states = 3 * drawn(8, 5, WIDTH, seed=9)
    model = reading(built(kind, WHAT, seed=7), states, length)
    return hears(model, 3 * drawn(8, 6, WIDTH, seed=7))


def heard_states(kind: Kind) -> Tensor:
    """Return which output moves with which state, where there are five of both, ``(T, S)``."""
    model, x = built(kind, WHAT, seed=7), drawn(8, 5, WIDTH, seed=7)
    lengths = torch.full((8,), 5)
    return hears(lambda m: model(x, m, lengths), drawn(8, 5, WIDTH, seed=9))


def future_is_silent(kind: Kind) -> Answer:
    """Ask that no output moves with what comes later."""
    heard = heard_targets(kind)
    ahead = heard.triu(1)
    if not ahead.any():
        return YES
    output, point = ahead.nonzero()[0].tolist()
    message = f"the output of position {output} moves with target point {point}, which comes later."
    of_target = "The second attention has keys and values of the target; both are the memory's."
    return Answer("mathematics", message).because(
        (
            of_target,
            lambda: not heard_states(kind).any() or target_comes_back(kind),
        ),
        *of_targets(heard),
    )


def length_is_unknown(kind: Kind) -> Answer:
    """Ask that no output moves when what comes later is not there."""
    model = reading(built(kind, WHAT), memory())
    message = "moves by {gap} when the points behind it are left out"
    whole = model(target())[:, :2]
    return compared(
        model(target()[:, :2]),
        whole,
        "the output",
        ("sample", "position"),
        message=message,
    )


def past_is_heard(kind: Kind, length: int) -> Answer:
    """Ask that each output moves with the points up to its own, for memories of a length."""
    heard = heard_targets(kind, length)
    lost = ~heard & torch.ones_like(heard).tril()
    if not lost.any():
        return YES
    output, point = lost.nonzero()[0].tolist()
    message = f"the output of position {output} does not move with target point {point}"
    beside = f"{message}, where the source has {length} points."
    return Answer("mathematics", beside).because(
        (HIDDEN_TARGET, lambda: hides_target(kind)),
        (CAUSAL_MEMORY, lambda: hides_later_states(kind)),
        *of_targets(heard),
    )


def hides_later_states(kind: Kind) -> bool:
    """Tell whether the first output hears one state, the second two, and so on."""
    return torch.equal(heard_states(kind), torch.ones(5, 5).tril().bool())


def hides_target(kind: Kind) -> bool:
    """Tell whether a short memory hides target points from its length on."""
    model, x = built(kind, WHAT, seed=7), drawn(8, 5, WIDTH, seed=7)
    states = drawn(8, 5, WIDTH, seed=8)
    short, full = (hears(reading(model, states, n), x)[3:, 2] for n in (2, 5))
    return bool(full.all()) and not short.any()


def target_comes_back(kind: Kind) -> bool:
    """Tell whether an output moves with other target points where all states are equal."""
    states = drawn(8, 1, WIDTH, seed=9).expand(-1, 5, -1)
    heard = hears(reading(built(kind, WHAT, seed=7), states), drawn(8, 4, WIDTH, seed=7))
    return bool((heard & ~torch.eye(4, dtype=torch.bool)).any())


def order_of_states_matters(kind: Kind) -> bool:
    """Tell whether the states in another order make other outputs."""
    model, x, states = built(kind, WHAT), target(), memory()
    return not near(reading(model, states)(x), reading(model, states.flip(1))(x))


def equals_ask_alike(kind: Kind) -> Answer:
    """Ask that a target whose points are all equal gets equal outputs."""
    found = reading(built(kind, WHAT), memory())(target()[:, :1].expand(*SHORT))
    message = "is {gap} off that of position 0, and all target points are equal"
    axes, first = ("sample", "position"), found[:, :1].expand_as(found)
    places = "A table of positions is added to the target."
    no = compared(found, first, "the output", axes, message=message)
    return no.because((places, lambda: bool(future_is_silent(kind) and past_is_heard(kind, 5))))


def few_are_chosen(kind: Kind) -> Answer:
    """Ask that large queries choose a state for each head, however long the past is."""
    if not heard_targets(kind).any():
        return YES  # there are no queries, which another question tells
    model, x = built(kind, WHAT), LARGE * drawn(16, 8, WIDTH, seed=7)
    lengths, states = torch.full((16,), 8), drawn(16, 8, WIDTH, seed=9)
    once, moved = model(x, states, lengths), []
    for place in range(8):
        other = states.clone()
        other[:, place] *= 0.5
        gap = (model(x, other, lengths) - once).abs().amax(-1)
        moved.append(gap > tolerance(once))
    chosen = torch.stack(moved).sum(0).double().mean(0)  # (T,)
    message = "where target points are very large, the output of position {} hears {:.2g} states"
    most = f"a query of {HEADS} heads chooses {HEADS}"
    for place, said in ((0, SMALL), (7, TURNED)):
        if chosen[place] > 1.5 * HEADS:
            message = message.format(place, chosen[place])
            no = Answer("mathematics", f"{message} on average; {most}.")
            return no.because((said, lambda: True))
    return YES


def opposites_choose_opposites(kind: Kind) -> Answer:
    """Ask that points that choose the same states have opposites that do so, as lines do."""
    model = built(kind, WHAT)
    x = LARGE * drawn(64, 1, WIDTH, seed=7)
    read = reading(model, drawn(1, 2, WIDTH, seed=9).expand(64, -1, -1))
    outputs, others = read(x).flatten(1).double(), read(-x).flatten(1).double()
    same, also = (torch.cdist(y, y) < 1e-3 for y in (outputs, others))
    share = (same & ~also).sum().item() / same.sum().item()
    if share < 0.1:
        return YES
    message = (
        "where a target has one point, very large, some points choose the same states, "
        "and their opposites choose others"
    )
    bent = "Something bends the queries: a ReLU, or the small network, between the attentions."
    return Answer("mathematics", f"{message}.").because((bent, lambda: True))


def of_stops(kind: Kind, model: Built) -> list[Likely]:
    """Return what can stop a decoder whose target is shorter than its memory."""

    def runs_if_equal() -> bool:
        return runs(model, LONG, LONG)

    return [
        (CAUSAL_MEMORY, lambda: runs_if_equal() and hides_later_states(kind)),
        (HIDDEN_TARGET, lambda: runs_if_equal() and hides_target(kind)),
        (
            "Target and memory stand side by side as keys and values: both are to be the memory.",
            runs_if_equal,
        ),
        of_batches(model, LONG, LONG),
    ]
