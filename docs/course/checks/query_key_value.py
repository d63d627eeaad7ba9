"""Query, key, value: attention with a null key."""

import math

import torch

from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug
from selfattn_book.exercises.checking.numbers import normal


def case(seed, *sizes, lead=(), size=1.0):
    queries, keys, width, out = sizes
    shapes = (queries, width), (keys, width), (keys, out)
    query, key, value = normal(seed, *((*lead, *shape) for shape in shapes))
    return size * query, key, value


def same_sign(sign):
    """Return queries and keys with scores in the thousands, all of one sign."""
    chance = torch.Generator().manual_seed(8)
    query = 40 + torch.rand(3, 4, generator=chance, dtype=torch.float64)
    key = sign * (40 + torch.rand(5, 4, generator=chance, dtype=torch.float64))
    return query, key, torch.randn(5, 2, generator=chance, dtype=torch.float64)


@factory
def with_null_key(score, query, key, value):
    scores = query @ key.mT / query.size(-1) ** 0.5
    null = torch.full_like(scores[..., :1], score)
    weights = torch.cat([scores, null], -1).softmax(-1)
    return weights[..., :-1] @ value


@factory
def with_zero_value(score, query, key, value):
    scores = torch.nn.functional.pad(query @ key.mT / query.size(-1) ** 0.5, (0, 1), value=score)
    return scores.softmax(-1) @ torch.cat([value, torch.zeros_like(value[..., :1, :])], -2)


WITHOUT_BUG = """\
def one_head(X, memory, W_Q, W_K, W_V):
    query = X @ W_Q
    key = memory @ W_K
    value = memory @ W_V
    scores = query @ key.T / key.size(1) ** 0.5
    weights = scores.softmax(dim=1)
    return weights @ value
"""
EXAMPLE = {
    "X": [[1, 0, 2], [0, 1, 1]],
    "memory": [[1, 1, 0], [0, 2, 1], [1, 0, 1], [2, 1, 0]],
    "W_Q": [[1, 0], [0, 1], [1, 1]],
    "W_K": [[0, 1], [1, 1], [1, 0]],
    "W_V": [[1], [2], [3]],
}  # all bugs show


def exercises(numbers):
    score = numbers["null_score"]
    right = with_null_key(score)
    equation = "query-key-value.html#the-attention-layer-equation-and-code"
    search = "query-key-value.html#three-projections-by-hand"

    def scores(q, k):
        return q @ k.mT / q.size(-1) ** 0.5

    def beside_null_key(exponentials, v):
        return exponentials / (exponentials.sum(-1, keepdim=True) + math.exp(score)) @ v

    def moved(q, k, v):
        s = scores(q, k)
        return beside_null_key((s - s.amax(-1, keepdim=True)).exp(), v)

    def averaged(q, k, v):
        null = 1 - right(q, k, torch.ones_like(v[..., :1]))
        return right(q, k, v) + null * v.mean(-2, keepdim=True)

    wrong = {
        "There is no null key.": lambda q, k, v: scores(q, k).softmax(-1) @ v,
        "The null score is a score already; it is not divided.": (
            lambda q, k, v: with_null_key(score / q.size(-1) ** 0.5)(q, k, v)
        ),
        "The scores of the keys must be divided, too.": (
            lambda q, k, v: right(q * q.size(-1) ** 0.5, k, v)
        ),
        "The null score is 0 here.": with_null_key(0.0),
        "The null score has the other sign.": with_null_key(-score),
        "The largest score was subtracted from the keys, but not from the null score.": moved,
        "The score itself was added to the denominator, not its exponential.": (
            lambda q, k, v: scores(q, k).softmax(-1) / (1 + score) @ v
        ),
        "The value of the null key is zero.": averaged,
        "Exponentials of large scores are infinite: subtract the largest score.": (
            lambda q, k, v: beside_null_key(scores(q, k).exp(), v)
        ),
    }
    questions = [
        checked("the null key has its weight", search, 2, case(1, 2, 3, 4, 2)),
        checked("also for other sizes", equation, 2, case(2, 5, 2, 7, 3), case(3, 1, 1, 3, 3)),
        checked("and for batches", equation, 1, case(4, 4, 3, 5, 2, lead=(2, 3))),
        checked("large scores leave no weight for the null key", search, 2, same_sign(1.0)),
        checked("where nothing fits, the context is zero", search, 1, same_sign(-1.0)),
    ]
    exercise = for_credit(
        "def attend_or_not(query, key, value): ...",
        questions,
        right=right,
        wrong=wrong,
        unusual={"a zero value for the null key": with_zero_value(score)},
        gate=0,
        returns="the context",
    )
    return [exercise, find_the_bug(numbers["program"], WITHOUT_BUG, equation, EXAMPLE)]
