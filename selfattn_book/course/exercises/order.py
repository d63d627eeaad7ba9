"""Order: one question to a bag of words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import (
    asked,
    compared,
    drawn,
    likely,
    near,
    numbers,
)
from selfattn_book.course.scores import factor_of, follows, is_divided, of_scores
from selfattn_book.course.shares import is_pair, of_shares
from selfattn_book.reasons.answer import YES, Answer, Likely, RefusedError, all_of
from selfattn_book.reasons.calls import missing

# Words, words that are fewer than the numbers of one, numbers.
T, FEW, WIDTH = 7, 4, 5
OTHER = 8  # another width
ADDED = "The question is added to the answer."
COUNTED = "The question is counted as one of the words."
LARGEST = "This is the largest number of each column."
ALONE = "The question itself came back, whatever the words are."
LEFT_OUT = "One of the words is left out: the answer does not move with it."
FIRST_ASKS = "The first word has a part of its own, as if it were the query."
LAST_ASKS = "The last word has a part of its own, as if it were the query."
MEAN = "This is the mean of the words, whatever is asked."
SUM = "This is the sum of the words, whatever is asked."
WORDS_ASK = "The words ask one another, and their answers are averaged."
Pool = Callable[[Tensor, Tensor], Any]


def bag(length: int = T, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """Return words and a question."""
    return drawn(length, width, seed=length), drawn(width, seed=0)


def answer_of(pool: Pool, words: Tensor, question: Tensor) -> Tensor:
    """Return the one vector that comes back."""
    got = asked(pool, words, question)
    if is_pair(got):
        raise RefusedError(missing("return one vector alone", got))
    return numbers(got, "the answer", tuple(question.shape))


def gives_a_vector(pool: Pool) -> Answer:
    """Ask for one vector, as wide as a word."""
    words, question = bag()

    def is_of_shape(*shape: int) -> bool:
        return numbers(asked(pool, words, question), "", shape).shape == shape

    try:
        answer_of(pool, words, question)
    except RefusedError as refused:
        no = refused.answer.because(
            (
                "Each word got an answer, and the question is to be the only query.",
                lambda: is_of_shape(T, WIDTH),
            ),
            (
                "Weights came, and not the average of the words.",
                lambda: is_of_shape(T),
            ),
            (
                "The one query still has an axis of its own.",
                lambda: is_of_shape(1, WIDTH),
            ),
        )
        raise RefusedError(no) from refused
    return YES


def forgets_the_order(pool: Pool) -> Answer:
    """Ask for one answer to words in any order."""
    words, question = bag()
    usual = answer_of(pool, words, question)
    told = "is {got} once the words are shuffled, and was {wanted}"
    shuffled = (words.flip(0), words.roll(1, 0), words.roll(3, 0))
    answers = (answer_of(pool, other, question) for other in shuffled)
    no = all_of(
        compared(answer, usual, "the answer's value", ("entry",), told=told)
        for answer in answers
    )
    return no.because(
        (
            LEFT_OUT,
            lambda: not all(heard_words(pool)) and sum(heard_words(pool)) > 1,
        ),
        (FIRST_ASKS, lambda: all(heard_words(pool)) and only_needs(pool, 0)),
        (LAST_ASKS, lambda: all(heard_words(pool)) and only_needs(pool, T - 1)),
    )


def heard_words(pool: Pool) -> list[bool]:
    """Tell for each word whether the answer moves with it."""
    words, question = bag()
    usual = answer_of(pool, words, question)
    others = [words.clone() for _ in words]
    for place, other in enumerate(others):
        other[place] *= -1
    return [not near(answer_of(pool, other, question), usual) for other in others]


def only_needs(pool: Pool, place: int) -> bool:
    """Tell whether all other words may change their places."""
    words, question = bag()
    others = [i for i in range(T) if i != place]
    turned = words.clone()
    turned[others] = words[others[::-1]]
    usual = answer_of(pool, words, question)
    return near(answer_of(pool, turned, question), usual)


def hears_the_question(pool: Pool) -> Answer:
    """Ask that the opposite question has another answer."""
    words, question = bag()
    answer = answer_of(pool, words, question)
    if not near(answer_of(pool, words, -question), answer):
        return YES
    each, _ = scaled_dot_product_attention(words, words, words)
    no = Answer("mathematics", "the opposite question has the same answer.")
    wrong = {MEAN: words.mean(0), SUM: words.sum(0), WORDS_ASK: each.mean(0)}
    return no.because(*likely(answer, wrong))


def averages(pool: Pool) -> Answer:
    """Ask about words that are all the same."""
    words, question = bag()
    equal = words[1].expand(T, WIDTH).clone()
    what, told = (
        "if all words are the same, the answer's value",
        "is {got}, and theirs is {wanted}",
    )
    no = compared(
        answer_of(pool, equal, question), words[1], what, ("entry",), told=told
    )
    return no.because(
        (ALONE, lambda: near(answer_of(pool, words, question), question)),
        (ADDED, lambda: near(answer_of(pool, 0 * words, question), question)),
        (COUNTED, lambda: is_counted(pool)),
        *of_mixture(pool),
    )


def is_even_without_question(pool: Pool) -> Answer:
    """Ask about a question of zeros."""
    words, question = bag()
    got = answer_of(pool, words, 0 * question)
    what = "for a question of zeros, the answer's value"
    told = "is {got}, where the mean of the words has {wanted}"
    no = compared(got, words.mean(0), what, ("entry",), told=told)
    return no.because(
        *likely(got, {LARGEST: words.amax(0)}),
        (COUNTED, lambda: is_counted(pool)),
        *of_mixture(pool),
    )


def divides(pool: Pool) -> Answer:
    """Ask for the answer of the usual attention, also to fewer and wider words."""
    return all_of(is_usual(pool, *size) for size in ((T, WIDTH), (FEW, OTHER)))


def is_usual(pool: Pool, length: int, width: int) -> Answer:
    """Ask for the answer of the usual attention to a bag of this size."""
    words, question = bag(length, width)
    right, _ = scaled_dot_product_attention(question[None], words, words)
    got, what = answer_of(pool, words, question), "the answer's value"
    if near(got, right[0]):
        return YES
    try:
        weights, products = mixture_of(pool, width)
    except RefusedError:
        return compared(got, right[0], what, ("entry",))
    factor = factor_of(weights, products)
    if follows(factor):
        others = {
            "The root is that of the number of words.": FEW**-0.5,
            f"It is divided by √{WIDTH} at every width.": WIDTH**-0.5,
        }
        return is_divided(factor, width, others)
    few, asks = (nn.functional.normalize(x, dim=-1) for x in bag(FEW, width))
    wrong = {
        "The scores are cosines: the lengths are lost.": (few @ asks)[None],
        "The dot products lost their signs.": products.abs(),
        "The dot products were squared.": products.square(),
    }
    likely_scores = of_scores(weights, wrong)
    return follows(factor).because(*likely_scores, *of_shares(weights, products))


def is_counted(pool: Pool) -> bool:
    """Tell whether a question of zeros is averaged as if it were a word."""
    words, question = bag()
    answer = answer_of(pool, words, 0 * question)
    return near(answer, words.sum(0) / (T + 1))


def of_mixture(pool: Pool) -> list[Likely]:
    """Return what can be behind weights that are no shares."""
    try:
        return of_shares(*mixture_of(pool))
    except RefusedError:
        return []


def mixture_of(pool: Pool, width: int = WIDTH) -> tuple[Tensor, Tensor]:
    """Return with which weights few words are mixed, and their products with the question.

    Fewer words than a word has numbers are independent, so an answer has one mixture at most.
    """
    words, question = bag(FEW, width)
    answer = answer_of(pool, words, question)
    mixed = torch.linalg.lstsq(
        words.T.double(), answer.double()[:, None]
    ).solution.T
    if not near(answer, (mixed @ words.double())[0]):
        raise RefusedError(
            Answer("mathematics", "the answer is no mixture of words.")
        )
    rounded = torch.where(mixed.abs() < 1e-5, 0, mixed)
    return rounded.to(answer.dtype), (words @ question)[None]


WORDS = "order.html#what-attention-sees-is-a-bag"
LAW = "order.html#a-law-is-a-test"
HERE = "order.html#exercises"
QUESTIONS = [
    Asked("it gives one vector", gives_a_vector, HERE),
    Asked("the order of the words does not matter", forgets_the_order, LAW),
    Asked("the question does", hears_the_question, WORDS),
    Asked("of equal words it makes that word", averages, WORDS),
    Asked(
        "a question of zeros hears all words alike", is_even_without_question, WORDS
    ),
    Asked("it is the usual attention", divides, WORDS),
]
EXERCISES = [Exercise("pool", "def pool(words, question):\n    ...", QUESTIONS)]
check = checker(EXERCISES)
