"""Answers to *A gated network*: right in unusual ways, and wrong, by kind."""

import math

import numpy as np
import torch
import torch.nn.functional as F

ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu}


def rms(n, x, eps=None):
    eps = n["eps"] if eps is None else eps
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def product(n, one, two):
    return ACTIVATIONS[n["activation"]](one) * two


def network(n, *, norm=rms, join=product, path=lambda x, normed: x, gained=True):
    def gated(x, gain, gate, up, down):
        normed = norm(n, x) * (gain if gained else 1)
        return path(x, normed) + join(n, normed @ gate, normed @ up) @ down

    return gated


def in_numpy(n):
    def a(x):
        if n["activation"] == "relu":
            return np.maximum(x, 0)
        if n["activation"] == "silu":
            return x / (1 + np.exp(-x))
        return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2

    def gated(x, gain, gate, up, down):
        x, gain, gate, up, down = (np.asarray(y) for y in (x, gain, gate, up, down))
        normed = gain * x / np.sqrt(np.square(x).mean(-1, keepdims=True) + n["eps"])
        return x + (a(normed @ gate) * (normed @ up)) @ down

    return gated


def pytorchs(n):
    def gated(x, gain, gate, up, down):
        normed = F.rms_norm(x, x.shape[-1:], gain, n["eps"])
        one, two = (normed @ torch.cat([gate, up], -1)).chunk(2, -1)
        x += product(n, one, two) @ down
        return x

    return gated


def by_einsum(n):
    def gated(x, gain, gate, up, down):
        x, gain, gate, up, down = (y.float() for y in (x, gain, gate, up, down))
        normed = rms(n, x) * gain
        one, two = (torch.einsum("...d,df->...f", normed, w) for w in (gate, up))
        return x + torch.einsum("...f,fd->...d", product(n, one, two), down)

    return gated


def centred(n, x):
    return F.layer_norm(x, x.shape[-1:], eps=n["eps"])


def other(n):
    names = [name for name in ACTIVATIONS if name != n["activation"]]
    return {**n, "activation": names[0]}


RIGHT = {
    "NumPy": in_numpy,
    "PyTorch's norm, in place": pytorchs,
    "einsum in 32 bits": by_einsum,
}
WRONG = {
    "a layer norm": (lambda n: network(n, norm=centred), "this is a layer norm"),
    "eps outside": (
        lambda n: network(n, norm=lambda n, x: x / (rms_size(x) + n["eps"])),
        "under the root",
    ),
    "a length": (
        lambda n: network(n, norm=lambda n, x: x / (rms_size(x, torch.sum) ** 2 + n["eps"]) ** 0.5),
        "not their sum",
    ),
    "no eps": (
        lambda n: network(n, norm=lambda n, x: rms(n, x, 0)),
        "eps is missing",
    ),
    "no norm": (lambda n: network(n, norm=lambda n, x: x), "There is no norm"),
    "no gain": (lambda n: network(n, gained=False), "The gain is missing"),
    "the wrong factor": (
        lambda n: network(n, join=lambda n, g, u: product(n, u, g)),
        "on the wrong factor",
    ),
    "on the product": (
        lambda n: network(n, join=lambda n, g, u: ACTIVATIONS[n["activation"]](g * u)),
        "on the product",
    ),
    "a sum": (
        lambda n: network(n, join=lambda n, g, u: ACTIVATIONS[n["activation"]](g) + u),
        "multiplied, not added",
    ),
    "no path": (lambda n: network(n, path=lambda x, m: 0), "The path is missing"),
    "the normed path": (
        lambda n: network(n, path=lambda x, m: m),
        "not the normed one",
    ),
    "another activation": (lambda n: network(other(n)), "The activation is"),
    "no activation": (
        lambda n: network(n, join=lambda n, g, u: g * u),
        "The activation is missing",
    ),
    "inside": (lambda n: lambda x, gain, gate, up, down: x @ gate, "shape"),
}


def rms_size(x, reduce=torch.mean):
    return reduce(x.pow(2), -1, keepdim=True).sqrt()
