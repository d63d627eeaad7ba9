"""Multi-head attention: grouped-query attention."""

import torch

from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug
from selfattn_book.exercises.checking.numbers import normal


def case(seed, batch, heads, groups):
    return normal(seed, (batch, heads, 3, 7), (batch, groups, 5, 7), (batch, groups, 5, 2))


def neighbors(x, times):
    return x.repeat_interleave(times, dim=1)


def in_turn(x, times):
    return x.repeat(1, times, 1, 1)


def side_by_side(x):
    return x.transpose(1, 2).flatten(2)


def scrambled(x):
    return x.reshape(len(x), x.size(2), -1)


@factory
def attention(share, query, key, value, *, merge=side_by_side, divisor=7**0.5):
    """Return grouped attention, put together from parts."""
    times = query.size(1) // key.size(1)
    key, value = share(key, times), share(value, times)
    return merge((query @ key.mT / divisor).softmax(-1) @ value)


WITHOUT_BUG = """\
def head_weights(X, W_Q, W_K, H):
    T, D = X.shape
    d = D // H
    query = (X @ W_Q).reshape(T, H, d).transpose(0, 1)
    key = (X @ W_K).reshape(T, H, d).transpose(0, 1)
    scores = query @ key.mT / d**0.5
    return scores.softmax(dim=-1)
"""
EXAMPLE = {
    "X": [[1, 0, 2, 0, 1, 0], [0, 1, 0, 1, 1, 2], [2, 1, 0, 0, 1, 1]],
    "W_Q": torch.eye(6).tolist(),
    "W_K": torch.eye(6).flip(0).tolist(),
    "H": 2,
}  # all bugs show


def exercises(numbers):
    near = numbers["sharing"] == "neighbors"
    share, other = (neighbors, in_turn) if near else (in_turn, neighbors)
    equation = "many-heads.html#the-multi-head-attention-layer"
    merge = "many-heads.html#splitting-heads-transpose-do-not-only-reshape"
    query, key, value = case(5, 2, 4, 2)
    uneven = case(3, 2, 6, 3), case(4, 3, 6, 2)
    as_many = "with as many keys as queries it is multi-head attention"

    def only_values(q, k, v):
        times = q.size(1) // k.size(1)
        return attention(lambda x, n: x)(q, other(k, times), share(v, times))

    wrong = {
        "The heads are grouped the other way: neighbors, or in turn.": attention(other),
        "Words and heads are scrambled: move the axes first.": attention(share, merge=scrambled),
        "The heads are concatenated one after the other, not entry by entry.": (
            attention(share, merge=lambda x: x.permute(0, 2, 3, 1).flatten(2))
        ),
        "They are grouped the other way, and scrambled: move the axes first.": (
            attention(other, merge=scrambled)
        ),
        "The divisor is missing.": attention(share, divisor=1.0),
        "The divisor is the root of the dimension.": attention(share, divisor=7.0),
        "The divisor is the root of one head's dimension, not of all heads'.": (
            lambda q, k, v: attention(share, divisor=(7 * q.size(1)) ** 0.5)(q, k, v)
        ),
        "All heads use the first keys and values.": (
            attention(lambda x, times: x[:, :1].repeat(1, times * x.size(1), 1, 1))
        ),
        "All heads use the mean of the keys and values.": (
            attention(lambda x, times: x.mean(1, True).repeat(1, times * x.size(1), 1, 1))
        ),
        "Only the values are shared as they should be.": only_values,
        "The heads are averaged, and not concatenated.": attention(
            share, merge=lambda x: x.mean(1)
        ),
        "The heads have still to be concatenated.": attention(share, merge=lambda x: x),
    }
    questions = [
        checked(as_many, equation, 1, case(1, 2, 3, 3)),
        checked("one head of keys can serve all", equation, 1, case(2, 3, 4, 1)),
        checked("the right heads share keys and values", merge, 4, *uneven),
        checked("a single word is no exception", merge, 1, (query[:, :, :1], key, value)),
    ]
    exercise = for_credit(
        "def grouped(query, key, value): ...",
        questions,
        right=attention(share),
        wrong=wrong,
        returns="the contexts",
        gate=2,
    )
    return [exercise, find_the_bug(numbers["program"], WITHOUT_BUG, merge, EXAMPLE)]
