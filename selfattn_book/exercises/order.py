"""Attention ignores order: one query to a bag of words."""

import torch
import torch.nn.functional as F

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import drawn, tensor_of
from selfattn_book.exercises.checking.scores import misconceptions


@factory
def bag(length=7, width=5, equal_words=False, size=1):
    words = drawn(length, width, seed=length)
    words = words[1].expand_as(words).clone() if equal_words else words
    return words, size * drawn(width, seed=0)


def attended(words, query):
    return scaled_dot_product_attention(query[None], words, words)[0][0]


def pooled(
    scores=lambda q, k: q @ k.mT / q.size(-1) ** 0.5, weigh=lambda scores: scores.softmax(-1)
):
    return lambda words, query: (weigh(scores(query[None], words)) @ words)[0]


@factory
def shuffled(pool, words, query):
    """Return the program that compares answers about shuffled words with the usual answer."""
    orders = words.flip(0), words.roll(1, 0), words.roll(3, 0)
    usual = vector(pool, words, query)
    return torch.stack([vector(pool, other, query) - usual for other in orders])


@factory
def opposed(pool, words, query):
    """Return the program that tests whether the opposite query has a different answer."""
    gap = vector(pool, words, -query) - vector(pool, words, query)
    return gap.abs().max() > 1e-3


def vector(pool, words, query):
    return tensor_of(pool(words.clone(), query.clone()), "the answer").double()


def each_word(words, query):
    return scaled_dot_product_attention(words, words, words)[0]


def pooled_weights(words, query):
    return (words @ query / len(query) ** 0.5).softmax(0)


WRONG = {
    **misconceptions(pooled, several=False),
    "One of the words is left out: the answer does not depend on it.": (
        lambda words, query: attended(words[1:], query)
    ),
    "The output is the first word, independent of the others.": lambda words, query: words[0],
    "The first word is used as the query, not the given vector.": lambda w, q: attended(w, w[0]),
    "The last word is used as the query, not the given vector.": lambda w, q: attended(w, w[-1]),
    "The scores depend on the position.": pooled(
        lambda q, k: q @ k.mT / q.size(-1) ** 0.5 + torch.arange(len(k)).to(k)
    ),
    "This is the mean of the words, independent of the query.": lambda words, query: words.mean(0),
    "This is the sum of the words: along one query, all weights of a softmax are one.": (
        lambda words, query: words.sum(0)
    ),
    "The words attend to one another, and their contexts are averaged.": (
        lambda words, query: each_word(words, query).mean(0)
    ),
    "This is the largest number of each column.": lambda words, query: words.amax(0),
    "The output is the query itself, independent of the words.": lambda words, query: query,
    "The query is added to the answer.": lambda words, q: attended(words, q) + q,
    "The query is counted as one of the words.": (
        lambda words, q: attended(torch.cat([words, q[None]]), q)
    ),
    "The root is that of the number of words.": pooled(lambda q, k: q @ k.mT / len(k) ** 0.5),
    "It is divided by √5 for every dimension.": pooled(lambda q, k: q @ k.mT / 5**0.5),
    "There is an answer for each word, but there is only one query.": each_word,
    "These are weights, not the average of the words.": pooled_weights,
    "The axis of the one query must be removed.": lambda words, q: attended(words, q)[None],
}
HERE = "order.html#exercises"
TESTING = "order.html#testing-equivariance"
BAG = "order.html#keys-and-values-form-a-bag"
QUESTIONS = [
    Question("it gives one vector", HERE, view=form, cases=[bag()]),
    Question("the order of the words does not matter", TESTING, via=shuffled, cases=[bag()]),
    Question("the query does", BAG, via=opposed, cases=[bag()]),
    checked("if all words are the same, the answer is that word", BAG, 1, bag(equal_words=True)),
    checked("a query of zeros attends to all words alike", BAG, 1, bag(size=0)),
    checked("it is the usual attention", BAG, 1, bag(), bag(4, 8)),
]
EXERCISE = Exercise(
    "def pool(words, query):\n    ...",
    QUESTIONS,
    right=attended,
    wrong=WRONG,
    unusual={
        "PyTorch's own": lambda w, q: F.scaled_dot_product_attention(q[None], w, w)[0],
        "in place": lambda w, q: w.mul_(pooled_weights(w, q)[:, None]).sum(0),
        "a loop": lambda w, q: sum(a * x for a, x in zip(pooled_weights(w, q), w, strict=True)),
    },
    returns="the answer",
)
check = EXERCISE.check
