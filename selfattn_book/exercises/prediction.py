"""Autoregressive decoding: one step of a stack of layers with KV caches."""

import torch

from selfattn_book.cache import KeyValueCache
from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn, tensor_of
from selfattn_book.exercises.checking.results import Described
from selfattn_book.exercises.checking.views import first, second
from selfattn_book.experiments.seeding import set_seed
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention
from selfattn_book.properties.answer import RefusedError
from selfattn_book.properties.calls import missing


def caches_of(layers):
    return [KeyValueCache() for _ in layers]


@factory
def case(layers):
    set_seed(5)
    stack = [MultiHeadAttention(6, 2) for _ in range(layers)]
    message = f"a stack of {layers} {'layer' if layers == 1 else 'layers'}"
    return Described(stack, message), drawn(2, 5, 6, seed=6)


def newest(step, layers, x, caches):
    returned = step(list(layers), x.clone(), caches)
    if isinstance(returned, tuple):
        raise RefusedError(missing("return the newest output alone", returned))
    return tensor_of(returned, "the newest output")


@factory
def in_steps(step, layers, x):
    """Return the program for the outputs of all steps, and the lengths of the caches after each."""
    caches, outputs, lengths = caches_of(layers), [], []
    for t in range(x.size(1)):
        outputs.append(newest(step, layers, x[:, t : t + 1], caches))
        lengths.append([len(cache) for cache in caches])
    return torch.cat(outputs, dim=1), torch.tensor(lengths)


@factory
def in_turn(step, layers, x):
    """Return the program for the outputs of two sequences that take turns."""
    caches = caches_of(layers), caches_of(layers)
    turns = [
        [newest(step, layers, sign * x[:, t : t + 1], caches[i]) for i, sign in enumerate((1, -1))]
        for t in range(x.size(1))
    ]
    return tuple(torch.cat(outputs, dim=1) for outputs in zip(*turns, strict=True))


def through(
    select=lambda caches, i: caches[i],
    inputs=lambda below, point: (below, below, below),
    output=lambda below, out: out,
):
    """Return the step through all layers, with these caches, inputs and outputs."""

    def step(layers, newest, caches):
        below = newest
        for i, layer in enumerate(layers):
            below = output(below, layer(*inputs(below, newest), cache=select(caches, i))[0])
        return below

    return step


right = through()


def of_layers(change, caches=None):
    """Return the step through changed layers, and their caches changed in the same way."""
    return lambda layers, x, kept: right(change(layers), x, (caches or change)(kept))


def alone(layers, newest, caches):
    right(layers, newest, caches)
    return through(lambda caches, i: None)(layers, newest, caches)


def kept_elsewhere():
    """Return the step with caches of its own, until those that it is given are empty."""
    own: list[KeyValueCache] = []

    def step(layers, newest, caches):
        if not len(caches[0]):
            own[:] = caches_of(layers)
        right(layers, newest, caches)
        return right(layers, newest, own)

    return step


def first_output(layers, newest, caches):
    below = right(layers[:1], newest, caches)
    right(layers[1:], below, caches[1:])
    return below


def twice(layers, newest, caches):
    right(layers, newest, caches)
    return right(layers, newest, caches)


def summed(layers, newest, caches):
    outputs = [newest]
    for layer, cache in zip(layers, caches, strict=True):
        outputs.append(layer(*[outputs[-1]] * 3, cache=cache)[0])
    return torch.stack(outputs[1:]).sum(0)


def masked(layers, newest, caches):
    for layer, cache in zip(layers, caches, strict=True):
        mask = causal_mask(1, len(cache) + 1)
        newest, _ = layer(newest, newest, newest, mask, cache=cache, need_weights=False)
    return newest


HERE = "prediction.html#exercises"
CACHE = "prediction.html#the-kv-cache"
ERRORS = "prediction-deeper.html#when-a-cache-is-wrong"
QUESTIONS = [
    Question("it returns the newest output alone", HERE, view=form),
    Question("each layer's cache grows by one key per step", CACHE, view=second, cases=[case(2)]),
    Question("each output is that of one pass over all points", CACHE, 2, first, [case(2)]),
    Question("a stack of one layer or of three works, too", CACHE, 1, first, [case(3), case(1)]),
    Question("a sequence with new caches begins anew", ERRORS, via=in_turn, cases=[case(2)]),
]
WRONG = {
    "One cache serves all layers: each then attends to the keys of the others.": (
        through(lambda caches, i: caches[0]),
        through(lambda caches, i: caches[-1]),
    ),
    "Nothing is kept in these caches: a layer keeps keys only in a cache that it is given.": (
        through(lambda caches, i: None)
    ),
    "Each layer is called twice in a step.": twice,
    "Only one of the two caches is used.": (
        through(lambda caches, i: caches[i] if i == 0 else None),
        through(lambda caches, i: caches[i] if i == len(caches) - 1 else None),
    ),
    "Each point attends only to itself: earlier points have no effect.": alone,
    "The layers are in the wrong order.": (
        of_layers(lambda both: both[::-1]),
        of_layers(lambda layers: layers[::-1], lambda caches: caches),
    ),
    "The input of each layer is the newest point, not the output of the layer below.": (
        through(inputs=lambda below, point: (point, point, point))
    ),
    "The output is that of the first layer, not of the last.": first_output,
    "The input is added to the output: these layers have no residual connection.": (
        through(output=lambda below, out: below + out)
    ),
    "Queries come from the layer below, but keys and values from the newest point.": (
        through(inputs=lambda below, point: (below, point, point))
    ),
    "Keys and values come from the layer below, but queries from the newest point.": (
        through(inputs=lambda below, point: (point, below, below))
    ),
    "Queries and keys come from the layer below, but values from the newest point.": (
        through(inputs=lambda below, point: (below, below, point))
    ),
    "One layer is used in place of all of them.": (
        of_layers(lambda layers: layers[:1] * len(layers), lambda caches: caches)
    ),
    "The newest point is added to the last output: there is no residual connection.": (
        lambda layers, x, caches: x + right(layers, x, caches)
    ),
    "The outputs of the layers are added up.": summed,
    "The number of layers is fixed at two.": (
        of_layers(lambda both: both[:2]),
        of_layers(lambda both: [both[0], both[1]]),
    ),
    "Something is kept from call to call outside of the caches.": kept_elsewhere(),
}
EXERCISE = Exercise(
    "def step(layers, newest, caches):\n    ...",
    QUESTIONS,
    right=right,
    wrong=WRONG,
    cases=[case(2), case(3), case(1)],
    unusual={"a mask": masked},
    returns=("the outputs", "the lengths of the caches"),
    via=in_steps,
)
check = EXERCISE.check
