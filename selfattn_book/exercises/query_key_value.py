"""Queries, keys and values: one attention head."""

import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.scores import misconceptions
from selfattn_book.exercises.checking.views import compared, row_sums, second

WORD, VALUE = 7, 11  # dimensions of a word and of a value


@factory
def case(queries, keys, width):
    """Return the words of the queries, the words of keys and values, and three projections."""
    shapes = (WORD, width), (WORD, width), (WORD, VALUE)
    maps = [drawn(*size, seed=7 + i) / WORD**0.5 for i, size in enumerate(shapes)]
    return drawn(queries, WORD, seed=5), drawn(keys, WORD, seed=6), *maps


def one_head(x, y, q, k, v):
    return scaled_dot_product_attention(x @ q, y @ k, y @ v)


def head(scores=lambda q, k: q @ k.mT / q.size(-1) ** 0.5, weigh=lambda scores: scores.softmax(-1)):
    def other(x, y, q, k, v):
        found = weigh(scores(x @ q, y @ k))
        return found @ (y @ v), found

    return other


def divided_by(divisor):
    return head(lambda q, k: q @ k.mT / divisor)


def average(x, y, q, k, v, of):
    found = one_head(x, y, q, k, v)[1]
    return found @ of, found


def errors(pair, x, y, q, k, v):
    """View how far the contexts are from the averages of the values with these weights."""
    return pair[0].double() - pair[1].double() @ (y @ v).double()


WRONG = {
    **misconceptions(head),
    "W_Q and W_K are exchanged: W_Q is for the first words, which are the queries.": (
        lambda x, y, q, k, v: one_head(x, y, k, q, v)
    ),
    "W_Q makes the keys as well.": lambda x, y, q, k, v: one_head(x, y, q, q, v),
    "W_K makes the queries as well.": lambda x, y, q, k, v: one_head(x, y, k, k, v),
    "The words are compared as they are, without W_Q and W_K.": (
        lambda x, y, q, k, v: one_head(x, y, torch.eye(WORD).to(q), torch.eye(WORD).to(k), v)
    ),
    "The root is that of the dimension of a word, not of a key.": divided_by(WORD**0.5),
    "The root is that of the dimension of a value, not of a key.": divided_by(VALUE**0.5),
    "The root is that of the number of keys, not of the key dimension.": (
        head(lambda q, k: q @ k.mT / len(k) ** 0.5)
    ),
    "The root is that of the number of queries, not of the key dimension.": (
        head(lambda q, k: q @ k.mT / len(q) ** 0.5)
    ),
    "The divisor is a constant: it must change with the key dimension.": divided_by(2**0.5),
    "The keys are made from the first words; they must be made from the second.": (
        lambda x, y, q, k, v: one_head(x, x, q, k, v)
    ),
    "The queries are made from the second words; they must be made from the first.": (
        lambda x, y, q, k, v: one_head(y, y, q, k, v)
    ),
    "The rows belong to the second words; they must belong to the first, the queries.": (
        lambda x, y, q, k, v: one_head(y, x, q, k, v)
    ),
    "The values are made from the first words; they must be made from the second.": (
        lambda x, y, q, k, v: average(x, y, q, k, v, x @ v)
    ),
    "The words themselves are averaged: W_V is not used.": (
        lambda x, y, q, k, v: average(x, y, q, k, v, y)
    ),
    "The keys are averaged, and not the values.": lambda x, y, q, k, v: one_head(x, y, q, k, k),
    "The contexts are right, but the weights returned with them are different.": (
        lambda *case: (one_head(*case)[0], divided_by(1)(*case)[1])
    ),
    "The contexts come first, then the weights.": lambda *case: one_head(*case)[::-1],
}
CROSS = "query-key-value.html#self-attention-and-cross-attention"
LAYER = "query-key-value.html#the-attention-layer-equation-and-code"
PROJECTIONS = "query-key-value.html#three-projections-by-hand"
QUESTIONS = [
    Question("it returns contexts and weights, a row for each query", CROSS, view=form),
    Question("each row of weights sums to one", LAYER, view=row_sums),
    Question("queries are compared with keys", PROJECTIONS, view=compared),
    Question("the weights are the softmax of the divided scores", LAYER, view=second),
    Question("the contexts are averages of the values, with these weights", LAYER, view=errors),
]
EXERCISE = Exercise(
    "def one_head(asking, asked, W_Q, W_K, W_V):\n    ...",
    QUESTIONS,
    right=one_head,
    wrong=WRONG,
    cases=[case(3, 5, 6), case(3, 5, 2), case(5, 5, 6)],
    unusual={
        "divided before": head(lambda q, k: (q / q.size(-1) ** 0.5) @ k.mT),
        "in place": lambda x, y, q, k, v: one_head(x.mul_(2), y, q.div_(2), k, v),
    },
    returns=("the contexts", "the weights"),
    gate=3,
)
check = EXERCISE.check
