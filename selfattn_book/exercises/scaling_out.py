"""Distributed training: the gradient of a batch that is split unevenly."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.results import Wrong
from selfattn_book.exercises.checking.views import input_after

D = 4
EVEN, UNEVEN, MORE, EMPTY = [3, 3], [1, 3], [2, 5, 1], [2, 0, 6]


@factory
def case(counts):
    """Return the mean gradient of each rank, nan without examples, and the counts."""
    means = drawn(len(counts), D, seed=31 + sum(counts))
    means[torch.tensor(counts) == 0] = torch.nan
    return means, list(counts)


def weighted(g, n):
    return total(g, n) / sum(n)


def total(g, n):
    return (torch.tensor(n)[:, None] * g.nan_to_num()).sum(0)


def inverted(gradients, counts):
    weights = torch.tensor([1 / n if n else 0.0 for n in counts]).to(gradients)
    return weights @ gradients.nan_to_num() / weights.sum()


def in_place(gradients, counts):
    gradients.nan_to_num_().mul_(torch.tensor(counts)[:, None])
    return gradients.sum(0) / sum(counts)


def idle_in_place(gradients, counts):
    gradients[torch.tensor(counts) == 0] = 0
    return weighted(gradients, counts)


PARALLEL = "scaling-out.html#data-parallelism-by-hand"
HERE = "scaling-out.html#exercises"
QUESTIONS = [
    Question("it gives one gradient", PARALLEL, view=form, cases=[case(EVEN)]),
    checked("even parts give the plain mean", PARALLEL, 1, case(EVEN)),
    checked("in uneven parts each example counts the same", PARALLEL, 2, case(UNEVEN), case(MORE)),
    checked("a rank without examples is passed over", HERE, 1, case(EMPTY)),
    Question(
        "its input is unchanged", PARALLEL, via=input_after, cases=[case(UNEVEN), case(EMPTY)]
    ),
]
WRONG: Wrong = {
    "This is the mean of the ranks' means: a small part counts as much as a large one.": (
        lambda g, n: g.nan_to_num().mean(0)
    ),
    "The means were added, and never divided.": lambda g, n: g.nan_to_num().sum(0),
    "The sum over the examples was not divided by how many there are.": total,
    "The sum over the examples is divided by the number of ranks.": (
        lambda g, n: total(g, n) / len(n)
    ),
    "The weights sum to one already; it was divided by the number of ranks as well.": (
        lambda g, n: weighted(g, n) / len(n)
    ),
    "The more examples a rank has, the less it counts.": inverted,
    "Only the gradient of the first rank is used.": lambda g, n: g[0],
    "Only the gradient of the last rank is used.": lambda g, n: g[-1],
    "A rank without examples has the mean of nothing, and 0 times nan is nan.": (
        lambda g, n: (torch.tensor(n)[:, None] * g).sum(0) / sum(n)
    ),
    "It changes its input; take a copy first.": (in_place, idle_in_place),
}
EXERCISE = Exercise(
    "def whole_gradient(gradients, counts):\n    ...",
    QUESTIONS,
    right=weighted,
    wrong=WRONG,
    returns="the gradient",
    gate=2,
)
check = EXERCISE.check
