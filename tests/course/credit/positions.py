"""Answers to *Turn queries and keys*: right in unusual ways, and wrong, by kind."""

import math

import torch


def angles(n, x, start, *, base=None, exponent=2.0):
    length, width = x.shape[-2:]
    place = torch.arange(start, start + length, dtype=torch.float64)
    pair = torch.arange(width // 2, dtype=torch.float64)
    return place[:, None] * (base or n["base"]) ** (-exponent * pair / width)


def take(x, near):
    return (x[..., 0::2], x[..., 1::2]) if near else x.chunk(2, -1)


def put(a, c, near):
    return torch.stack([a, c], -1).flatten(-2) if near else torch.cat([a, c], -1)


def turned(n, *, sign=1, other=False, put_other=False, shift=0, **speed):
    near = (n["pairs"] == "neighbours") != other

    def answer(x, start):
        by = sign * angles(n, x, start + shift, **speed)
        a, c = take(x, near)
        new = a * by.cos() - c * by.sin(), a * by.sin() + c * by.cos()
        return put(*new, near != put_other)

    return answer


def complex_numbers(n):
    near = n["pairs"] == "neighbours"

    def answer(x, start):
        a, c = take(x, near)
        by = angles(n, x, start)
        z = torch.complex(a, c) * torch.polar(torch.ones_like(by), by)
        return put(z.real, z.imag, near)

    return answer


def with_swapped(n):
    """The way of many language models: x cos + turned(x) sin."""
    near = n["pairs"] == "neighbours"

    def answer(x, start):
        by = angles(n, x, start)
        by = by.repeat_interleave(2, -1) if near else by.repeat(1, 2)
        a, c = take(x, near)
        return x * by.cos() + put(-c, a, near) * by.sin()

    return answer


def one_by_one(n):
    def answer(x, start):
        x = x.numpy()
        width = x.shape[-1]
        out = x.copy()
        for t in range(x.shape[-2]):
            for i in range(width // 2):
                j, k = (
                    (2 * i, 2 * i + 1)
                    if n["pairs"] == "neighbours"
                    else (i, i + width // 2)
                )
                by = (start + t) / n["base"] ** (2 * i / width)
                a, c = x[..., t, j], x[..., t, k]
                out[..., t, j] = a * math.cos(by) - c * math.sin(by)
                out[..., t, k] = a * math.sin(by) + c * math.cos(by)
        return out

    return answer


def from_new(n):
    near = n["pairs"] == "neighbours"

    def answer(x, start):
        by = angles(n, x, start)
        a, c = take(x.clone(), near)
        a = a * by.cos() - c * by.sin()
        return put(a, a * by.sin() + c * by.cos(), near)

    return answer


RIGHT = {
    "complex numbers": complex_numbers,
    "a swapped copy": with_swapped,
    "one by one in NumPy": one_by_one,
    "32 bits": lambda n: lambda x, start: turned(n)(x, start).float(),
}
WRONG = {
    "other pairs": (lambda n: turned(n, other=True), "formed the other way"),
    "put elsewhere": (
        lambda n: turned(n, put_other=True),
        "put back in other places",
    ),
    "the other way round": (
        lambda n: turned(n, sign=-1),
        "turned the other way round",
    ),
    "base 10000": (lambda n: turned(n, base=10000), "base is 10000 here"),
    "exponent": (lambda n: turned(n, exponent=1.0), "Pair i has the exponent"),
    "faster": (lambda n: turned(n, exponent=-2.0), "more slowly, not faster"),
    "no start": (
        lambda n: lambda x, start: turned(n)(x, 0),
        "first vector stands was ignored",
    ),
    "from 1": (lambda n: turned(n, shift=1), "counted from 0"),
    "from the new value": (from_new, "first one's new value"),
    "added": (
        lambda n: (
            lambda x, s: x + put(angles(n, x, s).sin(), angles(n, x, s).cos(), True)
        ),
        "A code was added",
    ),
    "angles": (lambda n: lambda x, s: angles(n, x, s), "shape"),
    "one argument": (lambda n: lambda x: x, "exception: TypeError"),
}
