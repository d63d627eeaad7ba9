"""Answers to *From sentences to a batch*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence


def padded(rows, before=False):
    longest = max(map(len, rows))
    fill = [[0] * (longest - len(row)) for row in rows]
    pairs = zip(rows, fill, strict=True)
    return torch.tensor([f + row if before else row + f for row, f in pairs])


def right(sources, targets, n):
    source = padded(sources)
    fed = padded([[n["start"], *row] for row in targets])
    asked = padded([[*row, n["end"]] for row in targets])
    return source, (source != 0)[:, None, None], fed, asked


def by_library(sources, targets, n):
    def pad(rows):
        return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)

    source = pad(sources)
    both = [[n["start"], *row, n["end"]] for row in targets]
    asked, fed = pad([row[1:] for row in both]), pad([row[:-1] for row in both])
    return source, source.ne(0).unsqueeze(1).unsqueeze(1), fed, asked


def looped(sources, targets, n):
    source = np.zeros((len(sources), max(map(len, sources))), dtype=int)
    fed, asked = (np.zeros((len(targets), 1 + max(map(len, targets))), dtype=int) for _ in "ab")
    for b, (one, other) in enumerate(zip(sources, targets, strict=True)):
        source[b, : len(one)] = one
        fed[b, 0], fed[b, 1 : len(other) + 1] = n["start"], other
        asked[b, : len(other)], asked[b, len(other)] = other, n["end"]
    return source, (source > 0)[:, None, None], fed, asked


def changed(place, change):
    """Make the right tensors, and change one of them."""

    def make(n):
        def batch(sources, targets):
            found = list(right(sources, targets, n))
            found[place] = change(found[place], sources, targets, n)
            return tuple(found)

        return batch

    return make


def ends_late(x, sources, targets, n):
    words = padded(targets)
    return torch.cat([words, torch.full_like(words[:, :1], n["end"])], dim=1)


def wide(x, sources, targets, n):
    return padded([[n["start"], *row, n["end"]] for row in targets])


RIGHT = {
    "a library": lambda n: lambda s, t: by_library(s, t, n),
    "NumPy": lambda n: lambda s, t: looped(s, t, n),
    "a list of lists": lambda n: lambda s, t: [x.tolist() for x in right(s, t, n)],
    "32 bits": lambda n: (
        lambda s, t: tuple(x if x.dtype == torch.bool else x.int() for x in right(s, t, n))
    ),
}
WRONG = {
    "padded in front": (
        changed(0, lambda x, s, t, n: padded(s, before=True)),
        "padding stands in front",
    ),
    "an end for the source": (
        changed(0, lambda x, s, t, n: padded([[*row, n["end"]] for row in s])),
        "source has no end token",
    ),
    "hidden": (changed(1, lambda x, s, t, n: ~x), "True was taken to mean hidden"),
    "flat mask": (
        changed(1, lambda x, s, t, n: x[:, 0, 0]),
        r"mask must have shape \(2, 1, 1, 5\)",
    ),
    "numbers for a mask": (
        changed(1, lambda x, s, t, n: x.float()),
        "dtype: mask is boolean; got float32",
    ),
    "not shifted": (
        changed(3, lambda x, s, t, n: right(s, t, n)[2]),
        "asked for what it is fed",
    ),
    "fed the answer": (
        changed(2, lambda x, s, t, n: right(s, t, n)[3]),
        "fed what it is asked for",
    ),
    "no end": (changed(3, lambda x, s, t, n: padded(t)), "end token is missing"),
    "no start": (
        changed(2, lambda x, s, t, n: padded(t)),
        "start token is missing",
    ),
    "end behind the padding": (changed(3, ends_late), "stands behind the padding"),
    "both in one": (changed(2, wide), "one place too long"),
    "exchanged": (
        changed(2, lambda x, s, t, n: padded([[n["end"], *row] for row in t])),
        "Start and end are exchanged",
    ),
    "decimals": (
        changed(2, lambda x, s, t, n: x.double()),
        "dtype: fed is made of integers; got float64",
    ),
    "three": (
        lambda n: lambda s, t: right(s, t, n)[:3],
        "missing: it must return source, mask, fed and asked",
    ),
    "nothing": (lambda n: lambda s, t: None, "missing: it must return source"),
    "stops": (lambda n: lambda s, t: torch.tensor(s), "exception: ValueError"),
}
