"""Masks: a sliding window."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, form
from selfattn_book.masks import causal_mask


def window(length, width):
    """Return the causal mask in which each query attends to the last ``width`` keys."""
    return (distance(length) >= 0) & (distance(length) < width)


def distance(length):
    position = torch.arange(length)
    return position[:, None] - position


def first_keys(length, width):
    first = torch.arange(length) < width - 1
    return causal_mask(length) & (first | torch.eye(length, dtype=torch.bool))


BY_HAND = "masks.html#masking-scores-by-hand"
CAUSAL = "masks.html#the-causal-mask"
HERE = "masks.html#exercises"
QUESTIONS = [
    Question("it is a boolean matrix", BY_HAND, view=form),
    Question("each query attends to itself", CAUSAL, view=lambda mask, n, w: mask.diagonal()),
    Question(
        "no query attends to its future", CAUSAL, view=lambda mask, n, w: mask & ~causal_mask(n)
    ),
    Question(
        "each query attends to as many keys as its window has",
        HERE,
        view=lambda mask, n, w: mask.sum(1),
    ),
    Question("the window moves with the query", HERE, points=2),
]
WRONG = {
    "True was taken to mean hidden.": lambda n, w: ~window(n, w),
    "The newest position is left out.": lambda n, w: window(n, w) & (distance(n) > 0),
    "A query attends to the right number of keys, but not to itself.": (
        lambda n, w: (distance(n) > 0) & (distance(n) <= w)
    ),
    "The window reaches to both sides.": lambda n, w: distance(n).abs() < w,
    "Rows and columns are exchanged: a row belongs to a query.": lambda n, w: window(n, w).mT,
    "The width counts the query itself.": lambda n, w: window(n, w + 1),
    "The window is one too narrow.": lambda n, w: window(n, w - 1),
    "No key is ever too old: this is the causal mask.": lambda n, w: window(n, n),
    "The window does not move with the query.": first_keys,
}
EXERCISE = Exercise(
    "def window_mask(length, width):\n    ...",
    QUESTIONS,
    right=window,
    wrong=WRONG,
    cases=[(7, 3), (5, 1), (4, 4), (3, 9)],
    unusual={
        "two triangles": lambda n, w: torch.ones(n, n).tril().triu(1 - w).bool(),
        "a loop": lambda n, w: [[0 <= i - j < w for j in range(n)] for i in range(n)],
        "a generator": lambda n, w: (row.tolist() for row in window(n, w)),
    },
    returns="the mask",
)
check = EXERCISE.check
