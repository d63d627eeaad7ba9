"""Answers to *Take cells out of a map*: right in unusual ways, and wrong, by kind."""

import torch


def cells(tokens, k):
    length = tokens.size(1)
    found = torch.zeros(len(tokens), length, length, dtype=torch.bool)
    found[:, :, k:] = tokens[:, :, None] == tokens[:, None, : length - k]
    return (found & torch.ones(length, length, dtype=torch.bool).tril())[:, None]


def shared(left, weights):
    total = left.sum(-1, keepdim=True)
    return torch.where(total > 0, left / total.where(total > 0, 1), weights)


def right(weights, tokens, n):
    return shared(weights.masked_fill(cells(tokens, n["steps"]), 0), weights)


def looped(weights, tokens, n):
    made = weights.clone()
    k = n["steps"]
    for b, row in enumerate(tokens.tolist()):
        for i, token in enumerate(row):
            gone = [j for j in range(k, i + 1) if row[j - k] == token]
            for h in range(weights.size(1)):
                left = made[b, h, i].clone()
                left[gone] = 0
                if left.sum() > 0:
                    made[b, h, i] = left / left.sum()
    return made


def by_scores(weights, tokens, n):
    scores = weights.log().masked_fill(cells(tokens, n["steps"]), -torch.inf)
    blind = scores.isneginf().all(-1, keepdim=True)
    return torch.where(blind, weights, scores.masked_fill(blind, 0).softmax(-1))


def other(steps):
    return lambda n: lambda w, t: right(w, t, {"steps": steps(n["steps"])})


def latest(weights, tokens, n):
    found = cells(tokens, n["steps"])
    last = found & (found.flip(-1).cumsum(-1).flip(-1) == 1)
    return shared(weights.masked_fill(last, 0), weights)


def comes_round(weights, tokens, n):
    length = tokens.size(1)
    found = tokens[:, :, None] == tokens[:, None, :].roll(n["steps"], dims=-1)
    found = found & torch.ones(length, length, dtype=torch.bool).tril()
    return shared(weights.masked_fill(found[:, None], 0), weights)


def the_copies(weights, tokens, n):
    length = tokens.size(1)
    found = tokens[:, :, None] == tokens[:, None, :]
    found = found & torch.ones(length, length, dtype=torch.bool).tril(-1)
    return shared(weights.masked_fill(found[:, None], 0), weights)


def not_shared(weights, tokens, n):
    return weights.masked_fill(cells(tokens, n["steps"]), 0)


def not_a_number(weights, tokens, n):
    left = not_shared(weights, tokens, n)
    return left / left.sum(-1, keepdim=True)


def in_place(weights, tokens, n):
    made = right(weights, tokens, n)
    weights.copy_(made)
    return weights


RIGHT = {
    "a loop": lambda n: lambda w, t: looped(w, t, n),
    "through the scores": lambda n: lambda w, t: by_scores(w, t, n),
    "in float32": lambda n: lambda w, t: right(w.float(), t, n),
    "NumPy": lambda n: lambda w, t: right(w, t, n).numpy(),
}
WRONG = {
    "not shared out": (
        lambda n: lambda w, t: not_shared(w, t, n),
        "not shared out again",
    ),
    "the copies": (
        lambda n: lambda w, t: the_copies(w, t, n),
        "copies themselves were taken out",
    ),
    "comes round": (
        lambda n: lambda w, t: comes_round(w, t, n),
        "come round to the first keys",
    ),
    "the latest": (lambda n: lambda w, t: latest(w, t, n), "Only the latest copy"),
    "a step too far": (other(lambda k: k + 1), "steps behind the copy, not"),
    "the others": (
        lambda n: lambda w, t: shared(w.masked_fill(~cells(t, n["steps"]), 0), w),
        "the others were to stay",
    ),
    "turned round": (
        lambda n: lambda w, t: shared(w.masked_fill(cells(t, n["steps"]).mT, 0), w),
        "Rows and columns are exchanged",
    ),
    "nothing done": (lambda n: lambda w, t: w, "Nothing was taken out"),
    "not a number": (
        lambda n: lambda w, t: not_a_number(w, t, n),
        "would lose all of its weight stays as it was; got",
    ),
    "in place": (lambda n: lambda w, t: in_place(w, t, n), "must not change"),
    "one head": (
        lambda n: lambda w, t: right(w, t, n)[:, 0],
        r"shape: .*\(3, 2, 11, 11\)",
    ),
    "nothing": (lambda n: lambda w, t: None, "missing: it must return maps"),
    "stops": (lambda n: lambda w, t: w @ t, "exception: RuntimeError"),
}
