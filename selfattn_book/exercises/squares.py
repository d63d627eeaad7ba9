"""Training an encoder-decoder: the next corner by geometry, in padded sources."""

from functools import cache, partial

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.experiments.seeding import shifted_seed
from selfattn_book.experiments.squares import last_corners, square_sequences

# The matrices that turn a corner into its neighbors on both sides, and mirror these.
NEIGHBORS = [[1, 0], [0, -1]], [[-1, 0], [0, 1]], [[0, -1], [1, 0]], [[0, 1], [-1, 0]]


@cache
def sources(seed, dtype):
    """Return two thousand padded sources and their masks."""
    examples = last_corners(square_sequences(2000, seed=seed, variable_length=True))
    source, _, mask, _ = examples[:]
    return source.to(dtype), mask


@factory
def case(*counts):
    """Return the sources with one of these numbers of corners."""
    source, mask = sources(shifted_seed(7), torch.get_default_dtype())
    rows = torch.isin(mask.sum((1, 2, 3)), torch.tensor(counts))
    return source[rows], mask[rows]


def same(x):
    return x


@factory
def answer(source, mask, *, back=2, sign=-1, clean=torch.sign, first=torch.zeros_like):
    """Return the program with this corner counted from the end; after one corner, with another."""
    given = mask.sum((1, 2, 3))
    corner = source[torch.arange(len(source)), (given - back).clamp(min=0)]
    alone = (given == 1)[:, None]
    return torch.where(alone, first(clean(source[:, 0])), sign * clean(corner))[:, None]


def with_and_without_noise(**options):
    """Return a program, and the same with the noise of the source."""
    return answer(**options), answer(**options, clean=same)


right = answer()


def after_one(source, mask, corner):
    return corner * (mask.sum((1, 2, 3)) > 1).view(-1, 1, 1)


def straight(source, mask):
    last, before = (answer(back=back, sign=1, clean=same)(source, mask) for back in (1, 2))
    return after_one(source, mask, 2 * last - before)


def parallelogram(source, mask):
    three = (mask.sum((1, 2, 3)) == 3)[:, None, None]
    sums = source[:, :1] - source[:, 1:2] + source[:, 2:]
    return torch.where(three, sums, right(source, mask))


def signs(corner, source, mask):
    return corner.sign()


@factory
def changes(program, source, mask, *, other):
    """Return the program that compares an answer for two inputs."""
    given = other(source, mask)
    got = (program(*(x.clone() for x in one)) for one in (given, (source, mask)))
    # Where the corner is nan, another question asks.
    after, before = (tensor_of(x, "the corners").nan_to_num(nan=7.0) for x in got)
    return after - before[: len(given[0])]


HERE = "squares.html#exercises"
TIES = "squares-deeper.html#larger-confusions-than-ties"
BEST = "squares-deeper.html#the-noise-floor"
QUESTIONS = [
    Question(
        "it returns one corner for each source",
        HERE,
        via=partial(changes, other=lambda source, mask: (source[:7], mask[:7])),
    ),
    Question(
        "it does not depend on padding",
        HERE,
        via=partial(changes, other=lambda x, mask: (x.masked_fill(~mask.view(-1, 3, 1), 9), mask)),
    ),
    checked("after one corner it returns the best estimate on average", TIES, 1, case(1)),
    Question("after two corners it returns the next", BEST, 1, signs, [case(2)]),
    Question("after three corners it returns the next", BEST, 1, signs, [case(3)]),
    checked("the corners have no noise of the source", BEST, 1, case(2, 3)),
]
WRONG = {
    "A mean over no corner is not a number.": lambda x, mask: (
        right(x, mask) / (mask.sum((1, 2, 3)) > 1).view(-1, 1, 1)
    ),
    "It returns the opposite corner, but only the two neighbors are possible.": (
        with_and_without_noise(first=torch.neg)
    ),
    "It returns the given corner, but the next one is different.": (
        with_and_without_noise(first=torch.clone)
    ),
    "It returns one of the two neighbors; their mean is nearer to both on average.": tuple(
        answer(first=lambda x, turn=turn: x @ torch.tensor(turn).to(x)) for turn in NEIGHBORS
    ),
    "It counts from the start of the source: with two corners that is right.": (
        lambda x, mask: after_one(x, mask, -x[:, :1].sign())
    ),
    "It uses the end of the padded source, not the last given corners.": (
        lambda x, mask: after_one(x, mask, -x[:, -1:].sign()),
        lambda x, mask: -x.mean(1, keepdim=True).sign(),
    ),
    "It continues in a straight line, but a square turns at each corner.": straight,
    "It returns the corner two before, not the one opposite to it.": with_and_without_noise(sign=1),
    "It returns the last corner again.": with_and_without_noise(back=1, sign=1),
    "It returns the corner opposite to the last; the next is opposite to the one before that.": (
        with_and_without_noise(back=1)
    ),
    "It returns the mean of all corners, as if the direction were unknown.": (
        lambda x, mask: torch.zeros(len(x), 1, 2)
    ),
    "It is not a number.": lambda x, mask: torch.full((len(x), 1, 2), torch.nan),
    "The noise of the corner two before is in the output: only its signs matter.": (
        answer(clean=same)
    ),
    "The noise of all given corners is in the output: only their signs matter.": parallelogram,
    "It uses the other sources of the batch.": lambda x, mask: right(x, mask) - x.mean((0, 1)),
}
EXERCISE = Exercise(
    "def next_corner(source, mask):\n    ...",
    QUESTIONS,
    right=right,
    wrong=WRONG,
    cases=[case(1, 2, 3)],
    unusual={
        "in place": lambda x, mask: right(x.sign_(), mask),
        "rounded": answer(clean=lambda x: x.clamp(-1, 1).round()),
    },
    returns="the corners",
)
check = EXERCISE.check
