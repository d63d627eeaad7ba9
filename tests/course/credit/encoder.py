"""Answers to *One vector for each source*: right in unusual ways, and wrong, by kind."""

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from selfattn_book.masks import padding_mask


def read(n, states, lengths):
    rows = torch.arange(len(lengths))
    last = states[rows, lengths - 1]
    real = (torch.arange(states.size(1)) < lengths[:, None])[..., None]
    mean = (states * real).sum(1) / lengths[:, None]
    return {
        "mean": mean,
        "last": last,
        "first and last": (states[:, 0] + last) / 2,
    }[n["read"]]


def run(n, *, mask=padding_mask, reading=read, fill=0.0):
    def answer(encoder, sources):
        lengths = torch.tensor([len(s) for s in sources])
        batch = pad_sequence(sources, batch_first=True, padding_value=fill)
        states, _ = encoder(batch, mask(lengths))
        return reading(n, states, lengths)

    return answer


def padded_in_front(n):
    """Not for encoders with positions."""

    def answer(encoder, sources):
        longest = max(map(len, sources))
        batch = torch.stack([torch.cat([s.new_zeros(longest - len(s), 2), s]) for s in sources])
        lengths = torch.tensor([len(s) for s in sources])
        mask = torch.arange(longest) >= longest - lengths[:, None]
        states, _ = encoder(batch, mask[:, None, None])
        return read(
            n,
            torch.stack([s.roll(int(k), 0) for s, k in zip(states, lengths, strict=True)]),
            lengths,
        )

    return answer


def listed(n):
    def answer(encoder, sources):
        lengths = torch.tensor([len(s) for s in sources])
        longest = int(lengths.max())
        batch = torch.full((len(sources), longest, 2), -7.0, dtype=torch.float64)
        for b, source in enumerate(sources):
            batch[b, : len(source)] = source
        states, _ = encoder(batch, padding_mask(lengths))
        rows = []
        for state, length in zip(states.numpy(), lengths.tolist(), strict=True):
            own = state[:length]
            ends = (own[0] + own[-1]) / 2
            rows.append({"mean": own.mean(0), "last": own[-1], "first and last": ends}[n["read"]])
        return np.stack(rows).astype(np.float32)

    return answer


def selected(n):
    def answer(encoder, sources):
        lengths = torch.tensor([len(s) for s in sources])
        states, _ = encoder(
            pad_sequence(sources, batch_first=True, padding_value=9.0),
            padding_mask(lengths),
        )
        places = torch.arange(states.size(1))
        last = (places == lengths[:, None] - 1).double()
        first = (places == 0).double().expand_as(last)
        mean = (places < lengths[:, None]) / lengths[:, None].double()
        pick = {"mean": mean, "last": last, "first and last": (first + last) / 2}[n["read"]]
        return torch.einsum("bs,bsd->bd", pick, states)

    return answer


def alone(n):
    def answer(encoder, sources):
        return torch.cat([run(n)(encoder, [s]) for s in sources])

    return answer


def everything(n, states, lengths):
    return read(n, states, torch.full_like(lengths, states.size(1)))


OTHER = {"mean": "last", "last": "first and last", "first and last": "mean"}
RIGHT = {
    "loud padding": lambda n: run(n, fill=100.0),
    "a list in NumPy": listed,
    "einsum": selected,
}
WRONG = {
    "no mask": (lambda n: run(n, mask=lambda lengths: None), "The mask is missing"),
    "padding is read": (
        lambda n: run(n, reading=everything),
        "read as if they were real",
    ),
    "neither": (
        lambda n: run(n, mask=lambda lengths: None, reading=everything),
        "neither hidden nor left out",
    ),
    "another read": (lambda n: run({"read": OTHER[n["read"]]}), "Read was"),
    "one by one": (alone, "was called 3 times, not once"),
    "the first": (
        lambda n: run(n, reading=lambda n, s, k: s[:, 0]),
        "first state was read",
    ),
    "the wrong axis": (
        lambda n: run(n, mask=lambda lengths: padding_mask(lengths)[:, 0, 0]),
        "exception: ValueError|mathematics",
    ),
    "in front": (padded_in_front, "mathematics"),
    "weights": (lambda n: lambda e, s: e(s[0][None])[1], "shape"),
    "all states": (lambda n: run(n, reading=lambda n, s, k: s), "shape"),
}
