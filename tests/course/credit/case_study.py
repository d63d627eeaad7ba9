"""Answers to *Find the contradictions*: right in unusual ways, and wrong, by kind."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import torch

OTHER = {"placed words": "words", "words": "placed words"}


def features(n, tokens):
    hot = torch.nn.functional.one_hot(tokens, 5)
    return hot.flatten(1) if n["sum"] == "placed words" else hot.sum(1)


def count(n, select=combinations, same=None, labelled=True, prepare=lambda x: x):
    same = same or (lambda a, b, c, d: bool((a + b == c + d).all()))

    def answer(tokens, labels):
        x = features(n, tokens)
        one, zero = (prepare(x[labels == y] if labelled else x) for y in (1, 0))
        return sum(same(a, b, c, d) for a, b in select(one, 2) for c, d in select(zero, 2))

    return answer


def by_matrix(n):
    def answer(tokens, labels):
        x = features(n, tokens)
        sums = []
        for label in (1, 0):
            rows = x[labels == label]
            i, j = torch.triu_indices(len(rows), len(rows), 1)
            sums.append(rows[i] + rows[j])
        equal = (sums[0][:, None] == sums[1]).all(-1)
        return equal.sum()

    return answer


def by_counting(n):
    def answer(tokens, labels):
        x = features(n, tokens)
        made = [
            Counter(tuple((a + b).tolist()) for a, b in combinations(x[labels == y], 2))
            for y in (0, 1)
        ]
        return np.int64(sum(made[0][key] * made[1][key] for key in made[0]))

    return answer


def with_random_numbers(n):
    """Two sums agree for random numbers if and only if they always do."""

    def answer(tokens, labels):
        x = features(n, tokens).double()
        z = x @ torch.randn(x.size(1), generator=torch.Generator().manual_seed(5)).double()
        one, zero = (sorted(map(float, z[labels == y])) for y in (1, 0))
        left = [a + b for a, b in combinations(one, 2)]
        right = [a + b for a, b in combinations(zero, 2)]
        return sum(abs(p - q) < 1e-9 for p in left for q in right)

    return answer


def as_sets(a, b, c, d):
    return bool((((a + b) > 0) == ((c + d) > 0)).all())


RIGHT = {
    "a matrix": by_matrix,
    "counting": by_counting,
    "random numbers": with_random_numbers,
}
WRONG = {
    "the other sum": (
        lambda n: by_matrix({"sum": OTHER[n["sum"]]}),
        "This is the other sum",
    ),
    "ordered": (
        lambda n: lambda t, y: 4 * by_matrix(n)(t, y),
        "Pairs have no order",
    ),
    "half ordered": (
        lambda n: lambda t, y: 2 * by_matrix(n)(t, y),
        "Pairs have no order",
    ),
    "a row twice": (
        lambda n: count(n, lambda rows, k: product(rows, repeat=k)),
        "Four different rows",
    ),
    "sets": (
        lambda n: count({"sum": "words"}, same=as_sets),
        "How often a word occurs matters|mathematics",
    ),
    "without copies": (
        lambda n: count(n, prepare=lambda x: x.unique(dim=0)),
        "copies too|mathematics",
    ),
    "no labels": (lambda n: count(n, labelled=False), "labels were not looked at"),
    "a share": (lambda n: lambda t, y: by_matrix(n)(t, y) / len(t), "mathematics"),
    "found or not": (lambda n: lambda t, y: by_matrix(n)(t, y) > 0, "mathematics"),
    "nothing": (lambda n: lambda t, y: None, "must be numbers; got None"),
}
