"""Answers to *The bits of an answer*: right in unusual ways, and wrong, by kind."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def right(logits, tokens, characters, n, *, shift=1, leave=0):
    first = n["prompt"] + leave
    said = logits[first - shift : len(tokens) - shift]
    nats = F.cross_entropy(said, tokens[first:], reduction="sum")
    return nats / characters[tokens[first:]].sum() / math.log(2)


def looped(n):
    def answer(logits, tokens, characters):
        share, count = 1.0, 0
        for t in range(n["prompt"], len(tokens)):
            row = logits[t - 1].double().exp()
            share *= float(row[tokens[t]] / row.sum())
            count += int(characters[tokens[t]])
        return -math.log2(share) / count

    return answer


def with_numpy(n):
    def answer(logits, tokens, characters):
        logits, tokens, characters = (x.numpy() for x in (logits, tokens, characters))
        exponentials = np.exp2(logits / np.log(2))
        shares = exponentials / exponentials.sum(-1, keepdims=True)
        new = tokens[n["prompt"] :]
        of_new = shares[np.arange(n["prompt"] - 1, len(tokens) - 1), new]
        return -np.log2(of_new).sum() / characters[new].sum()

    return answer


def of(function):
    return lambda n: lambda *inputs: function(*inputs, n)


def scaled(factor):
    return of(lambda x, t, c, n: right(x, t, c, n) * factor(t, c, n))


RIGHT = {"a loop": looped, "NumPy": with_numpy, "cross entropy": of(right)}
WRONG = {
    "nats": (scaled(lambda t, c, n: math.log(2)), "These are nats, not bits"),
    "not shifted": (
        of(lambda x, t, c, n: right(x, t, c, n, shift=0)),
        "behind it, and not its own",
    ),
    "the first left out": (
        of(lambda x, t, c, n: right(x, t, c, n, leave=1)),
        "first token of the answer is left out",
    ),
    "per token": (
        scaled(lambda t, c, n: c[t[n["prompt"] :]].sum() / (len(t) - n["prompt"])),
        "mean over tokens",
    ),
    "a sum": (
        scaled(lambda t, c, n: c[t[n["prompt"] :]].sum()),
        "not divided by anything",
    ),
    "all characters": (
        scaled(lambda t, c, n: c[t[n["prompt"] :]].sum() / c[t].sum()),
        "characters of the question were counted",
    ),
    "the question, too": (
        of(lambda x, t, c, n: right(x, t, c, {"prompt": 1})),
        "question itself was measured",
    ),
    "no softmax": (
        of(
            lambda x, t, c, n: (
                -x[n["prompt"] - 1 : -1].gather(1, t[n["prompt"] :, None]).sum()
                / c[t[n["prompt"] :]].sum()
            )
        ),
        "mathematics: called with",
    ),
    "for each token": (
        of(lambda x, t, c, n: -x.log_softmax(-1)[range(len(t)), t]),
        r"shape: .* must have shape \(\)",
    ),
    "nothing": (
        lambda n: lambda *inputs: None,
        "missing: .* must be numbers; got None",
    ),
    "stops": (
        lambda n: lambda x, t, c: x @ torch.ones(2),
        "exception: RuntimeError",
    ),
}
