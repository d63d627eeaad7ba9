"""Query, key, value: one head of one's own."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import asked, drawn, near
from selfattn_book.course.scores import factor_of, follows, is_divided, of_scores
from selfattn_book.course.shares import (
    are_shares,
    averages,
    contexts_of,
    is_pair,
    of_shares,
    weights_of,
    with_logarithms,
)
from selfattn_book.reasons.answer import YES, Answer, RefusedError, all_of

# Words that ask and words that are asked; widths of a word, of queries and keys, of values.
T, S, WORD, VALUE = 3, 5, 7, 11
KEYS = (6, 2)  # an answer is asked at both
EXCHANGED = "W_Q and W_K are exchanged: W_Q is for the words that ask."
OTHER_WEIGHTS = {
    "The keys are made of the words that ask, not of those that are asked.": (T, T),
    "The queries are made of the words that are asked, not of those that ask.": (
        S,
        S,
    ),
    "The rows belong to the words that are asked, not to those that ask.": (S, T),
}
OneHead = Callable[..., Any]
Ask = Callable[["Question", object], Answer]


class Question:
    """What a head is asked about, and what it should make of it; ``T`` words ask."""

    def __init__(self, width: int, length: int = T) -> None:
        self.width = width  # of queries and keys
        shapes = (WORD, width), (WORD, width), (WORD, VALUE)
        self.asking, self.asked = (
            drawn(length, WORD, seed=5),
            drawn(S, WORD, seed=6),
        )
        self.maps = [
            drawn(*size, seed=7 + i) / WORD**0.5 for i, size in enumerate(shapes)
        ]
        for_queries, for_keys, for_values = self.maps
        self.query, self.key = self.asking @ for_queries, self.asked @ for_keys
        self.value = self.asked @ for_values
        self.context, _ = scaled_dot_product_attention(
            self.query, self.key, self.value
        )

    def put_to(self, one_head: OneHead) -> object:
        """Return what a head makes of it."""
        return asked(one_head, self.asking, self.asked, *self.maps)

    def other_contexts(self) -> dict[str, tuple[int, int]]:
        """Return the shapes of contexts that come of likely mistakes."""
        return {
            "The words themselves are averaged: W_V is not used.": (T, WORD),
            "Keys or queries are averaged, and not the values.": (T, self.width),
        }

    def scores(self, one: int, other: int) -> Tensor:
        """Return the products that two of the maps give: 0 for queries, 1 for keys."""
        return self.asking @ self.maps[one] @ (self.asked @ self.maps[other]).T


def of_each_width(ask: Ask) -> Callable[[OneHead], Answer]:
    """Ask about what came of one call with keys of each width."""

    @wraps(ask)
    def of_answer(one_head: OneHead) -> Answer:
        return all_of(of_call(one_head, Question(width)) for width in KEYS)

    def of_call(one_head: OneHead, question: Question) -> Answer:
        try:
            return ask(question, question.put_to(one_head))
        except RefusedError as refused:
            likely = (
                "The values are made of the words that ask, not of those that are asked.",
                lambda: gives_their_own_values(one_head, question.width),
            )
            raise RefusedError(refused.answer.because(likely)) from refused

    return of_answer


def gives_their_own_values(one_head: OneHead, width: int) -> bool:
    """Tell whether, where as many words ask as are asked, the values are those of who asks."""
    even = Question(width, length=S)
    wrong, _ = scaled_dot_product_attention(
        even.query, even.key, even.asking @ even.maps[2]
    )
    return near(contexts_of(even.put_to(one_head), (S, VALUE)), wrong)


@of_each_width
def gives_both(question: Question, made: object) -> Answer:
    """Ask for contexts and weights, by their shapes."""
    weights_of(made, (T, S), OTHER_WEIGHTS)
    contexts_of(made, (T, VALUE), question.other_contexts())
    return YES


@of_each_width
def shares_rows_out(question: Question, made: object) -> Answer:
    """Ask for positive weights, each row of which sums to one."""
    weights = weights_of(made, (T, S), OTHER_WEIGHTS)
    return are_shares(weights).because(*of_shares(weights, question.scores(0, 1)))


@of_each_width
def compares_queries_with_keys(question: Question, made: object) -> Answer:
    """Ask that the weights follow the products of queries and keys."""
    weights = positive(question, made)
    no = follows(factor_of(weights, question.scores(0, 1)))
    query, key = (
        nn.functional.normalize(x) for x in (question.query, question.key)
    )
    wrong = {
        EXCHANGED: question.scores(1, 0),
        "W_Q makes the keys as well.": question.scores(0, 0),
        "W_K makes the queries as well.": question.scores(1, 1),
        "The words are compared as they are, without W_Q and W_K.": (
            question.asking @ question.asked.T
        ),
        "The scores are cosines: queries and keys lost their lengths.": query
        @ key.T,
    }
    return no.because(*of_scores(weights, wrong))


@of_each_width
def divides(question: Question, made: object) -> Answer:
    """Ask for the divisor, whichever of the two maps made queries and keys."""
    weights = positive(question, made)
    pairs = (0, 1), (1, 0), (0, 0), (1, 1)
    factors = [factor_of(weights, question.scores(*maps)) for maps in pairs]
    factor = next((found for found in factors if follows(found)), factors[0])
    others = {
        "The root is that of the width of a word, not of a key.": WORD**-0.5,
        "The root is that of the width of a value, not of a key.": VALUE**-0.5,
        "The root is that of the number of words, not of a key's width.": S**-0.5,
        "The root is that of the number of words that ask, not of a key's width.": (
            T**-0.5
        ),
    }
    return (
        is_divided(factor, question.width, others)
        if follows(factor)
        else follows(factor)
    )


@of_each_width
def contexts_are_averages(question: Question, made: object) -> Answer:
    """Ask that the contexts are averages of the values."""
    if is_pair(made):
        weights_of(made, (T, S), OTHER_WEIGHTS)
    contexts_of(made, (T, VALUE), question.other_contexts())
    return averages(made, question.value, question.context)


def positive(question: Question, made: object) -> Tensor:
    """Return weights that have logarithms."""
    weights = weights_of(made, (T, S), OTHER_WEIGHTS)
    return with_logarithms(weights, question.scores(0, 1))


PAGE = "query-key-value.html"
EXERCISES = [
    Exercise(
        "one_head",
        "def one_head(asking, asked, W_Q, W_K, W_V):\n    ...",
        [
            Asked(
                "it gives contexts and weights, a row for each word that asks",
                gives_both,
                f"{PAGE}#who-asks-and-who-is-asked",
            ),
            Asked(
                "each row of weights is a softmax over the words that are asked",
                shares_rows_out,
                f"{PAGE}#the-equation",
            ),
            Asked(
                "queries are compared with keys",
                compares_queries_with_keys,
                f"{PAGE}#three-projections-by-hand",
            ),
            Asked("the scores are divided", divides, f"{PAGE}#the-equation"),
            Asked(
                "the contexts are averages of the values, with these weights",
                contexts_are_averages,
                f"{PAGE}#the-equation",
            ),
        ],
    )
]
check = checker(EXERCISES)
