"""Attention without weights: contexts and weights in plain Python."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import drawn
from selfattn_book.course.scores import factor_of, follows, is_divided, of_scores
from selfattn_book.course.shares import (
    are_shares,
    averages,
    contexts_of,
    of_shares,
    weights_of,
    with_logarithms,
)
from selfattn_book.reasons.answer import YES, Answer, all_of
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
def contexts_are_averages(words: Tensor, made: object) -> Answer:
    """Ask that the contexts are averages of the words."""
    return averages(
        made, words, scaled_dot_product_attention(words, words, words)[0]
    )


@of_each_size
def compares_by_products(words: Tensor, made: object) -> Answer:
    """Ask that the weights follow the dot products."""
    if len(words) == 1:
        return YES  # whatever its score
    products, distances = words @ words.T, torch.cdist(words, words)
    unit = nn.functional.normalize(words)
    others = {
        "The scores are cosines: each vector was divided by its length.": unit
        @ unit.T,
        "The scores are distances, where dot products are meant.": distances,
        "The scores are squared distances, where dot products are meant.": (
            distances.square()
        ),
        "The dot products were squared.": products.square(),
        "The dot products lost their signs.": products.abs(),
    }
    weights = positive(words, made)
    no = follows(factor_of(weights, products))
    return no.because(*of_scores(weights, others))


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
    """Return weights that have logarithms."""
    weights = weights_of(made, (len(words), len(words)))
    return with_logarithms(weights, words @ words.T)


PAGE = "attention-without-weights.html"
EXERCISES = [
    Exercise(
        "attend",
        "def attend(X):\n    ...",
        [
            Asked(
                "it gives contexts and weights, a row for each word",
                gives_both,
                f"{PAGE}#the-equation",
            ),
            Asked(
                "each row of weights is a softmax: above zero, and one in all",
                shares_rows_out,
                f"{PAGE}#four-words-by-hand",
            ),
            Asked(
                "the contexts are averages with these weights",
                contexts_are_averages,
                f"{PAGE}#four-words-by-hand",
            ),
            Asked(
                "the score of two words is made of their dot product",
                compares_by_products,
                f"{PAGE}#four-words-by-hand",
            ),
            Asked(
                "each score is divided",
                divides,
                f"{PAGE}#the-equation",
            ),
        ],
    )
]
check = checker(EXERCISES)
