"""Modern attention: a sliding window with attention sinks."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, form
from selfattn_book.exercises.masks import window
from selfattn_book.masks import causal_mask


def is_sink(length, sinks):
    return torch.arange(length) < sinks


def streaming_mask(length, width, sinks):
    return window(length, width) | causal_mask(length) & is_sink(length, sinks)


BY_HAND = "masks.html#masking-scores-by-hand"
SINKS = "modern-deeper.html#sliding-windows-discarded-keys-and-the-receptive-field"
QUESTIONS = [
    Question("it is a boolean matrix", BY_HAND, view=form),
    Question(
        "no query attends to its future", SINKS, 1, lambda mask, n, w, s: mask & ~causal_mask(n)
    ),
    Question(
        "each query attends to its window", SINKS, 1, lambda mask, n, w, s: mask & ~is_sink(n, s)
    ),
    Question(
        "each query attends to the sinks", SINKS, 2, lambda mask, n, w, s: mask & is_sink(n, s)
    ),
]
WRONG = {
    "True was taken to mean hidden.": lambda n, w, s: ~streaming_mask(n, w, s),
    "Rows and columns are exchanged: a row belongs to a query.": (
        lambda n, w, s: streaming_mask(n, w, s).mT
    ),
    "Queries that come before a sink attend to it.": lambda n, w, s: window(n, w) | is_sink(n, s),
    "The sinks are missing: this is the window alone.": lambda n, w, s: window(n, w),
    "The window is missing: these are the sinks alone.": (
        lambda n, w, s: causal_mask(n) & is_sink(n, s)
    ),
    "No key is ever too old: this is the causal mask.": lambda n, w, s: causal_mask(n),
    "The sinks are counted as part of the window.": (
        lambda n, w, s: streaming_mask(n, max(w - s, 1), s)
    ),
    "The width counts the query itself.": lambda n, w, s: streaming_mask(n, w + 1, s),
    "The window is one too narrow.": lambda n, w, s: streaming_mask(n, w - 1, s),
    "There is one sink too many.": lambda n, w, s: streaming_mask(n, w, s + 1),
    "There is one sink too few.": lambda n, w, s: streaming_mask(n, w, max(s - 1, 0)),
}
EXERCISE = Exercise(
    "def streaming_mask(length, width, sinks):\n    ...",
    QUESTIONS,
    right=streaming_mask,
    wrong=WRONG,
    cases=[(11, 3, 2), (7, 1, 1), (5, 5, 2), (7, 3, 0), (3, 2, 5)],
    unusual={
        "a loop": lambda n, w, s: [
            [j <= i and (i - j < w or j < s) for j in range(n)] for i in range(n)
        ],
    },
    returns="the mask",
)
check = EXERCISE.check
