"""Answers to *A test of the law*: right in unusual ways, and wrong, by kind."""

from itertools import combinations

import numpy as np
import torch


def keeps(n, orders, close=1e-4):
    def answer(model, x):
        before = model(x)
        wanted = lambda o: before[o] if n["law"] == "equivariant" else before  # noqa: E731
        return all(
            torch.allclose(model(x[o]), wanted(o), 0, close) for o in orders(len(x))
        )

    return answer


def randomly(count):
    return lambda length: [torch.randperm(length) for _ in range(count)]


def swaps(length):
    for i, j in combinations(range(length), 2):
        order = torch.arange(length)
        order[i], order[j] = j, i
        yield order


def two_that_generate(length):
    swap = torch.arange(length)
    swap[0], swap[1] = 1, 0
    return [swap, torch.arange(length).roll(1)]


def by_gap(n):
    def answer(model, x):
        worst = 0.0
        for _ in range(30):
            matrix = torch.eye(len(x), dtype=x.dtype)[torch.randperm(len(x))]
            out = matrix @ model(x) if n["law"] == "equivariant" else model(x)
            worst = max(worst, (model(matrix @ x) - out).abs().max().item())
        return np.bool_(worst < 1e-3)

    return answer


def fixed(order):
    return lambda length: [torch.as_tensor(order(length))]


RIGHT = {
    "all swaps": lambda n: keeps(n, swaps),
    "two that generate all": lambda n: keeps(n, two_that_generate),
    "matrices": by_gap,
    "a tensor": lambda n: lambda m, x: torch.tensor(keeps(n, randomly(40))(m, x)),
}
WRONG = {
    "believes all": (lambda n: lambda m, x: True, "Every model was believed"),
    "believes none": (lambda n: lambda m, x: False, "No model was believed"),
    "to the last bit": (lambda n: keeps(n, randomly(40), 0), "Rounding was taken"),
    "a mirror": (
        lambda n: keeps(n, fixed(lambda t: range(t)[::-1])),
        "A mirror image is one",
    ),
    "one swap": (
        lambda n: keeps(n, fixed(lambda t: [1, 0, *range(2, t)])),
        "One pair of words is one",
    ),
    "a ring": (
        lambda n: keeps(n, lambda t: [torch.arange(t).roll(k) for k in range(t)]),
        "does not tear neighbours apart",
    ),
    "no shuffle": (
        lambda n: keeps(n, fixed(range)),
        "on the order as it is|Every model",
    ),
    "turned round": (
        lambda n: lambda m, x: not keeps(n, randomly(40))(m, x),
        "answer is turned round",
    ),
    "the other law": (
        lambda n: keeps(
            {"law": "invariant" if n["law"] == "equivariant" else "equivariant"},
            randomly(40),
        ),
        "This is the other law|No model was believed|exception: IndexError",
    ),
    "a gap": (lambda n: lambda m, x: (m(x) - m(x.flip(0))).abs(), "shape"),
    "nothing": (lambda n: lambda m, x: None, "must be numbers; got None"),
}
