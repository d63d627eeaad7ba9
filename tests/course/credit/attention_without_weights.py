"""Answers to *Listen to the others*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch


def scores(x):
    return x @ x.T / x.size(1) ** 0.5


def own(s):
    return torch.eye(len(s), dtype=torch.bool)


def others(s):
    return s.masked_fill(own(s), -torch.inf).softmax(-1)


def listen(n, weigh, keep=None):
    k = n["keep"] if keep is None else keep
    return lambda x: x if len(x) == 1 else k * x + (1 - k) * weigh(scores(x)) @ x


def in_numpy(n):
    def answer(x):
        x = np.asarray(x, dtype=np.float32)
        if len(x) == 1:
            return x
        e = np.exp(x @ x.T / np.sqrt(x.shape[1]))
        np.fill_diagonal(e, 0)
        return n["keep"] * x + (1 - n["keep"]) * (e / e.sum(1, keepdims=True)) @ x

    return answer


def word_by_word(n):
    def answer(x):
        rows = []
        for i, word in enumerate(x):
            rest = torch.cat([x[:i], x[i + 1 :]])
            share = (rest @ word / x.size(1) ** 0.5).softmax(0)
            rows.append(
                n["keep"] * word + (1 - n["keep"]) * share @ rest
                if len(rest)
                else word
            )
        return torch.stack(rows)

    return answer


def after(s):
    w = s.softmax(-1).masked_fill(own(s), 0)
    return w / w.sum(-1, keepdim=True)


RIGHT = {
    "NumPy in 32 bits": in_numpy,
    "word by word": word_by_word,
    "divided again": lambda n: listen(n, after),
    "einsum": lambda n: (
        lambda x: (
            x
            if len(x) == 1
            else n["keep"] * x
            + (1 - n["keep"])
            * torch.einsum(
                "ij,jd->id",
                others(torch.einsum("id,jd->ij", x, x) / x.size(1) ** 0.5),
                x,
            )
        )
    ),
}
WRONG = {
    "itself": (
        lambda n: listen(n, lambda s: s.softmax(-1)),
        "still listens to itself",
    ),
    "scores of 0": (
        lambda n: listen(n, lambda s: s.masked_fill(own(s), 0).softmax(-1)),
        "A score of 0 hides nothing",
    ),
    "too late": (
        lambda n: listen(n, lambda s: s.softmax(-1).masked_fill(own(s), 0)),
        "do not sum to one",
    ),
    "exchanged": (
        lambda n: listen(n, others, 1 - n["keep"]),
        "shares are exchanged",
    ),
    "nothing kept": (
        lambda n: listen(n, others, 0),
        "share that a word keeps is missing",
    ),
    "columns": (
        lambda n: listen(n, lambda s: s.masked_fill(own(s), -torch.inf).softmax(0)),
        "along the columns",
    ),
    "no divisor": (
        lambda n: lambda x: n["keep"] * x + (1 - n["keep"]) * others(x @ x.T) @ x,
        "divisor is missing",
    ),
    "divided by the width": (
        lambda n: (
            lambda x: (
                n["keep"] * x + (1 - n["keep"]) * others(x @ x.T / x.size(1)) @ x
            )
        ),
        "divisor is the root",
    ),
    "a mean": (
        lambda n: listen(n, lambda s: others(s * 0)),
        "plain mean of the others",
    ),
    "alone": (
        lambda n: lambda x: n["keep"] * x + (1 - n["keep"]) * others(scores(x)) @ x,
        r"a tensor \(1, 3\)|called with",
    ),
    "weights": (lambda n: lambda x: others(scores(x)), "shape"),
    "nothing": (lambda n: lambda x: None, "must be numbers"),
}
