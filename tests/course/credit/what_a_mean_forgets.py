"""Answers to *The price of one look*: right in unusual ways, and wrong, by kind."""

import math
from collections import Counter

import numpy as np
import torch


def loss(look, tokens, labels, price=None, of=None):
    groups = {}
    for sentence, label in zip(tokens.tolist(), labels.tolist(), strict=True):
        groups.setdefault(look(sentence), []).append(label)
    total = 0
    for group in groups.values():
        share = sum(group) / len(group)
        cost = -sum(s * math.log(s) for s in (share, 1 - share) if s)
        total += (price(share) if price else cost) * (1 if of else len(group))
    return total / (len(groups) if of else len(tokens))


def look(n):
    return lambda s: (tuple(sorted(s)), s[n["place"]])


def with_numpy(n):
    def least_loss(tokens, labels):
        place = tokens[:, n["place"], None]
        seen = torch.cat([tokens.sort(dim=1).values, place], dim=1).numpy()
        _, group = np.unique(seen, axis=0, return_inverse=True)
        group, y = group.reshape(-1), labels.numpy()
        share = (np.bincount(group, y) / np.bincount(group))[group]
        return -np.log(np.where(y == 1, share, 1 - share)).mean()

    return least_loss


def with_counts(n):
    def least_loss(tokens, labels):
        def see(s):
            return frozenset(Counter(s).items()), s[n["place"]]

        return torch.tensor([loss(see, tokens, labels)]).squeeze().float()

    return least_loss


def by_bce(n):
    def least_loss(tokens, labels):
        seen = torch.cat(
            [tokens.sort(dim=1).values, tokens[:, n["place"], None]], dim=1
        )
        alike = (seen[:, None] == seen).all(-1).float()
        share = (alike @ labels.float()) / alike.sum(1)
        return torch.nn.functional.binary_cross_entropy(share, labels.float())

    return least_loss


RIGHT = {
    "NumPy": with_numpy,
    "counts in 32 bits": with_counts,
    "PyTorch's loss": by_bce,
}
WRONG = {
    "bits": (
        lambda n: lambda t, y: loss(look(n), t, y) / math.log(2),
        "These are bits",
    ),
    "a sum": (
        lambda n: lambda t, y: loss(look(n), t, y) * len(t),
        "the sum, not the mean",
    ),
    "always ln 2": (
        lambda n: (
            lambda t, y: loss(look(n), t, y, lambda s: math.log(2) * (0 < s < 1))
        ),
        "ln 2 is the price of an even",
    ),
    "mean of groups": (
        lambda n: lambda t, y: loss(look(n), t, y, of="groups"),
        "mean is over groups",
    ),
    "the bag alone": (
        lambda n: lambda t, y: loss(lambda s: tuple(sorted(s)), t, y),
        "bag was taken alone",
    ),
    "a set": (
        lambda n: lambda t, y: loss(lambda s: (frozenset(s), s[n["place"]]), t, y),
        "Words are counted in a bag",
    ),
    "the place alone": (
        lambda n: lambda t, y: loss(lambda s: s[n["place"]], t, y),
        "word at the place was taken alone",
    ),
    "the sentence": (
        lambda n: lambda t, y: loss(tuple, t, y),
        "whole sentence was looked at",
    ),
    "another place": (
        lambda n: (
            lambda t, y: loss(lambda s: (tuple(sorted(s)), s[n["place"] - 1]), t, y)
        ),
        "Another place",
    ),
    "errors": (
        lambda n: lambda t, y: loss(look(n), t, y, lambda s: min(s, 1 - s)),
        "share of errors",
    ),
    "nothing": (
        lambda n: lambda t, y: None,
        "missing: .* must be numbers; got None",
    ),
    "a loss per sentence": (lambda n: lambda t, y: torch.zeros(len(t)), "shape"),
}
