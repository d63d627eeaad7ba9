"""The gradient of an uneven batch: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def shares(counts):
    return torch.tensor(counts, dtype=torch.float64)[:, None] / sum(counts)


def right(g, n):
    return (shares(n) * g.double().nan_to_num()).sum(0)


def looped(g, n):
    total = [0.0] * g.size(1)
    for row, count in zip(g.tolist(), n, strict=True):
        if count:
            total = [t + count * x for t, x in zip(total, row, strict=True)]
    return [t / sum(n) for t in total]


def only_those_that_work(g, n):
    kept = torch.tensor(n) > 0
    return torch.tensor(n)[kept].to(g) @ g[kept] / sum(n)


def in_place(g, n):
    g *= torch.tensor(n)[:, None]
    return g.nan_to_num_().sum(0) / sum(n)


def inverted(g, n):
    weights = torch.tensor([1 / c if c else 0.0 for c in n])[:, None]
    return (weights * g.nan_to_num()).sum(0) / weights.sum()


RIGHT = {
    "whole_gradient": {
        "shares": right,
        "a loop": looped,
        "a product": only_those_that_work,
        "NumPy": lambda g, n: np.average(
            g[torch.tensor(n) > 0].numpy(), axis=0, weights=[c for c in n if c]
        ),
        "in 32 bits": lambda g, n: right(g, n).float(),
    }
}
WRONG = {
    "whole_gradient": {
        "mean of means": (
            lambda g, n: g.nan_to_num().mean(0),
            "a small part counts as much",
        ),
        "sum of means": (
            lambda g, n: g.nan_to_num().sum(0),
            "added, and never divided",
        ),
        "sum": (lambda g, n: right(g, n) * sum(n), "not divided by how many"),
        "divided by ranks": (
            lambda g, n: right(g, n) * sum(n) / len(n),
            "divided by the number of ranks",
        ),
        "divided twice": (
            lambda g, n: right(g, n) / len(n),
            "The shares sum to one already",
        ),
        "turned round": (inverted, "The more examples a rank has, the less"),
        "the first": (lambda g, n: g[0], "Only the first rank"),
        "the last": (lambda g, n: g[-1], "Only the last rank"),
        "nan": (lambda g, n: (shares(n) * g).sum(0), "0 times nan is nan"),
        "for each rank": (
            lambda g, n: right(g, n).expand(len(n), -1),
            r"shape: the gradient must have shape \(4,\); got \(2, 4\)",
        ),
        "one number": (lambda g, n: right(g, n).mean(), "shape: the gradient"),
        "in place": (in_place, "changes its input"),
        "in place for an idle rank": (
            lambda g, n: right(g.nan_to_num_(), n),
            "changes its input",
        ),
        "nothing": (lambda g, n: None, "it must return the gradient; got None"),
        "stops": (lambda g, n: g @ g, "exception: RuntimeError"),
        "one argument": (lambda g: g.mean(0), "exception: TypeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["whole_gradient"])
def test_what_is_right_passes(kind):
    answer = RIGHT["whole_gradient"][kind]
    assert said(report("scaling-out", answer, "whole_gradient")) == ""


@pytest.mark.parametrize("kind", WRONG["whole_gradient"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["whole_gradient"][kind]
    found = report("scaling-out", answer, "whole_gradient")
    assert found.points < found.possible
    assert re.search(name, said(found)), said(found)


def test_what_is_half_right_has_half_of_the_points():
    found = report("scaling-out", lambda g, n: g.nan_to_num().mean(0), "whole_gradient")
    assert (found.points, found.possible) == (3, 6)
