"""An encoder from attention: one that is put together from PyTorch's parts."""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.modules import (
    WIDTH,
    Built,
    Kind,
    after,
    built,
    of_batches,
    of_mixing,
    says_it_twice,
)
from selfattn_book.exercises.checking.numbers import compared, drawn, near, tolerance
from selfattn_book.exercises.checking.padding import (
    INVERTED,
    LENGTHS,
    Padded,
    has_no_say,
    has_no_share,
)
from selfattn_book.exercises.checking.parameters import has_the_parameters
from selfattn_book.exercises.checking.sight import hears, is_outvoted, of_points
from selfattn_book.exercises.checking.small_network import has_one_relu
from selfattn_book.properties.answer import YES, Answer, RefusedError

WHAT = "the states"
PAST = "A residual path carries the point past the attention."
MEAN = "Each point gets the same mean of all points: its query has no part in the weights."


def returns_states(kind: Kind) -> Answer:
    """Ask for one state for each point, and the same ones again."""
    model = built(kind, WHAT)
    try:
        return says_it_twice(model, points(), torch.tensor(LENGTHS))
    except RefusedError as refused:
        shape = (3, 5, WIDTH)
        no = refused.answer
        if no.kind == "exception":
            no = no.because(of_batches(model, shape))
        raise RefusedError(no) from refused


@after(returns_states)
def are_numbers(kind: Kind) -> Answer:
    """Ask that no state is not a number."""
    states = built(kind, WHAT)(points(), torch.tensor(LENGTHS))
    wrong = ~states.isfinite().all(-1)  # (B, S)
    if not wrong.any():
        return YES
    sample, place = wrong.nonzero()[0].tolist()
    message = f"the state of point {place} of sample {sample} holds nan or infinity"
    no = Answer("mathematics", f"{message}; its source has {LENGTHS[sample]} points of 5.")
    real = torch.arange(5) < torch.tensor(LENGTHS)[:, None]
    heard = heard_points(kind)
    return no.because(
        (
            f"{INVERTED} For nn.MultiheadAttention `True` means ignore.",
            lambda: bool(wrong[0].all() and not wrong[1:].any()),
        ),
        *of_points(heard),
        (
            "It is padding that may not ask: the mask lies over queries, and keys are to be hidden.",
            lambda: torch.equal(wrong, ~real),
        ),
    )


def reads_full_sources(kind: Kind) -> Answer:
    """Ask for numbers where nothing is padding; what is not one has its reason above."""
    model = built(kind, WHAT)
    no = returns_states(kind)
    if no and not of_full_sources(model)(points()).isfinite().all():
        return are_numbers(kind)
    return no


def heard_points(kind: Kind) -> Tensor:
    """Return which state moves with which point, where nothing is padding."""
    model = of_full_sources(built(kind, WHAT, seed=5))
    return hears(model, drawn(8, 5, WIDTH, seed=5))


@after(reads_full_sources)
def samples_are_apart(kind: Kind) -> Answer:
    """Ask the first sample alone, whose source is full."""
    model = built(kind, WHAT)
    together = model(points(), torch.tensor(LENGTHS))[:1]
    alone = model(points()[:1], torch.tensor(LENGTHS[:1]))
    message = "moves by {gap} when sample 0 is alone"
    no = compared(together, alone, "the state", ("sample", "point"), message=message)
    return no.because(of_mixing(of_full_sources(model), points()))


@after(returns_states)
def padding_has_no_say(kind: Kind) -> Answer:
    """Ask with other numbers in the padding."""
    return has_no_say(padded(kind), (MEAN, lambda: asks_for_a_mean(kind)))


@after(samples_are_apart)
def padding_has_no_share(kind: Kind) -> Answer:
    """Ask each short source alone."""
    return has_no_share(padded(kind), (MEAN, lambda: asks_for_a_mean(kind)))


def padded(kind: Kind) -> Padded:
    """Let the encoder read padded sources."""
    model = built(kind, WHAT)
    return Padded(
        lambda x, n, _: model(x, n),
        drawn(3, 5, WIDTH, seed=3),
        "the state",
        own=True,
    )


@after(reads_full_sources)
def each_hears_all(kind: Kind) -> Answer:
    """Ask which point moves which state."""
    heard = heard_points(kind)
    if heard.all():
        return YES
    state, point = (~heard).nonzero()[0].tolist()
    message = f"the state of point {state} does not move with point {point}."
    return Answer("mathematics", message).because(*of_points(heard))


@after(reads_full_sources)
def each_asks_for_itself(kind: Kind) -> Answer:
    """Ask that different points get different states."""
    states = of_full_sources(built(kind, WHAT))(10 * points())
    spread = (states - states[:, :1]).abs().amax()
    if not spread <= tolerance(states):
        return YES
    message = "the states of five different points are all the same."
    return Answer("mathematics", message).because((MEAN, lambda: True))


def asks_for_a_mean(kind: Kind) -> bool:
    """Tell whether all states of a source are the same."""
    return each_asks_for_itself(kind).misconception == MEAN


@after(reads_full_sources)
def the_many_outvote(kind: Kind) -> Answer:
    """Ask for one point behind many others that are all alike."""
    model = of_full_sources(built(kind, WHAT))
    return is_outvoted(model, "the state", PAST)


@after(reads_full_sources)
def places_do_not_matter(kind: Kind) -> Answer:
    """Ask for the points in another order."""
    model, x = of_full_sources(built(kind, WHAT, seed=5)), points()
    order = [3, 0, 4, 1, 2]
    message = "moves by {gap} when the points come in another order"
    no = compared(
        model(x[:, order]),
        model(x)[:, order],
        "a state",
        ("sample", "point"),
        message=message,
    )
    equal = model(x[:, :1].expand(-1, 5, -1))
    return no.because(
        *of_points(heard_points(kind)),
        (
            "Equal points get unequal states: a table of positions is added.",
            lambda: not near(equal, equal[:, :1].expand_as(equal)),
        ),
        (
            "Equal points get equal states: the states are not those of the points at their place.",
            lambda: near(equal, equal[:, :1].expand_as(equal)),
        ),
    )


def sizes_are_right(kind: Kind) -> Answer:
    """Ask for the inner width, the heads, and all that is learned."""
    return has_the_parameters(kind, WHAT, 1, points(), torch.tensor(LENGTHS))


@after(samples_are_apart)
def one_relu_bends_it(kind: Kind) -> Answer:
    """Ask for the small network behind the attention."""
    return has_one_relu(
        kind,
        WHAT,
        lambda model, x: of_full_sources(model)(x)[:, 0],
        lambda model: of_full_sources(model)(drawn(8, 5, WIDTH, seed=5)),
    )


def of_full_sources(model: Built) -> Callable[[Tensor], Tensor]:
    """Return an encoder as a function of sources without padding."""
    return lambda x: model(x, torch.full((len(x),), x.size(1)))


def points() -> Tensor:
    """Draw the points of three sources."""
    return 3 * drawn(3, 5, WIDTH, seed=3)


STUB = """\
class OwnEncoder(torch.nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        ...

    def forward(self, source, lengths):
        ..."""
ENCODER = "encoder.html#the-encoder"
BY_HAND = "encoder.html#two-inputs-by-hand"
LENGTHS_DIFFER = "encoder.html#sources-of-different-lengths"
NO_ORDER = "encoder.html#which-corner-came-first"
QUESTIONS = [
    Asked("it returns one state for each point", returns_states, ENCODER),
    Asked("each state is made of numbers", are_numbers, LENGTHS_DIFFER),
    Asked("each sample stands by itself", samples_are_apart, ENCODER),
    Asked("padding has no say", padding_has_no_say, LENGTHS_DIFFER),
    Asked("padding has no share", padding_has_no_share, LENGTHS_DIFFER),
    Asked("each point hears all points", each_hears_all, BY_HAND, points=2),
    Asked("each point asks for itself", each_asks_for_itself, BY_HAND),
    Asked("one point among many alike is outvoted", the_many_outvote, BY_HAND),
    Asked("places do not matter", places_do_not_matter, NO_ORDER),
    Asked("it has the weights of the equation", sizes_are_right, ENCODER),
    Asked("a ReLU stands between two layers", one_relu_bends_it, ENCODER, points=2),
]
EXERCISES = [Exercise("OwnEncoder", STUB, QUESTIONS)]
check = checker(EXERCISES)
