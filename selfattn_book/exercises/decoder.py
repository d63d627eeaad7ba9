"""A decoder: one that is put together from PyTorch's parts."""

from dataclasses import replace

import torch
from torch import Tensor

from selfattn_book.exercises.checking.decoding import (
    HIDDEN_TARGET,
    LONG,
    PAST,
    WHAT,
    equals_ask_alike,
    few_are_chosen,
    future_is_silent,
    heard_states,
    hides_target,
    length_is_unknown,
    memory,
    of_stops,
    opposites_choose_opposites,
    order_of_states_matters,
    past_is_heard,
    reading,
    target,
)
from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.modules import (
    WIDTH,
    Built,
    Kind,
    after,
    built,
    of_mixing,
    says_it_twice,
)
from selfattn_book.exercises.checking.numbers import compared, drawn
from selfattn_book.exercises.checking.padding import (
    INVERTED,
    LENGTHS,
    Padded,
    has_no_say,
    has_no_share,
)
from selfattn_book.exercises.checking.parameters import has_the_parameters
from selfattn_book.exercises.checking.sight import hears, is_outvoted, of_memory
from selfattn_book.exercises.checking.small_network import has_one_relu
from selfattn_book.properties.answer import (
    YES,
    Answer,
    RefusedError,
    all_of,
)

AXES = ("sample", "position")


def returns_outputs(kind: Kind) -> Answer:
    """Ask for one output for each target point, and the same ones again."""
    model = built(kind, WHAT)
    try:
        return says_it_twice(model, target(), memory(), torch.tensor(LENGTHS))
    except RefusedError as refused:
        no = refused.answer
        if no.kind == "shape":
            no = no.because(
                (
                    "There is one for each state: the queries are the target's.",
                    lambda: f"got {LONG}" in no.reason,
                )
            )
        if no.kind == "exception":
            no = no.because(*of_stops(kind, model))
        raise RefusedError(no) from refused


@after(returns_outputs)
def are_numbers(kind: Kind) -> Answer:
    """Ask that no output is not a number."""
    model = built(kind, WHAT)
    found = model(target(), memory(), torch.tensor(LENGTHS))
    wrong = ~found.isfinite().all(-1)  # (B, T)
    if not wrong.any():
        return YES
    sample, place = wrong.nonzero()[0].tolist()
    message = f"the output of position {place} of sample {sample} holds nan or infinity"
    ignore = "For nn.MultiheadAttention `True` means ignore."
    return Answer("mathematics", f"{message}.").because(
        (
            f"{INVERTED} {ignore}",
            lambda: bool(wrong[0].all() and not wrong[1:].any()),
        ),
        (
            f"The causal mask is inverted: each point sees only what comes later. {ignore}",
            lambda: bool(wrong[:, -1].all()) and not wrong[1:, 0].any(),
        ),
        (
            "The mask hides a point from itself, and the first one sees nothing.",
            lambda: bool(wrong[:, 0].all()) and not wrong[:, 1:].any(),
        ),
    )


@after(are_numbers)
def samples_are_apart(kind: Kind) -> Answer:
    """Ask the first sample alone, whose source is full."""
    model, lengths = built(kind, WHAT), torch.tensor(LENGTHS)
    together = model(target(), memory(), lengths)[:1]
    alone = model(target()[:1], memory()[:1], lengths[:1])
    message = "moves by {gap} when sample 0 is alone"
    no = compared(together, alone, "the output", AXES, message=message)
    return no.because(of_mixing(reading(model, memory()), target()))


@after(are_numbers)
def nothing_looks_ahead(kind: Kind) -> Answer:
    """Ask what comes later to be without effect, whether it is another or not there."""
    return all_of((future_is_silent(kind), length_is_unknown(kind)))


@after(are_numbers)
def the_past_is_heard(kind: Kind) -> Answer:
    """Ask that each output moves with the points up to its own, however short its source is."""
    return all_of(past_is_heard(kind, length) for length in (5, 3))


@after(are_numbers)
def every_state_is_heard(kind: Kind) -> Answer:
    """Ask that each output moves with each state of the memory."""
    heard = heard_states(kind)
    if heard.all():
        return YES
    output, state = (~heard).nonzero()[0].tolist()
    message = f"the output of position {output} does not move with state {state}."
    return Answer("mathematics", message).because(*of_memory(heard))


@after(samples_are_apart)
def padding_has_no_say(kind: Kind) -> Answer:
    """Ask with other numbers in the padding."""
    return has_no_say(padded(kind), (HIDDEN_TARGET, lambda: hides_target(kind)))


@after(samples_are_apart)
def padding_has_no_share(kind: Kind) -> Answer:
    """Ask with each short memory alone."""
    return has_no_share(padded(kind), (HIDDEN_TARGET, lambda: hides_target(kind)))


def padded(kind: Kind) -> Padded:
    """Let the decoder ask padded memories."""
    model, x = built(kind, WHAT), target()
    return Padded(
        lambda m, n, samples: model(x[samples], m, n),
        memory(),
        "the output",
        own=False,
    )


@after(are_numbers)
def only_memory_comes_back(kind: Kind) -> Answer:
    """Ask with states that are all equal, so that there is nothing to choose."""
    model = built(kind, WHAT)
    equal = memory()[:, :1].expand(*LONG)
    found = reading(model, equal)(target())
    message = "is {gap} off that of position 0, and all states are equal"
    first = found[:, :1].expand_as(found)
    no = compared(found, first, "the output", AXES, message=message)
    return no.because(
        (
            "A table of positions is added to the memory.",
            lambda: order_of_states_matters(kind),
        ),
        (
            "The target itself is in what comes back: by a residual path, or as values.",
            lambda: bool(hears(reading(model, equal), target()).any()),
        ),
        (
            "Something counts the positions.",
            lambda: not hears(reading(model, equal), target()).any(),
        ),
    )


@after(only_memory_comes_back)
def queries_are_averages(kind: Kind) -> Answer:
    """Ask what the self-attention leaves of a point, and what its average then chooses."""
    states = 3 * drawn(8, 5, WIDTH, seed=9)
    read = reading(built(kind, WHAT), states)
    return (
        equals_ask_alike(kind)
        and is_outvoted(read, "the output", PAST)
        and few_are_chosen(kind)
        and opposites_choose_opposites(kind)
    )


def sizes_are_right(kind: Kind) -> Answer:
    """Ask for the inner width, the heads, and all that is learned."""
    inputs = target(), memory(), torch.tensor(LENGTHS)
    return has_the_parameters(kind, WHAT, 2, *inputs)


@after(samples_are_apart)
def one_relu_bends_it(kind: Kind) -> Answer:
    """Ask for the small network behind the attention, with one state that walks."""

    def walk(model: Built, states: Tensor) -> Tensor:
        return reading(model, states)(target()[:1, :1].expand(len(states), 1, WIDTH))[:, 0]

    def mixed(model: Built) -> Tensor:
        return reading(model, memory())(target())

    no = has_one_relu(kind, WHAT, walk, mixed)
    return no if only_memory_comes_back(kind) else replace(no, misconception="")


STUB = """\
class OwnDecoder(torch.nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        ...

    def forward(self, shifted, memory, lengths):
        ..."""
DECODER = "decoder.html#the-decoder"
CHEATING = "decoder.html#cheating"
DEPENDS = "decoder.html#what-depends-on-what"
LENGTHS_DIFFER = "decoder.html#what-if-the-sources-have-different-lengths"
QUESTIONS = [
    Asked("it returns one output for each target point", returns_outputs, DECODER),
    Asked("each output is made of numbers", are_numbers, DECODER),
    Asked("each sample stands by itself", samples_are_apart, DECODER),
    Asked("nothing looks ahead", nothing_looks_ahead, CHEATING, points=2),
    Asked("each output hears its past", the_past_is_heard, DEPENDS),
    Asked("each output hears every state", every_state_is_heard, DEPENDS),
    Asked("padding has no say", padding_has_no_say, LENGTHS_DIFFER),
    Asked("padding has no share", padding_has_no_share, LENGTHS_DIFFER),
    Asked("what comes back is made of the memory", only_memory_comes_back, DEPENDS),
    Asked("what asks is an average of the target", queries_are_averages, DECODER),
    Asked("it has the weights of the equation", sizes_are_right, DECODER),
    Asked("a ReLU stands between two layers", one_relu_bends_it, DECODER, points=2),
]
EXERCISES = [Exercise("OwnDecoder", STUB, QUESTIONS)]
check = checker(EXERCISES)
