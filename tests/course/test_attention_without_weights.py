"""Attention in plain Python: right answers of many kinds pass, and each wrong one is named."""

import math
import re
from decimal import Decimal

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.course.answers import report, said


def table(x):
    return torch.tensor(x, dtype=torch.float64)


def of(weigh, average=torch.matmul):
    """Return an answer that makes weights of scores in a way of its own."""

    def attend(x):
        x = table(x)
        weights = weigh(x @ x.T / x.size(1) ** 0.5)
        return average(weights, x), weights

    return attend


def by(score):
    """Return an answer that makes its scores in a way of its own."""

    def attend(x):
        weights = score(table(x)).softmax(-1)
        return weights @ table(x), weights

    return attend


right = of(lambda scores: scores.softmax(-1))


def in_python(x):
    contexts, weights = [], []
    for query in x:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in x]
        shares = [math.exp(s / math.sqrt(len(query))) for s in scores]
        weights.append([share / sum(shares) for share in shares])
        columns = zip(*x, strict=True)
        pairs = [zip(weights[-1], column, strict=True) for column in columns]
        contexts.append([sum(w * x for w, x in pair) for pair in pairs])
    return contexts, weights


def in_numpy(x):
    x = np.array(x)
    powers = np.exp(x @ x.T / np.sqrt(x.shape[1]))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return weights @ x, weights


def in_32_bits(x):
    x = torch.tensor(x, dtype=torch.float32)
    weights = (x @ x.T / x.size(1) ** 0.5).softmax(-1)
    return [weights @ x, weights]


def with_einsum(x):
    x = np.array(x)
    scores = np.einsum("id,jd->ij", x, x) / len(x[0]) ** 0.5
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = powers / powers.sum(axis=1, keepdims=True)
    return [list(row) for row in weights @ x], tuple(map(tuple, weights))


def by_library(x):
    x = table(x)
    key, eye = x[None], torch.eye(len(x), dtype=x.dtype)[None]
    attend = F.scaled_dot_product_attention
    return attend(key, key, key)[0], attend(key, key, eye)[0]


def exchanged(x):
    return right(x)[::-1]


def on_its_side(x):
    contexts, weights = right(x)
    return contexts.T, weights


def scaled_late(x):
    weights = (table(x) @ table(x).T).softmax(-1) / table(x).size(1) ** 0.5
    return weights @ table(x), weights


def without_itself(scores):
    return scores.masked_fill(torch.eye(len(scores)).bool(), -torch.inf).softmax(-1)


def causal(scores):
    hidden = torch.ones_like(scores).triu(1).bool()
    return scores.masked_fill(hidden, -torch.inf).softmax(-1)


RIGHT = {
    "attend": {
        "decimals": lambda x: [
            [[Decimal(n) for n in row] for row in rows] for rows in in_python(x)
        ],
        "plain Python": in_python,
        "PyTorch": right,
        "NumPy": in_numpy,
        "32 bits": in_32_bits,
        "einsum, rows as lists": with_einsum,
        "PyTorch's own": by_library,
    }
}
WRONG = {
    "attend": {
        "scaled late": (
            lambda x: scaled_late(x),
            "sum to 0.707. Something multiplies the weights behind the softmax",
        ),
        "itself added": (
            of(lambda s: s.softmax(-1), lambda w, x: w @ x + x),
            "The word itself is added",
        ),
        "each by itself": (
            of(lambda s: torch.eye(len(s)).to(s)),
            "Each word attends to itself alone",
        ),
        "logarithms": (
            of(lambda s: s.log_softmax(-1)),
            "^(?!.*not divided by the sum).*logarithms of shares",
        ),
        "not divided": (by(lambda x: x @ x.T), "not divided by the root"),
        "by the width": (by(lambda x: x @ x.T / x.size(1)), "by the width, not by"),
        "multiplied": (by(lambda x: x @ x.T * x.size(1) ** 0.5), "are multiplied"),
        "by the words": (by(lambda x: x @ x.T / len(x) ** 0.5), "number of words"),
        "always the root of 2": (
            by(lambda x: x @ x.T / 2**0.5),
            "√2 at every width",
        ),
        "root twice": (by(lambda x: x @ x.T / x.size(1) ** 0.25), "taken twice"),
        "other sign": (by(lambda x: -x @ x.T), "the smaller is the weight"),
        "even": (by(lambda x: 0 * x @ x.T), "weights are all equal"),
        "cosines": (
            by(lambda x: F.normalize(x) @ F.normalize(x).T),
            "scores are cosines",
        ),
        "distances": (by(lambda x: -torch.cdist(x, x)), "scores are distances"),
        "squared": (by(lambda x: (x @ x.T).square()), "were squared"),
        "columns": (of(lambda s: s.softmax(0)), "softmax along the queries"),
        "one softmax": (
            of(lambda s: s.flatten().softmax(0).view_as(s)),
            "over the whole table",
        ),
        "no sum": (of(torch.exp), "not divided by the sum"),
        "scores": (of(lambda s: s), "the softmax is missing"),
        "shares of scores": (
            of(lambda s: s / s.sum(1, keepdim=True)),
            "exponentials come first",
        ),
        "one key": (
            of(lambda s: F.one_hot(s.argmax(1), len(s)).double()),
            "argmax",
        ),
        "without itself": (of(without_itself), "diagonal is left out"),
        "causal": (of(causal), "no mask was asked for"),
        "turned": (
            of(lambda s: s.softmax(-1), lambda w, x: w.T @ x),
            "read along a column",
        ),
        "as they were": (
            of(lambda s: s.softmax(-1), lambda w, x: x),
            "came back as they were",
        ),
        "other weights": (
            lambda x: (right(x)[0], by(lambda x: x @ x.T)(x)[1]),
            "the weights beside them are others",
        ),
        "exchanged": (exchanged, "shape: .* Contexts come first"),
        "on its side": (on_its_side, "shape: .* a row belongs to a query"),
        "contexts alone": (
            lambda x: right(x)[0],
            "missing: .* contexts and weights",
        ),
        "nothing": (lambda x: None, "missing: .* got None"),
        "a list has no shape": (lambda x: x.shape, "exception: AttributeError"),
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["attend"])
def test_what_is_right_passes(kind):
    answer = RIGHT["attend"][kind]
    assert said(report("attention-without-weights", answer, "attend")) == ""


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["attend"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["attend"][kind]
    found = report("attention-without-weights", answer, "attend")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [("not divided", 4), ("columns", 4), ("no sum", 4), ("contexts alone", 1)],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["attend"][kind]
    found = report("attention-without-weights", answer, "attend")
    assert (found.points, found.possible) == (points, 5)
