"""Self-attention without learned parameters: attend to the others."""

import torch

from selfattn_book.exercises.checking.exercise import checked, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug
from selfattn_book.exercises.checking.numbers import normal


def words(seed, length, width, size=1.0):
    (x,) = normal(seed, (length, width))
    return (size * x,)


def scores(x):
    return x @ x.T / x.size(1) ** 0.5


def own(s):
    return torch.eye(len(s), dtype=torch.bool)


def others(s):
    return s.masked_fill(own(s), -torch.inf).softmax(-1)


def keeping(kept, weigh=others, score=scores):
    """Return the program that keeps a part of each word and adds the others with these weights."""

    def attend(x):
        return x if len(x) == 1 else kept * x + (1 - kept) * weigh(score(x)) @ x

    return attend


WITHOUT_BUG = """\
def attend(X):
    T, D = X.shape
    scores = X @ X.T
    scores = scores / D**0.5
    powers = scores.exp()
    weights = powers / powers.sum(dim=1, keepdim=True)
    return weights @ X
"""
EXAMPLE = {"X": [[1, 2], [0, 1], [-3, 1]]}  # all bugs show


def exercises(numbers):
    keep = numbers["keep"]
    equation = "attention-without-weights.html#self-attention-in-one-equation"
    by_hand = "attention-without-weights.html#four-words-by-hand"
    wrong = {
        "Each word still attends to itself.": keeping(keep, lambda s: s.softmax(-1)),
        "A score of 0 hides nothing: its exponential is 1.": (
            keeping(keep, lambda s: s.masked_fill(own(s), 0).softmax(-1))
        ),
        "The weights of the others do not sum to one.": (
            keeping(keep, lambda s: s.softmax(-1).masked_fill(own(s), 0))
        ),
        "The two weights, of the word itself and of the others, are exchanged.": keeping(1 - keep),
        "The part that a word keeps is missing.": keeping(0.0),
        "The weight of the others is not 1 minus the weight that is kept.": (
            lambda x: keep * x + others(scores(x)) @ x
        ),
        "The divisor is missing.": keeping(keep, score=lambda x: x @ x.T),
        "The divisor is the root of the dimension.": (
            keeping(keep, score=lambda x: x @ x.T / x.size(1))
        ),
        "The divisor counts words, not the dimension.": (
            keeping(keep, score=lambda x: x @ x.T / len(x) ** 0.5)
        ),
        "The weights sum to one along the columns; a row belongs to a query.": (
            keeping(keep, lambda s: s.masked_fill(own(s), -torch.inf).softmax(0))
        ),
        "This is the plain mean of the others.": keeping(keep, lambda s: others(0 * s)),
        "A word alone has no others: a softmax of nothing is not a number.": (
            lambda x: keep * x + (1 - keep) * others(scores(x)) @ x
        ),
        "These are weights, and not contexts.": lambda x: others(scores(x)),
    }
    questions = [
        checked("two words attend to each other alone", by_hand, 2, words(1, 2, 3)),
        checked("more words attend by their scores", equation, 2, words(2, 5, 3), words(3, 4, 7)),
        checked("so they do where scores are large", equation, 1, words(4, 6, 2, 4.0)),
        checked("a word alone stays as it is", by_hand, 1, words(5, 1, 3)),
    ]
    exercise = for_credit(
        "def attend_to_others(X): ...",
        questions,
        right=keeping(keep),
        wrong=wrong,
        gate=1,
        returns="the words",
    )
    return [exercise, find_the_bug(numbers["program"], WITHOUT_BUG, equation, EXAMPLE)]
