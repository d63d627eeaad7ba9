"""Autoregressive decoding: a cache that forgets."""

from collections import deque
from functools import partial

import torch

from selfattn_book.exercises.checking.exercise import Question, checked, factory, for_credit
from selfattn_book.exercises.checking.numbers import normal, tensor_of
from selfattn_book.properties.answer import RefusedError, wrong_shape

CACHE = "prediction.html#the-kv-cache"
ERRORS = "prediction-deeper.html#when-a-cache-is-wrong"


def sequence(seed, length):
    return tuple(2 * x for x in normal(seed, (2, length, 3), (2, length, 3), (2, length, 5)))


def step_of(roll, step, cache):
    """Return the context of one step, or refuse another shape."""
    context = tensor_of(roll(*(x.clone() for x in step), cache), "the context")
    if context.shape != (2, 1, 5):
        raise RefusedError(wrong_shape("a context", (2, 1, 5), context))
    return context


def steps(case):
    return list(zip(*(x.split(1, 1) for x in case), strict=True))


@factory
def in_steps(roll, *case):
    cache = []
    return torch.cat([step_of(roll, step, cache) for step in steps(case)], 1)


@factory
def in_turn(roll, *case):
    caches = ([], [])
    pairs = zip(steps(case), steps(tuple(-x for x in case)), strict=True)
    found = [[step_of(roll, *x) for x in zip(pair, caches, strict=True)] for pair in pairs]
    return torch.cat([torch.cat(pair, -1) for pair in found], 1)


@factory
def sizes(roll, *case, most):
    """Return the program that tells after which steps a cache is small enough."""
    cache, small = [], []
    for step in steps(case):
        step_of(roll, step, cache)
        small.append(sum(x.numel() for x in tensors(cache)) <= most)
    return torch.tensor(small)


def tensors(held):
    if isinstance(held, dict):
        held = list(held.values())
    if isinstance(held, list | tuple | deque):
        return [x for one in held for x in tensors(one)]
    return [torch.as_tensor(held)] if hasattr(held, "shape") else []


def attend(query, pairs, divisor=3**0.5):
    key, value = (torch.cat(x, 1) for x in zip(*pairs, strict=True))
    return (query @ key.mT / divisor).softmax(-1) @ value


def kept(window, first):
    """Return what leaves the first pairs, and the newest of a window."""
    return lambda pairs: pairs[:first] + pairs[first:][-window:]


@factory
def rolled(keep, query, key, value, cache, **options):
    cache[:] = keep([*cache, (key, value)])
    return attend(query, cache, **options)


@factory
def seen(see, query, key, value, cache):
    """Return the program that keeps all pairs, and attends to some."""
    cache.append((key, value))
    return attend(query, see(cache))


def outside(window, first):
    """Return the program that keeps pairs outside of the cache, until one is empty."""
    pairs = []

    def roll(query, key, value, cache):
        pairs[:] = pairs if cache else []
        cache[:] = [key]
        return rolled(kept(window, first))(query, key, value, pairs)

    return roll


@factory
def with_deque(window, first, query, key, value, cache):
    begin, recent = cache or ([], deque(maxlen=window))
    if len(recent) == window and len(begin) < first:
        begin.append(recent[0])
    recent.append((key, value))
    cache[:] = begin, recent
    return attend(query, [*begin, *recent])


def exercises(numbers):
    window, first = numbers["window"], numbers["first"]
    recent, right = kept(window, first), rolled(kept(window, first))
    short, long = sequence(1, window), sequence(2, 11)

    # Where there is one first position, or a window of two, these are other misconceptions.
    several = {
        "One of the first positions is forgotten.": (window, first - 1),
        "The first positions are part of the window.": (window - first or 1, first),
    }
    others = (window, 0), (window - 1, first)

    exercise = for_credit(
        "def roll(query, key, value, cache): ...",
        [
            checked("while all is in the window, nothing is lost", CACHE, 2, short),
            checked("then the oldest are forgotten, and the first are not", CACHE, 4, short, long),
            Question(
                "the cache stays small",
                ERRORS,
                2,
                via=partial(sizes, most=2 * (3 + 5) * (window + first)),
                cases=[sequence(5, 12)],
            ),
            Question("two sequences are independent", ERRORS, via=in_turn, cases=[sequence(6, 7)]),
        ],
        right=right,
        wrong={
            "Nothing is ever forgotten.": rolled(lambda pairs: pairs),
            "The window is one too wide: it counts the newest position.": (
                rolled(kept(window + 1, first))
            ),
            "The window is one too narrow: it counts the newest position.": (
                rolled(kept(window - 1, first))
            ),
            "The first positions are forgotten.": rolled(kept(window, 0)),
            "One more of the first positions is kept.": rolled(kept(window, first + 1)),
            "A position that is among the first and in the window counts twice.": (
                seen(lambda pairs: pairs[:first] + pairs[-window:])
            ),
            "The newest position does not attend to itself.": (
                seen(lambda pairs: recent(pairs[:-1]) or pairs)
            ),
            **{
                sentence: rolled(kept(*sizes))
                for sentence, sizes in several.items()
                if sizes not in others
            },
            "The divisor is missing.": rolled(recent, divisor=1.0),
            "Only the newest position is attended to: the cache stays empty.": (
                lambda q, k, v, cache: attend(q, [(k, v)])
            ),
            "The cache keeps pairs that no later query attends to.": seen(recent),
            "Something is kept outside of the cache.": outside(window, first),
        },
        unusual={"a deque": with_deque(window, first)},
        returns="the contexts",
        gate=1,
        via=in_steps,
    )
    return [exercise]
