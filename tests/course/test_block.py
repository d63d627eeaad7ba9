"""A norm of your own: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")


def right(x, gain, bias, eps, *, axes=-1, unbiased=0, root=torch.sqrt):
    centred = x - x.mean(axes, keepdim=True)
    variance = x.var(axes, correction=unbiased, keepdim=True)
    return gain * centred / root(variance + eps) + bias


def in_numpy(x, gain, bias, eps):
    x, gain, bias = (np.asarray(part) for part in (x, gain, bias))
    centred = x - x.mean(-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps) + bias


def looped(x, gain, bias, eps):
    out = torch.empty_like(x)
    for b in range(x.size(0)):
        for t in range(x.size(1)):
            row = x[b, t]
            mean = sum(row) / len(row)
            variance = sum((entry - mean) ** 2 for entry in row) / len(row)
            out[b, t] = gain * (row - mean) / (variance + eps) ** 0.5 + bias
    return out


def in_place(x, gain, bias, eps):
    x -= x.mean(-1, keepdim=True)
    x /= (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()
    return x.mul_(gain).add_(bias)


def by_einsum(x, gain, bias, eps):
    x = x - torch.einsum("btd->bt", x)[..., None] / x.size(-1)
    square = torch.einsum("btd,btd->bt", x, x) / x.size(-1)
    return torch.einsum("btd,bt,d->btd", x, (square + eps).rsqrt(), gain) + bias


def by_squares(x, gain, bias, eps):
    """Take the square of the mean from the mean of the squares."""
    mean = x.mean(-1, keepdim=True)
    variance = x.square().mean(-1, keepdim=True) - mean.square()
    return gain * (x - mean) / (variance + eps).sqrt() + bias


def outside(x, gain, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / (x.std(-1, correction=0, keepdim=True) + eps) + bias


def rms(x, gain, bias, eps):
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + bias


def bare(x, eps):
    return right(x, 1, 0, eps)


def module(x, gain, bias, eps):
    norm = nn.LayerNorm(x.size(-1), eps=eps)
    norm.weight.data, norm.bias.data = gain, bias
    return norm(x)


RIGHT = {
    "layer_norm": {
        "as on the page": right,
        "NumPy": in_numpy,
        "a loop": looped,
        "in place": in_place,
        "einsum": by_einsum,
        "squares": by_squares,
        "32 bits": lambda x, g, b, e: right(x.float(), g.float(), b.float(), e),
        "64 bits": lambda x, g, b, e: right(x.double(), g, b, e),
        "16 bits": lambda x, g, b, e: right(x, g, b, e).bfloat16(),
        "a list": lambda *x: right(*x).tolist(),
    }
}
WRONG = {
    "layer_norm": {
        "PyTorch's, from behind": (
            lambda x, gain, bias, eps: torch.ops.aten.layer_norm.default(
                x, [x.size(-1)], gain, bias, eps
            ),
            "it calls PyTorch's layer_norm",
        ),
        "two samples": (
            lambda x, gain, bias, eps: torch.cat(
                [right(x[i : i + 1], gain, bias, eps) for i in range(2)]
            ),
            r"shape: the output must have shape \(4, 1, 7\)",
        ),
        "a width that was written out": (
            lambda x, gain, bias, eps: rms(x - x.sum(-1, keepdim=True) / 5, gain, bias, eps),
            "has mean",
        ),
        "over the samples": (
            lambda x, gain, bias, eps: right(x, gain, bias, eps, axes=0),
            "of an entry over the samples",
        ),
        "as batch norm": (
            lambda x, gain, bias, eps: right(x, gain, bias, eps, axes=(0, 1)),
            "as batch norm takes them",
        ),
        "with the input": (
            lambda x, gain, bias, eps: x + right(x, gain, bias, eps),
            "The input comes through",
        ),
        "exchanged, and eps": (
            lambda x, gain, bias, eps: right(x, bias, gain, eps),
            "^(?!.*eps is not used).*Gain and bias are exchanged",
        ),
        "positions": (
            lambda *x: right(*x, axes=1),
            "those of an entry over the positions",
        ),
        "samples": (lambda *x: right(*x, axes=(1, 2)), "all positions together"),
        "the batch": (lambda *x: right(*x, axes=(0, 1, 2)), "the whole batch"),
        "unbiased": (
            lambda *x: right(*x, unbiased=1),
            "has variance 0.8, not 1. It divides by the deviation of `torch.std`",
        ),
        "not centred": (rms, "mean is not taken away: only the mean square"),
        "variance": (
            lambda *x: right(*x, root=lambda v: v),
            "divided by the variance, not by its root",
        ),
        "not scaled": (
            lambda x, g, b, e: g * (x - x.mean(-1, keepdim=True)) + b,
            "mean is taken away, and nothing is divided",
        ),
        "multiplied": (
            lambda *x: right(*x, root=torch.rsqrt),
            "multiplied by the root, not divided",
        ),
        "outside": (outside, "eps is added outside of the root"),
        "torch.std": (
            lambda x, g, b, e: (
                g * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + e) + b
            ),
            "outside of the root, and the deviation is that of `torch.std`",
        ),
        "own eps": (
            lambda x, g, b, e: right(x, g, b, 1e-5),
            "eps is not used as it is given",
        ),
        "no eps": (
            lambda x, g, b, e: right(x, g, b, 0),
            "eps is not used as it is given",
        ),
        "squared": (lambda x, g, b, e: right(x, g, b, e * e), "eps is squared"),
        "a limit": (
            lambda x, g, b, e: right(x, g, b, 0, root=lambda v: v.clamp(e).sqrt()),
            "eps is a lower limit of the variance",
        ),
        "bias first": (
            lambda x, g, b, e: g * (bare(x, e) + b),
            "The bias comes before the gain",
        ),
        "no gain": (lambda x, g, b, e: bare(x, e) + b, "The gain is left out"),
        "no bias": (lambda x, g, b, e: g * bare(x, e), "The bias is left out"),
        "neither": (lambda x, g, b, e: bare(x, e), "both left out"),
        "exchanged": (lambda x, g, b, e: right(x, b, g, e), "are exchanged"),
        "one more": (
            lambda x, g, b, e: right(x, 1 + g, b, e),
            "One is added to the gain",
        ),
        "PyTorch's": (
            lambda x, g, b, e: F.layer_norm(x, (5,), g, b, e),
            "calls PyTorch's layer_norm",
        ),
        "a module": (module, "calls PyTorch's layer_norm"),
        "flat": (
            lambda *x: right(*x).flatten(0, 1),
            r"shape: .*\(2, 3, 5\); got \(6, 5\)",
        ),
        "integers": (lambda *x: right(*x).int(), "dtype: .* got int32"),
        "nothing": (lambda *x: None, "missing: .* got None"),
        "no keepdim": (
            lambda x, g, b, e: (x - x.mean(-1)) / x.var(-1).sqrt(),
            "exception: RuntimeError",
        ),
    }
}


@pytest.mark.parametrize("kind", RIGHT["layer_norm"])
def test_what_is_right_passes(kind):
    assert said(report("block", RIGHT["layer_norm"][kind], "layer_norm")) == ""


@pytest.mark.parametrize("kind", WRONG["layer_norm"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["layer_norm"][kind]
    found = report("block", answer, "layer_norm")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(("kind", "points"), [("unbiased", 4), ("bias first", 5), ("outside", 5)])
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("block", WRONG["layer_norm"][kind][0], "layer_norm")
    assert (found.points, found.possible) == (points, 6)
