"""Answers to *Attention that can keep silent*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch
import torch.nn.functional as F


def scores(q, k):
    return q @ k.mT / q.size(-1) ** 0.5


def silent(q, k, v, score):
    s = scores(q, k)
    return F.pad(s, (0, 1), value=score).softmax(-1)[..., :-1] @ v


def by_sigmoid(n):
    def answer(q, k, v):
        s = scores(q, k)
        heard = (s.logsumexp(-1, keepdim=True) - n["silence"]).sigmoid()
        return heard * (s.softmax(-1) @ v)

    return answer


def in_numpy(n):
    def answer(q, k, v):
        q, k, v = (x.numpy() for x in (q, k, v))
        s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        top = np.maximum(s.max(-1, keepdims=True), n["silence"])
        e = np.exp(s - top)
        return e / (e.sum(-1, keepdims=True) + np.exp(n["silence"] - top)) @ v

    return answer


def with_a_key(n):
    def answer(q, k, v):
        v = torch.cat([v, torch.zeros_like(v[..., :1, :])], -2)
        q = torch.cat([q, torch.ones_like(q[..., :1])], -1) / q.size(-1) ** 0.5
        k = F.pad(k, (0, 1, 0, 1))
        k[..., -1, -1] = n["silence"] * (q.size(-1) - 1) ** 0.5
        return (q @ k.mT).softmax(-1) @ v

    return answer


def moved(n):
    def answer(q, k, v):
        s = scores(q, k)
        e = (s - s.amax(-1, keepdim=True)).exp()
        return e / (e.sum(-1, keepdim=True) + np.exp(n["silence"])) @ v

    return answer


def overflowing(n):
    def answer(q, k, v):
        e = scores(q, k).exp()
        return e / (e.sum(-1, keepdim=True) + np.exp(n["silence"])) @ v

    return answer


RIGHT = {
    "a sigmoid": by_sigmoid,
    "NumPy": in_numpy,
    "one more key": with_a_key,
    "32 bits": lambda n: (
        lambda q, k, v: silent(q.float(), k.float(), v.float(), n["silence"])
    ),
}
WRONG = {
    "no silence": (
        lambda n: lambda q, k, v: scores(q, k).softmax(-1) @ v,
        "There is no silent key",
    ),
    "divided": (
        lambda n: lambda q, k, v: silent(q, k, v, n["silence"] / q.size(-1) ** 0.5),
        "it is not divided",
    ),
    "undivided": (
        lambda n: lambda q, k, v: silent(q * q.size(-1) ** 0.5, k, v, n["silence"]),
        "want their divisor",
    ),
    "score 0": (
        lambda n: lambda q, k, v: silent(q, k, v, 0.0),
        "The silent score is 0 here",
    ),
    "other sign": (
        lambda n: lambda q, k, v: silent(q, k, v, -n["silence"]),
        "the other sign",
    ),
    "not moved along": (moved, "but not from the silent one"),
    "overflow": (overflowing, "Exponentials of large scores are infinite"),
    "S + 1 values": (
        lambda n: (
            lambda q, k, v: (
                F.pad(scores(q, k), (0, 1), value=n["silence"]).softmax(-1) @ v
            )
        ),
        "exception: RuntimeError",
    ),
    "weights": (lambda n: lambda q, k, v: scores(q, k).softmax(-1), "shape"),
    "a pair": (
        lambda n: lambda q, k, v: (silent(q, k, v, n["silence"]), scores(q, k)),
        "must be numbers; got tuple|shape",
    ),
}
