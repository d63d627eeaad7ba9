"""The Transformer block: a gated feed-forward network."""

from functools import partial

import torch
import torch.nn.functional as F

from selfattn_book.exercises.checking.exercise import checked, factory, for_credit
from selfattn_book.exercises.checking.find_the_bug import find_the_bug
from selfattn_book.exercises.checking.numbers import normal

ACTIVATIONS = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu}
NORM = "block.html#layer-normalization"
NETWORK = "block.html#the-feed-forward-network"
BATCHES = "block.html#pre-norm-and-post-norm"


def case(seed, *shape, size=1.0, shift=0.0, plain=False):
    """Return vectors and weights; the gain of plain ones is 1."""
    d, d_ff = shape[-1], 7
    x, gain, *weights = normal(seed, shape, (d,), (d, d_ff), (d, d_ff), (d_ff, d))
    return size * x + shift, torch.ones_like(gain) if plain else gain, *weights


def mean_square(x):
    return x.pow(2).mean(-1, keepdim=True)


def network(
    activation, eps, *, norm=None, join=None, path=lambda x, n: x, gained=lambda n, gain: gain * n
):
    """Return the gated network, put together from parts."""
    a = ACTIVATIONS[activation]
    norm = norm or (lambda x: x / (mean_square(x) + eps).sqrt())
    join = join or (lambda one, two: a(one) * two)

    def gated(x, gain, gate, up, down):
        n = gained(norm(x), gain)
        return path(x, n) + join(n @ gate, n @ up) @ down

    return gated


@factory
def in_32_bits(activation, eps, *arguments):
    x, gain, gate, up, down = (argument.float() for argument in arguments)
    n = x * gain * (mean_square(x) + eps).rsqrt()
    one, two = (torch.einsum("...d,df->...f", n, w) for w in (gate, up))
    return x + torch.einsum("...f,fd->...d", ACTIVATIONS[activation](one) * two, down)


WITHOUT_BUG = """\
def layer_norm(x, gain, bias, eps):
    mean = x.mean(dim=-1, keepdim=True)
    centered = x - mean
    variance = centered.square().mean(dim=-1, keepdim=True)
    normed = centered / (variance + eps).sqrt()
    return gain * normed + bias
"""
EXAMPLE = {
    "x": [[1, 2, 4], [0, 5, 1]],
    "gain": [2, 1, 3],
    "bias": [1, 0, 2],
    "eps": 0.5,
}  # all bugs show


def exercises(numbers):
    activation, eps = numbers["activation"], numbers["eps"]
    a, of = ACTIVATIONS[activation], partial(network, activation, eps)
    wrong = {
        "The mean was subtracted: this is a layer norm.": (
            of(norm=lambda x: F.layer_norm(x, x.shape[-1:], eps=eps))
        ),
        "eps belongs under the root.": of(norm=lambda x: x / (mean_square(x).sqrt() + eps)),
        "It is the mean of the squares, not their sum.": (
            of(norm=lambda x: x / (x.size(-1) * mean_square(x) + eps).sqrt())
        ),
        "The norm is of each vector by itself.": (
            of(norm=lambda x: x / (x.pow(2).mean() + eps).sqrt())
        ),
        "eps is missing, or much smaller than yours.": (
            of(norm=lambda x: x / (mean_square(x) + 1e-6).sqrt())
        ),
        "There is no norm.": of(norm=lambda x: x),
        "The gain is missing.": of(gained=lambda n, gain: n),
        "The activation is on the wrong factor.": of(join=lambda g, u: g * a(u)),
        "The activation is on the product.": of(join=lambda g, u: a(g * u)),
        "The activation is missing.": of(join=lambda g, u: g * u),
        "The two are multiplied, not added.": of(join=lambda g, u: a(g) + u),
        "The residual connection is missing: x has to be added.": of(path=lambda x, n: 0),
        "What is added at the end is x, not the normalized one.": of(path=lambda x, n: n),
        **{
            f"The activation is {name} here.": network(name, eps)
            for name in ACTIVATIONS
            if name != activation
        },
    }
    questions = [
        checked("it works for one vector without a gain", NETWORK, 2, case(1, 5, plain=True)),
        checked("the gain is used", NORM, 1, case(2, 3, 4)),
        checked("nothing is subtracted", NORM, 2, case(3, 2, 5, shift=2.0)),
        checked("small vectors show eps", NORM, 1, case(4, 2, 3, size=0.1)),
        checked("batches and heads change nothing", BATCHES, 1, case(5, 2, 3, 4, 6)),
    ]
    exercise = for_credit(
        "def gated(x, gain, gate, up, down): ...",
        questions,
        right=of(),
        wrong=wrong,
        unusual={"in 32 bits": in_32_bits(activation, eps)},
        gate=0,
    )
    return [exercise, find_the_bug(numbers["program"], WITHOUT_BUG, NORM, EXAMPLE)]
