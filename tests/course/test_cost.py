"""Two parts of a softmax: right merges of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def right(left, right):
    (m, total, mixture), (n, other, others) = left, right
    higher = torch.maximum(m, n)
    a, b = (m - higher).exp(), (n - higher).exp()
    return higher, a * total + b * other, a * mixture + b * others


def in_place(left, right):
    higher = torch.maximum(left[0], right[0])
    for highest, total, mixture in (left, right):
        shrink = highest.sub_(higher).exp_()
        total.mul_(shrink), mixture.mul_(shrink)
    return higher, left[1].add_(right[1]), left[2].add_(right[2])


def branching(left, right):
    first = left[0] >= right[0]
    high = [torch.where(first, x, y) for x, y in zip(left, right, strict=True)]
    low = [torch.where(first, y, x) for x, y in zip(left, right, strict=True)]
    shrink = (low[0] - high[0]).exp()
    return high[0], high[1] + shrink * low[1], high[2] + shrink * low[2]


def stacked(left, right):
    m, total, mixture = (torch.stack(x) for x in zip(left, right, strict=True))
    higher = m.amax(0)
    shrink = (m - higher).exp()
    return [higher, (shrink * total).sum(0), (shrink * mixture).sum(0)]


def numpy(left, right):
    (m, total, mixture), (n, other, others) = ([x.numpy() for x in part] for part in (left, right))
    higher = np.maximum(m, n)
    a, b = np.exp(m - higher), np.exp(n - higher)
    return higher, a * total + b * other, a * mixture + b * others


def by_logarithms(left, right):
    higher = torch.maximum(left[0], right[0])
    logs = [x[0] + x[1].log() for x in (left, right)]
    total = (torch.logaddexp(*logs) - higher).exp()
    return higher, total, right_mixture(left, right)


def right_mixture(x, y):
    return right(x, y)[2]


def scaled(f, g):
    """Merge with other factors than the right ones."""

    def merge(left, right):
        higher = torch.maximum(left[0], right[0])
        a, b = f(left[0] - higher), g(right[0] - higher)
        return higher, a * left[1] + b * right[1], a * left[2] + b * right[2]

    return merge


def with_highest(select):
    def merge(left, other):
        _, total, mixture = right(left, other)
        return select(left[0], other[0]), total, mixture

    return merge


def bare(left, other):
    higher = torch.maximum(left[0], other[0])
    a, b = left[0].exp(), other[0].exp()
    down = (-higher).exp()
    return (
        higher,
        (a * left[1] + b * other[1]) * down,
        (a * left[2] + b * other[2]) * down,
    )


def with_mixture(make):
    def merge(left, other):
        highest, total, _ = right(left, other)
        return highest, total, make(left, other)

    return merge


def quotient(left, other):
    """Divide by the totals on the way, and multiply again."""
    highest, total, _ = right(left, other)
    a = (left[0] - highest).exp() * left[1]
    b = (other[0] - highest).exp() * other[1]
    means = left[2] / left[1], other[2] / other[1]
    return highest, total, a * means[0] + b * means[1]


one = torch.ones_like
RIGHT = {
    "merge": {
        "as written": right,
        "in place": in_place,
        "branches": branching,
        "stacked": stacked,
        "NumPy": numpy,
        "by logarithms": by_logarithms,
        "lists": lambda x, y: [part.tolist() for part in right(x, y)],
        "a generator": lambda x, y: (part for part in right(x, y)),
    }
}
WRONG = {
    "merge": {
        "added as they are": (scaled(one, one), "mathematics: .*added as they are"),
        "left only": (scaled(torch.exp, one), "mathematics: .*Only the left part"),
        "right only": (
            scaled(one, torch.exp),
            "mathematics: .*Only the right part",
        ),
        "grow": (
            scaled(lambda x: (-x).exp(), lambda x: (-x).exp()),
            "mathematics: .*wrong sign",
        ),
        "exchanged": (
            lambda x, y: right((x[0], *y[1:]), (y[0], *x[1:])),
            "mathematics: .*factors are exchanged",
        ),
        "in proportion": (
            lambda x, y: (
                (h := torch.maximum(x[0], y[0])),
                x[0] / h * x[1] + y[0] / h * y[1],
                x[0] / h * x[2] + y[0] / h * y[2],
            ),
            "mathematics: .*not by an exponential",
        ),
        "sum of scores": (
            with_highest(torch.add),
            "mathematics: the highest .*scores are not added",
        ),
        "the lower": (
            with_highest(torch.minimum),
            "mathematics: the highest .*This is the lower one",
        ),
        "one for all": (
            with_highest(lambda m, n: torch.maximum(m, n).max().expand_as(m)),
            "mathematics: the highest .*each has its own",
        ),
        "always the left": (
            with_highest(lambda m, n: m),
            "mathematics: the highest .*the left one's",
        ),
        "divided": (
            with_mixture(lambda x, y: right(x, y)[2] / right(x, y)[1]),
            "mathematics: the mixture .*at the very end",
        ),
        "means added": (
            with_mixture(lambda x, y: x[2] / x[1] + y[2] / y[1]),
            "mathematics: the mixture .*means of the two parts, added",
        ),
        "mean of means": (
            with_mixture(lambda x, y: (x[2] / x[1] + y[2] / y[1]) / 2),
            "mathematics: the mixture .*mean of two means",
        ),
        "bare exponentials": (
            bare,
            "mathematics: .*exponential was taken of a bare",
        ),
        "no empty part": (
            quotient,
            "^mathematics: beside a part that has seen nothing, the mixture",
        ),
        "two things": (lambda x, y: right(x, y)[:2], "shape: it must return three"),
        "nothing": (lambda x, y: None, "missing: it must return highest"),
        "without the axis": (
            lambda x, y: [part.sum(-1) for part in right(x, y)],
            r"shape: the highest must have shape \(3, 1\); got \(3,\)",
        ),
        "stops": (lambda x, y: x @ y, "exception: TypeError"),
        "whole numbers": (
            lambda x, y: [part.long() for part in right(x, y)],
            "dtype: the highest must be floating-point",
        ),
    }
}


@pytest.mark.parametrize("kind", RIGHT["merge"])
def test_what_is_right_passes(kind):
    assert said(report("cost", RIGHT["merge"][kind], "merge")) == ""


@pytest.mark.parametrize("kind", WRONG["merge"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["merge"][kind]
    found = report("cost", answer, "merge")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_one_that_forgets_large_scores_has_the_other_points():
    found = report("cost", bare, "merge")
    assert (found.points, found.possible) == (5, 7)
