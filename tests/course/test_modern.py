"""A window with sinks: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def distance(length):
    position = torch.arange(length)
    return position[:, None] - position


def window(length, width):
    return (distance(length) >= 0) & (distance(length) < width)


def first(length, sinks):
    return torch.arange(length) < sinks


def past(length):
    return distance(length) >= 0


def right(n, w, s):
    return past(n) & (window(n, w) | first(n, s))


def looped(n, w, s):
    return [[j <= i and (i - j < w or j < s) for j in range(n)] for i in range(n)]


def in_place(n, w, s):
    mask = torch.ones(n, n, dtype=torch.bool).triu_(1 - w)
    mask[:, :s] = True
    return mask.tril_()


RIGHT = {
    "streaming_mask": {
        "a loop": looped,
        "in place": in_place,
        "NumPy": lambda n, w, s: (
            np.tri(n, dtype=bool) & (~np.tri(n, k=-w, dtype=bool) | (np.arange(n) < s))
        ),
        "a list": lambda n, w, s: right(n, w, s).tolist(),
        "a list of tensors": lambda n, w, s: list(right(n, w, s)),
        "a generator": lambda n, w, s: (row.tolist() for row in right(n, w, s)),
    }
}
WRONG = {
    "streaming_mask": {
        "seen too early": (
            lambda n, w, s: window(n, w) | first(n, s),
            "A sink is seen by queries that come before it",
        ),
        "no sinks": (lambda n, w, s: window(n, w), "The sinks are missing"),
        "no window": (
            lambda n, w, s: past(n) & first(n, s),
            "The window is missing",
        ),
        "causal": (lambda n, w, s: past(n), "Nothing is ever too old"),
        "turned round": (
            lambda n, w, s: ~right(n, w, s),
            "True was taken to mean hidden",
        ),
        "exchanged": (
            lambda n, w, s: right(n, w, s).mT,
            "Rows and columns are exchanged",
        ),
        "sinks within the window": (
            lambda n, w, s: window(n, max(w - s, 1)) | past(n) & first(n, s),
            "counted as part of the window",
        ),
        "one too wide": (
            lambda n, w, s: right(n, w + 1, s),
            "The width counts the query itself",
        ),
        "one too narrow": (lambda n, w, s: right(n, w - 1, s), "one too narrow"),
        "one sink more": (lambda n, w, s: right(n, w, s + 1), "one sink too many"),
        "one sink less": (
            lambda n, w, s: right(n, w, max(s - 1, 0)),
            "one sink too few|sinks are missing",
        ),
        "numbers": (
            lambda n, w, s: right(n, w, s).float(),
            "dtype: a mask is boolean",
        ),
        "for heads": (
            lambda n, w, s: right(n, w, s)[None, None],
            r"shape: .* must have shape \(11, 11\)",
        ),
        "nothing": (lambda n, w, s: None, "missing: it must return a mask"),
        "two arguments": (lambda n, w: window(n, w), "exception: TypeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["streaming_mask"])
def test_what_is_right_passes(kind):
    assert said(report("modern", RIGHT["streaming_mask"][kind], "streaming_mask")) == ""


@pytest.mark.parametrize("kind", WRONG["streaming_mask"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["streaming_mask"][kind]
    found = report("modern", answer, "streaming_mask")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_what_is_half_right_has_half_of_the_points():
    found = report("modern", lambda n, w, s: window(n, w), "streaming_mask")
    assert (found.points, found.possible) == (3, 5)
