"""The block: a gated network."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees
from selfattn_book.exercises.checking.exercise import Asked, Exercise

Case = tuple[Tensor, ...]
ACTIVATIONS: dict[str, Function] = {"relu": F.relu, "silu": F.silu, "gelu": F.gelu}


def case(
    seed: int,
    *shape: int,
    size: float = 1.0,
    shift: float = 0.0,
    plain: bool = False,
) -> Case:
    """Return vectors and weights; plain ones have a gain of 1."""
    chance = torch.Generator().manual_seed(seed)

    def draw(*sizes: int) -> Tensor:
        return torch.randn(*sizes, generator=chance, dtype=torch.float64)

    width, inner = shape[-1], 7
    gain = torch.ones(width, dtype=torch.float64) if plain else draw(width)
    x = size * draw(*shape) + shift
    return x, gain, draw(width, inner), draw(width, inner), draw(inner, width)


def rms(x: Tensor, eps: float) -> Tensor:
    """Divide each vector by its size."""
    return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


def network(activation: str, eps: float, **parts: Function) -> Function:
    """Return the gated network, put together from parts."""
    a = ACTIVATIONS[activation]
    norm = parts.get("norm", lambda x: rms(x, eps))
    join = parts.get("join", lambda one, two: a(one) * two)
    path = parts.get("path", lambda x, n: x)
    gained = parts.get("gained", lambda n, gain: gain * n)

    def gated(x: Tensor, gain: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
        n = gained(norm(x), gain)
        return path(x, n) + join(n @ gate, n @ up) @ down

    return gated


def mistakes(activation: str, eps: float) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    a = ACTIVATIONS[activation]

    def made(**parts: Function) -> Function:
        return network(activation, eps, **parts)

    def centred(x: Tensor) -> Tensor:
        return rms(x - x.mean(-1, keepdim=True), eps)

    def outside(x: Tensor) -> Tensor:
        return x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)

    def length(x: Tensor) -> Tensor:
        return x / (x.pow(2).sum(-1, keepdim=True) + eps).sqrt()

    def over_words(x: Tensor) -> Tensor:
        return x / (x.pow(2).mean() + eps).sqrt()

    others = [name for name in ACTIVATIONS if name != activation]
    return [
        ("The mean was subtracted: this is a layer norm.", made(norm=centred)),
        ("eps belongs under the root.", made(norm=outside)),
        ("It is the mean of the squares, not their sum.", made(norm=length)),
        ("The norm is of each vector by itself.", made(norm=over_words)),
        (
            "eps is missing, or much smaller than yours.",
            made(norm=lambda x: rms(x, 1e-6)),
        ),
        ("There is no norm.", made(norm=lambda x: x)),
        ("The gain is missing.", made(gained=lambda n, gain: n)),
        (
            "The activation is on the wrong factor.",
            made(join=lambda g, u: g * a(u)),
        ),
        ("The activation is on the product.", made(join=lambda g, u: a(g * u))),
        ("The activation is missing.", made(join=lambda g, u: g * u)),
        ("The two are multiplied, not added.", made(join=lambda g, u: a(g) + u)),
        ("The path is missing: x has to be added.", made(path=lambda x, n: 0)),
        (
            "What is added to the path is x, not the normed one.",
            made(path=lambda x, n: n),
        ),
        *((f"The activation is {name} here.", network(name, eps)) for name in others),
    ]


def asks(activation: str, eps: float) -> list[Asked]:
    """Return what is asked."""
    right, wrong = network(activation, eps), mistakes(activation, eps)
    size, network_page = (
        "block.html#one-size-for-every-row",
        "block.html#a-small-network-at-each-position",
    )
    asked: list[tuple[str, list[Case], str, int]] = [
        (
            "it works for one vector without a gain",
            [case(1, 5, plain=True)],
            network_page,
            2,
        ),
        ("the gain is used", [case(2, 3, 4)], size, 1),
        ("nothing is subtracted", [case(3, 2, 5, shift=2.0)], size, 2),
        ("small vectors show eps", [case(4, 2, 3, size=0.1)], size, 1),
        (
            "batches and heads change nothing",
            [case(5, 2, 3, 4, 6)],
            "block.html#before-or-after",
            1,
        ),
    ]
    return [
        Asked(message, agrees(right, cases, *wrong), section, points)
        for message, cases, section, points in asked
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def gated(x, gain, gate, up, down): ..."
    return [Exercise("gated", stub, asks(numbers["activation"], numbers["eps"]))]
