"""The tokens that top-p leaves: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from selfattn_book.generation import next_token_distribution
from tests.course.answers import report, said


def parts(shares, p):
    """The order of the likeliest, and how much those before each of them have."""
    order = shares.argsort(descending=True)
    return order, shares[order].cumsum(0) - shares[order]


def kept(shares, tokens, *, divided=True):
    left = torch.zeros_like(shares)
    left[tokens] = shares[tokens]
    return left / left.sum() if divided else left


def right(shares, p):
    order, before = parts(shares, p)
    return kept(shares, order[before < p])


def by_loop(shares, p):
    left, total = [0.0] * len(shares), 0.0
    for v in sorted(range(len(shares)), key=lambda v: -shares[v]):
        if total >= p:
            break
        left[v] = float(shares[v])
        total += left[v]
    return [share / total for share in left]


def with_numpy(shares, p):
    shares = shares.numpy()
    order = np.argsort(-shares)
    count = int((np.cumsum(shares[order]) < p).sum()) + 1
    left = np.zeros_like(shares)
    left[order[:count]] = shares[order[:count]]
    return left / left.sum()


def in_place(shares, p):
    order, before = parts(shares, p)
    shares[order[before >= p]] = 0
    return shares.div_(shares.sum())


def scattered(shares, p):
    values, order = shares.sort(descending=True)
    values[values.cumsum(0) - values >= p] = 0
    return torch.zeros_like(shares).scatter(0, order, values / values.sum())


RIGHT = {
    "as told": right,
    "a loop and a list": by_loop,
    "NumPy": with_numpy,
    "in place": in_place,
    "scattered back": scattered,
    "float64": lambda shares, p: right(shares.double(), p),
    "the package's": lambda s, p: next_token_distribution(s.log(), top_p=p),
    "a generator": lambda s, p: (float(share) for share in right(s, p)),
}


def cut_too_early(shares, p):
    order, before = parts(shares, p)
    inside = before + shares[order] <= p
    inside[0] = True
    return kept(shares, order[inside])


def one_more(shares, p):
    order, before = parts(shares, p)
    count = int((before < p).sum()) + 1
    return kept(shares, order[:count])


def sorted_shares(shares, p):
    order, _ = parts(shares, p)
    return right(shares, p)[order]


def of_the_least(shares, p):
    order = shares.argsort()
    return kept(shares, order[: int((shares[order].cumsum(0) < p).sum()) + 1])


def unsorted(shares, p):
    return kept(shares, (shares.cumsum(0) - shares < p).nonzero()[:, 0])


def undivided(shares, p):
    order, before = parts(shares, p)
    return kept(shares, order[before < p], divided=False)


def softmaxed(shares, p):
    left = right(shares, p)
    return torch.where(left > 0, shares, -torch.inf).softmax(-1)


WRONG = {
    "cut too early": (cut_too_early, "crosses the line has been cut off"),
    "one more": (one_more, "One token too many is left"),
    "sorted": (sorted_shares, "no longer stand at their tokens"),
    "the least likely": (of_the_least, "The least likely are left"),
    "unsorted": (unsorted, "order of the vocabulary"),
    "its own share": (
        lambda s, p: kept(s, (s >= p).nonzero()[:, 0], divided=False),
        "own share is at least p",
    ),
    "undivided": (undivided, "must be divided by its sum"),
    "a softmax": (softmaxed, "softmax of probabilities"),
    "all even": (
        lambda s, p: (right(s, p) > 0) / (right(s, p) > 0).sum(),
        "have become equally likely",
    ),
    "nothing cut": (lambda s, p: s, "Nothing has been cut off"),
    "logarithms": (
        lambda s, p: right(s, p).clamp(min=1e-9).log(),
        "mathematics: .* are left, not",
    ),
    "a mask": (
        lambda s, p: right(s, p) > 0,
        "dtype: what is left must be floating",
    ),
    "the tokens": (
        lambda s, p: parts(s, p)[0][:1],
        r"shape: what is left must have shape \(6,\)",
    ),
    "nothing": (lambda s, p: None, "missing: it must return what is left"),
    "stops": (lambda s, p: s @ torch.ones(2), "exception: RuntimeError"),
    "one argument": (lambda s: s, "exception: TypeError"),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_what_is_right_passes(kind):
    assert said(report("language-model", RIGHT[kind], "nucleus")) == ""


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG[kind]
    found = report("language-model", answer, "nucleus")
    assert found.points < found.possible
    assert re.search(name, said(found)), said(found)


def test_what_is_half_right_has_some_of_the_points():
    found = report("language-model", undivided, "nucleus")
    assert (found.points, found.possible) == (3, 5)
