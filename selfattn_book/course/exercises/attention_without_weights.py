"""Attention without weights: contexts and weights in plain Python."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import compared, drawn, likely
from selfattn_book.course.shares import (
    are_shares,
    contexts_of,
    factor_of,
    follows,
    is_divided,
    of_shares,
    weights_of,
)
from selfattn_book.reasons.answer import YES, Answer, RefusedError, all_of
from selfattn_book.reasons.calls import call

SIZES = ((5, 2), (7, 3), (1, 6))  # words and width
Attend = Callable[[list[list[float]]], Any]
Ask = Callable[[Tensor, object], Answer]


def of_each_size(ask: Ask) -> Callable[[Attend], Answer]:
    """Ask about sentences of several sizes."""

    @wraps(ask)
    def asked(attend: Attend) -> Answer:
        return all_of(ask(words, made) for words, made in sentences(attend))

    def sentences(attend: Attend) -> Any:
        for length, width in SIZES:
            words = drawn(length, width, seed=length).double()
            yield words, call(attend, words.tolist())

    return asked


@of_each_size
def gives_both(words: Tensor, made: object) -> Answer:
    """Ask for a row of weights and a context for each word."""
    weights_of(made, (len(words), len(words)))
    contexts_of(made, (len(words), words.size(1)))
    return YES


@of_each_size
def shares_rows_out(words: Tensor, made: object) -> Answer:
    """Ask for positive weights, each row of which sums to one."""
    weights = weights_of(made, (len(words), len(words)))
    return are_shares(weights).because(*of_shares(weights, words @ words.T))


@of_each_size
def averages(words: Tensor, made: object) -> Answer:
    """Ask that contexts are averages with the weights that came, or with the right ones."""
    contexts = contexts_of(made, (len(words), words.size(1)))
    right = scaled_dot_product_attention(words, words, words)[0]
    if not isinstance(made, tuple | list) or len(made) != 2:
        return compared(contexts, right, "the context", ("word", "entry"))
    weights = weights_of(made, (len(words), len(words))).double()
    told = "is {got}, where the weights that came give {wanted}"
    no = compared(
        contexts, weights @ words, "the context", ("word", "entry"), told=told
    )
    wrong = {
        "The contexts are right; the weights beside them are others.": right,
        "The weights were read along a column, where a word's are a row.": (
            weights.T @ words
        ),
        "The words came back as they were.": words,
    }
    return no.because(*likely(contexts, wrong))


@of_each_size
def compares_by_products(words: Tensor, made: object) -> Answer:
    """Ask that the weights follow the dot products."""
    if len(words) == 1:
        return YES  # whatever its score
    weights = positive(words, made)
    no = follows(factor_of(weights, words @ words.T))
    unit, distances = nn.functional.normalize(words), torch.cdist(words, words)
    others = {
        "The scores are cosines: each vector was divided by its length.": unit
        @ unit.T,
        "The scores are distances, where dot products are meant.": -distances,
        "The scores are squared distances, where dot products are meant.": (
            -distances.square()
        ),
        "The dot products were squared.": (words @ words.T).square(),
        "The dot products lost their signs.": (words @ words.T).abs(),
    }
    return no.because(
        *(
            (said, lambda scores=scores: bool(factor_of(weights, scores) ** 2 > 0))
            for said, scores in others.items()
        )
    )


@of_each_size
def divides(words: Tensor, made: object) -> Answer:
    """Ask that the dot products are divided by the root of the width."""
    if len(words) == 1:
        return YES
    factor = factor_of(positive(words, made), words @ words.T)
    if not follows(factor):
        return follows(factor)
    others = {
        "The root of the number of words divides.": len(words) ** -0.5,
        "It is divided by √2 at every width: 2 was the width of the example.": 2
        ** -0.5,
    }
    return is_divided(factor, words.size(1), others)


def positive(words: Tensor, made: object) -> Tensor:
    """Return the weights of each word as a row, if there are logarithms of them."""
    weights = weights_of(made, (len(words), len(words)))
    shared = are_shares(weights).because(*of_shares(weights, words @ words.T))
    if not (weights > 0).all():
        raise RefusedError(shared)
    return weights.T if not shared and are_shares(weights.T) else weights


EXERCISES = [
    Exercise(
        "attend",
        "def attend(X):\n    ...",
        [
            Asked(
                "it gives contexts and weights, a row for each word",
                gives_both,
                "attention-without-weights.html#the-equation",
            ),
            Asked(
                "each row of weights is a softmax: above zero, and one in all",
                shares_rows_out,
                "attention-without-weights.html#four-words-by-hand",
            ),
            Asked(
                "the contexts are averages with these weights",
                averages,
                "attention-without-weights.html#four-words-by-hand",
            ),
            Asked(
                "the score of two words is made of their dot product",
                compares_by_products,
                "attention-without-weights.html#four-words-by-hand",
            ),
            Asked(
                "each score is divided",
                divides,
                "attention-without-weights.html#the-equation",
            ),
        ],
    )
]
check = checker(EXERCISES)
