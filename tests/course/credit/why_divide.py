"""Answers to *The divisor that is right*: right in unusual ways, and wrong, by kind."""

from itertools import product

import numpy as np
import torch


def mean(v, c, power=1):
    return sum(a * b**power for a, b in zip(c, v, strict=True))


def spread(qv, qc, kv, kc, width, *, stretch=1.0, means=True):
    m = mean(qv, qc) * mean(kv, kc) if means else 0
    return (
        width * max(0, stretch * mean(qv, qc, 2) * mean(kv, kc, 2) - m**2)
    ) ** 0.5


def by_listing(n):
    def answer(qv, qc, kv, kc, width):
        kept = 1 - n["dropped"]
        keys = [(v / kept, c * kept) for v, c in zip(kv, kc, strict=True)] + [
            (0, 1 - kept)
        ]
        pairs = [
            (q * k, a * b)
            for (q, a), (k, b) in product(zip(qv, qc, strict=True), keys)
        ]
        m = sum(x * c for x, c in pairs)
        return np.sqrt(width * sum(c * (x - m) ** 2 for x, c in pairs))

    return answer


def in_torch(n):
    def answer(qv, qc, kv, kc, width):
        qv, qc, kv, kc = map(torch.tensor, (qv, qc, kv, kc))
        squares = (qv**2 @ qc) * (kv**2 @ kc) / (1 - n["dropped"])
        return (width * (squares - ((qv @ qc) * (kv @ kc)) ** 2)).sqrt()

    return answer


def by_parts(n):
    def answer(qv, qc, kv, kc, width):
        p = n["dropped"]
        var_q = mean(qv, qc, 2) - mean(qv, qc) ** 2
        var_k = mean(kv, kc, 2) / (1 - p) - mean(kv, kc) ** 2
        a, b = mean(qv, qc) ** 2, mean(kv, kc) ** 2
        return np.array([(width * (var_q * var_k + var_q * b + var_k * a)) ** 0.5])[
            0
        ]

    return answer


def variances(n):
    def answer(qv, qc, kv, kc, width):
        var_q = mean(qv, qc, 2) - mean(qv, qc) ** 2
        var_k = mean(kv, kc, 2) - mean(kv, kc) ** 2
        return (width * var_q * var_k / (1 - n["dropped"])) ** 0.5

    return answer


def stretched(n, by=-1, **others):
    return lambda *c: spread(*c, stretch=(1 - n["dropped"]) ** by, **others)


RIGHT = {"listing all cases": by_listing, "PyTorch": in_torch, "by parts": by_parts}
WRONG = {
    "the variance": (
        lambda n: lambda *c: stretched(n)(*c) ** 2,
        "This is the variance",
    ),
    "the root": (
        lambda n: lambda *c: c[4] ** 0.5,
        "root of the width stands alone",
    ),
    "too wide": (
        lambda n: lambda *c: stretched(n)(*c) * c[4] ** 0.5,
        "Variances of D products add",
    ),
    "no width": (
        lambda n: lambda *c: stretched(n)(*c) / c[4] ** 0.5,
        "The width is missing",
    ),
    "no dropout": (lambda n: spread, "but not the mean square"),
    "not divided": (lambda n: stretched(n, 1), "What stays is divided by 1 − p"),
    "squared": (lambda n: stretched(n, -2), "divided by 1 − p, and squared"),
    "variances": (variances, "variances do not multiply"),
    "no means": (
        lambda n: stretched(n, means=False),
        "square of the mean is missing",
    ),
    "drawn": (
        lambda n: (
            lambda *c: stretched(n)(*c) * (1 + 0.02 * torch.rand(1).item() + 0.001)
        ),
        "it gives",
    ),
    "one for each entry": (lambda n: lambda *c: [1.0] * c[4], "shape"),
}
