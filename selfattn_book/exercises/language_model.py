"""A language model: the tokens that top-p leaves."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.generation import next_token_distribution

# Sums of these are exact in binary, so that no result depends on a rounding error.
ROWS = (
    ((0.0625, 0.15625, 0.375, 0.25, 0.09375, 0.0625), 0.5),
    ((0.0625, 0.25, 0.1875, 0.5), 0.75),  # two tokens reach it exactly
    ((0.125, 0.375, 0.5), 0.1),  # the first alone has more
    ((0.125, 0.25, 0.0625, 0.5625), 1.0),
)


@factory
def renormalized(choose, shares, p):
    kept = torch.zeros_like(shares)
    tokens = choose(shares, p)
    kept[tokens] = shares[tokens]
    return kept / kept.sum()


def chosen(shares, p):
    """Return the fewest tokens whose probabilities sum to ``p``, the most likely first."""
    order = shares.argsort(descending=True)
    return order[shares[order].cumsum(0) - shares[order] < p]


def more(count):
    return renormalized(lambda x, p: x.argsort(descending=True)[: len(chosen(x, p)) + count])


def not_crossing(shares, p):
    order = shares.argsort(descending=True)
    return order[: max(len(below(shares, p)), 1)]


def below(shares, p):
    order = shares.argsort(descending=True)
    return order[shares[order].cumsum(0) <= p]


def least(shares, p):
    order = shares.argsort()
    return order[: int((shares[order].cumsum(0) < p).sum()) + 1]


nucleus = renormalized(chosen)


SAMPLING = "language-model.html#sampling-temperature-top-k-top-p"
QUESTIONS = [
    Question("it returns a probability for each token", SAMPLING, view=form),
    Question("the right tokens are left", SAMPLING, 2, view=lambda left, *case: left != 0),
    Question("what is left sums to one", SAMPLING, view=lambda left, *case: left.sum()),
    Question("what is left keeps its proportions", SAMPLING),
]
WRONG = {
    "The probabilities are sorted, and no longer in the order of the tokens.": (
        lambda shares, p: nucleus(shares, p).sort(descending=True).values
    ),
    "The token that crosses p has been cut off: it stays.": (
        renormalized(not_crossing),
        renormalized(below),
    ),
    "The last token that is needed has been cut off: it stays.": more(-1),
    "One token too many is left: those before it already reach p.": more(1),
    "The least likely tokens are left.": renormalized(least),
    "A token is left if its own probability is at least p; what counts is their sum.": (
        renormalized(lambda shares, p: (shares >= p).nonzero()[:, 0])
    ),
    "They were summed in the order of the vocabulary: the most likely come first.": (
        renormalized(lambda shares, p: (shares.cumsum(0) - shares < p).nonzero()[:, 0])
    ),
    "Nothing has been cut off.": lambda shares, p: shares,
    "What is left must be divided by its sum.": lambda shares, p: shares * (nucleus(shares, p) > 0),
    "These are logits or logarithms, not probabilities.": lambda x, p: nucleus(x, p).log(),
    "A softmax of probabilities is no longer in proportion.": (
        lambda shares, p: torch.where(nucleus(shares, p) > 0, shares, -torch.inf).softmax(-1)
    ),
    "All that are left have become equally likely.": (
        lambda shares, p: (nucleus(shares, p) > 0) / len(chosen(shares, p))
    ),
}
EXERCISE = Exercise(
    "def nucleus(shares, p):\n    ...",
    QUESTIONS,
    right=nucleus,
    wrong=WRONG,
    cases=lambda: [(torch.tensor(row), p) for row, p in ROWS],
    unusual={"the package's": lambda shares, p: next_token_distribution(shares.log(), top_p=p)},
    returns="what is left",
)
check = EXERCISE.check
