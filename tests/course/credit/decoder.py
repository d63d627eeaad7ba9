"""Answers to *The loss of one pass*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch
import torch.nn.functional as F


def shifted(n, y):
    start = torch.tensor(n["start"], dtype=y.dtype).expand(len(y), 1, 2)
    return torch.cat([start, y[:, :-1]], 1)


def causal(y):
    return torch.ones(y.size(1), y.size(1)).bool().tril()


def average(n, errors, lengths):
    real = torch.arange(errors.size(1)) < lengths[:, None]
    if n["average"] == "points":
        return errors[real].mean()
    return ((errors * real).sum(1) / lengths).mean()


def loss(n, *, fed=shifted, mask=causal, mean=average):
    def answer(decoder, memory, y, lengths):
        errors = (decoder(fed(n, y), memory, mask(y)) - y).pow(2).mean(-1)
        return mean(n, errors, lengths)

    return answer


def in_loops(n):
    def answer(decoder, memory, y, lengths):
        said = decoder(shifted(n, y), memory, causal(y))
        each = [
            [((said[b, t] - y[b, t]) ** 2).mean().item() for t in range(int(k))]
            for b, k in enumerate(lengths)
        ]
        if n["average"] == "sequences":
            return np.mean([np.mean(one) for one in each])
        return np.mean([x for one in each for x in one])

    return answer


def by_roll(n):
    def fed(n, y):
        y = y.roll(1, dims=1)
        y[:, 0] = torch.tensor(n["start"], dtype=y.dtype)
        return y

    return loss(n, fed=fed)


def weighted(n):
    def answer(decoder, memory, y, lengths):
        said = decoder(shifted(n, y), memory, causal(y))
        weight = (torch.arange(y.size(1)) < lengths[:, None]).double()
        if n["average"] == "sequences":
            weight = weight / lengths[:, None]
        each = F.mse_loss(said, y, reduction="none").mean(-1)
        return ((each * weight).sum() / weight.sum()).float()

    return answer


OTHER = {"points": "sequences", "sequences": "points"}
RIGHT = {"loops": in_loops, "roll": by_roll, "a weighted mean in 32 bits": weighted}
WRONG = {
    "the target itself": (
        lambda n: loss(n, fed=lambda n, y: y),
        "point that it is asked for",
    ),
    "the other way": (
        lambda n: loss(n, fed=lambda n, y: torch.cat([y[:, 1:], y[:, -1:]], 1)),
        "shifted the other way",
    ),
    "zeros first": (
        lambda n: loss(n, fed=lambda n, y: F.pad(y[:, :-1], (0, 0, 1, 0))),
        "not your start",
    ),
    "the first twice": (
        lambda n: loss(n, fed=lambda n, y: torch.cat([y[:, :1], y[:, :-1]], 1)),
        "fed twice",
    ),
    "no mask": (
        lambda n: loss(n, mask=lambda y: causal(y) | True),
        "future is not hidden",
    ),
    "padding counts": (
        lambda n: loss(n, mean=lambda n, e, k: e.mean()),
        "Padding counts",
    ),
    "padding divides": (
        lambda n: loss(
            n,
            mean=lambda n, e, k: (e * (torch.arange(e.size(1)) < k[:, None])).mean(),
        ),
        "but divided by",
    ),
    "a sum": (
        lambda n: loss(n, mean=lambda n, e, k: e[torch.arange(e.size(1)) < k[:, None]].sum()),
        "a sum, not a mean",
    ),
    "two errors": (lambda n: lambda *c: 2 * loss(n)(*c), "two errors"),
    "a root": (lambda n: lambda *c: loss(n)(*c) ** 0.5, "The root was taken"),
    "the other average": (
        lambda n: lambda *c: loss({**n, "average": OTHER[n["average"]]})(*c),
        "averaged the other way",
    ),
    "a loss for each": (lambda n: loss(n, mean=lambda n, e, k: e), "shape"),
    "no mask given": (
        lambda n: lambda d, m, y, k: d(shifted(n, y), m).mean(),
        "exception: TypeError",
    ),
}
