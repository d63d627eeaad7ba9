"""Answers to *Several sentences in one row*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch


def past(s):
    return torch.ones(s.size(1), s.size(1), dtype=torch.bool).tril()


def same(s):
    return s[:, :, None] == s[:, None, :]


def real(s):
    return (s >= 0)[:, :, None] & (s >= 0)[:, None, :]


def read(s, n):
    return torch.arange(s.size(1)) < n["prompt"]


def right(s, n):
    return (past(s) & (same(s) | read(s, n)) & real(s))[:, None]


def looped(s, n):
    rows, length = s.shape
    mask = torch.zeros(rows, 1, length, length, dtype=torch.bool)
    for b in range(rows):
        for i in range(length):
            for j in range(i + 1):
                if s[b, i] < 0 or s[b, j] < 0:
                    continue
                mask[b, 0, i, j] = bool(s[b, i] == s[b, j]) or j < n["prompt"]
    return mask


def in_place(s, n):
    mask = same(s)
    mask[:, :, : n["prompt"]] = True
    mask &= past(s)
    mask[s < 0] = False
    mask.mT[s < 0] = False
    return mask.unsqueeze(1)


def off(n, by):
    return {"prompt": n["prompt"] + by}


RIGHT = {
    "a loop": lambda n: lambda s: looped(s, n),
    "NumPy": lambda n: lambda s: np.asarray(right(s, n)),
    "in place": lambda n: lambda s: in_place(s, n),
    "a list": lambda n: lambda s: right(s, n).tolist(),
}
WRONG = {
    "turned round": (
        lambda n: lambda s: ~right(s, n),
        "True was taken to mean hidden",
    ),
    "exchanged": (
        lambda n: lambda s: right(s, n).mT,
        "Rows and columns are exchanged",
    ),
    "padding sees padding": (
        lambda n: lambda s: right(s, n) | (past(s) & same(s))[:, None],
        "Padding has the same number",
    ),
    "padding asks": (
        lambda n: (
            lambda s: (past(s) & (same(s) | read(s, n)) & (s >= 0)[:, None])[
                :, None
            ]
        ),
        "Padding still asks",
    ),
    "no padding": (
        lambda n: lambda s: (past(s) & (same(s) | read(s, n)))[:, None],
        "Padding was forgotten",
    ),
    "no prompt": (
        lambda n: lambda s: (past(s) & same(s) & real(s))[:, None],
        "prompt was forgotten",
    ),
    "prompt too long": (
        lambda n: lambda s: right(s, off(n, 1)),
        "one place too long",
    ),
    "prompt too short": (
        lambda n: lambda s: right(s, off(n, -1)),
        "one place too short|prompt was forgotten",
    ),
    "no sentences": (
        lambda n: lambda s: (past(s) & real(s))[:, None],
        "sentences were forgotten",
    ),
    "sees the future": (
        lambda n: lambda s: ((same(s) | read(s, n)) & real(s))[:, None],
        "future is not hidden",
    ),
    "no heads": (
        lambda n: lambda s: right(s, n)[:, 0],
        r"shape: .*\(2, 1, 11, 11\)",
    ),
    "numbers": (
        lambda n: lambda s: right(s, n).float(),
        "dtype: a mask is boolean; got float32",
    ),
    "nothing": (lambda n: lambda s: None, "missing: it must return a mask"),
    "stops": (lambda n: lambda s: s @ s, "exception: RuntimeError"),
}
