"""Answers to *A sampler that repeats nothing*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch


def dealt(order, ranks, rank, n, *, other=False):
    if (n["deal"] == "cards") != other:
        return order[rank::ranks]
    each = len(order) // ranks
    return order[rank * each : (rank + 1) * each]


def right(n, *, other=False, shift=None):
    shift = n["shift"] if shift is None else shift

    def own_share(count, ranks, rank, epoch):
        kept = count // ranks * ranks
        order = [(shift * epoch + i) % count for i in range(kept)]
        return dealt(order, ranks, rank, n, other=other)

    return own_share


def rolled(n):
    def own_share(count, ranks, rank, epoch):
        order = torch.arange(count).roll(-n["shift"] * epoch)
        order = order[: count // ranks * ranks]
        table = order.view(-1, ranks).T if n["deal"] == "cards" else order.view(ranks, -1)
        return table[rank]

    return own_share


def in_numpy(n):
    def own_share(count, ranks, rank, epoch):
        order = np.roll(np.arange(count), -n["shift"] * epoch)
        order = order[: len(order) - len(order) % ranks]
        if n["deal"] == "cards":
            return order[rank::ranks]
        return np.split(order, ranks)[rank]

    return own_share


def one_by_one(n):
    def own_share(count, ranks, rank, epoch):
        each, mine = count // ranks, []
        for k in range(each):
            at = rank + k * ranks if n["deal"] == "cards" else rank * each + k
            mine.append((n["shift"] * epoch + at) % count)
        return mine

    return own_share


def repeated(n):
    def own_share(count, ranks, rank, epoch):
        kept = -(-count // ranks) * ranks
        order = [(n["shift"] * epoch + i) % count for i in range(kept)]
        return dealt(order, ranks, rank, n)

    return own_share


def same_left_out(n):
    def own_share(count, ranks, rank, epoch):
        kept = count // ranks * ranks
        order = [(n["shift"] * epoch + i) % kept for i in range(kept)]
        return dealt(order, ranks, rank, n)

    return own_share


def own_turned(n):
    def own_share(count, ranks, rank, epoch):
        share = dealt(list(range(count // ranks * ranks)), ranks, rank, n)
        begin = n["shift"] * epoch % len(share)
        return share[begin:] + share[:begin]

    return own_share


def first_left_out(n):
    def own_share(count, ranks, rank, epoch):
        order = [(n["shift"] * epoch + i) % count for i in range(count)]
        return dealt(order[count % ranks :], ranks, rank, n)

    return own_share


RIGHT = {
    "a tensor": rolled,
    "NumPy": in_numpy,
    "one by one": one_by_one,
    "a tuple": lambda n: lambda *given: tuple(right(n)(*given)),
}
WRONG = {
    "the other way": (lambda n: right(n, other=True), "dealt out in the other way"),
    "from 1": (
        lambda n: lambda c, ranks, r, e: right(n)(c, ranks, (r - 1) % ranks, e),
        "Ranks are counted from 0",
    ),
    "no epoch": (lambda n: right(n, shift=0), "Every epoch has the same order"),
    "by one": (lambda n: right(n, shift=1), "begins one example later"),
    "backwards": (
        lambda n: right(n, shift=-n["shift"]),
        "turned the other way",
    ),
    "the same left out": (same_left_out, "same examples are left out"),
    "own share turned": (own_turned, "reads the same examples in every epoch"),
    "the first left out": (first_left_out, "first of the order are left out"),
    "repeated": (repeated, "shape: "),
    "all ranks": (
        lambda n: lambda c, ranks, r, e: [right(n)(c, ranks, rank, e) for rank in range(ranks)],
        "shape: ",
    ),
    "nothing": (lambda n: lambda *given: None, "must be numbers; got None"),
    "stops": (lambda n: lambda *given: [][1], "exception: IndexError"),
}
