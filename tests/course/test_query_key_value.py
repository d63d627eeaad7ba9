"""One head: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.course.answers import report, said


def softmax(scores):
    return scores.softmax(-1)


def head(
    score=lambda q, k: q @ k.T / q.size(-1) ** 0.5,
    weigh=softmax,
    average=torch.matmul,
):
    """Return an answer that goes a way of its own in one place."""

    def one_head(asking, asked, for_query, for_key, for_value):
        query, key, value = asking @ for_query, asked @ for_key, asked @ for_value
        weights = weigh(score(query, key))
        return average(weights, value), weights

    return one_head


right = head()


def by(divisor):
    return head(lambda q, k: q @ k.T / divisor)


def in_numpy(*inputs):
    asking, asked, for_query, for_key, for_value = map(np.asarray, inputs)
    scores = asking @ for_query @ (asked @ for_key).T / np.sqrt(for_key.shape[1])
    powers = np.exp(scores)
    weights = powers / powers.sum(axis=1, keepdims=True)
    return weights @ asked @ for_value, weights


def with_einsum(asking, asked, q, k, v):
    scores = torch.einsum("ia,ad,bd,jb->ij", asking, q, k, asked)
    weights = (scores / k.size(1) ** 0.5).softmax(1)
    return [torch.einsum("ij,ja,ae->ie", weights, asked, v), weights]


def in_place(asking, asked, q, k, v):
    weights = (asking @ q).matmul((asked @ k).T).div_(q.shape[1] ** 0.5).exp_()
    weights /= weights.sum(1, keepdim=True)
    asked.mul_(2)
    return weights @ (asked / 2 @ v), weights


def by_library(asking, asked, q, k, v):
    def attend(value):
        return F.scaled_dot_product_attention(query[None], key[None], value[None])[
            0
        ]

    query, key = asking @ q, asked @ k
    return attend(asked @ v), attend(torch.eye(len(asked)).to(query))


def as_lists(*inputs):
    return [table.tolist() for table in right(*inputs)]


def in_32_bits(*inputs):
    return right(*(x.float() for x in inputs))


def exchanged(x, y, q, k, v):
    return right(x, y, k, q, v)


def no_maps(x, y, q, k, v):
    weights = (x @ y.T / x.size(1) ** 0.5).softmax(-1)
    return weights @ y @ v, weights


def values_of_who_asks(x, y, q, k, v):
    _, weights = right(x, y, q, k, v)
    return weights @ (x @ v), weights


def causal(scores):
    return scores.masked_fill(
        torch.ones_like(scores).triu(1).bool(), -torch.inf
    ).softmax(-1)


RIGHT = {
    "one_head": {
        "PyTorch": right,
        "NumPy": in_numpy,
        "einsum": with_einsum,
        "in place": in_place,
        "PyTorch's own": by_library,
        "lists": as_lists,
        "32 bits": in_32_bits,
        "divided before": head(lambda q, k: (q / q.size(1) ** 0.5) @ k.T),
    }
}
WRONG = {
    "one_head": {
        "by a root that was written out": (by(2**0.5), "at width 6 the scores"),
        "by a width that was written out": (by(2), "^(?!.*by the width, not by)"),
        "by the words that ask": (by(3**0.5), "number of words that ask"),
        "asked by themselves": (
            lambda x, y, q, k, v: right(y, y, q, k, v),
            "queries are made of the words that are asked",
        ),
        "logarithms": (
            head(weigh=lambda scores: scores.log_softmax(-1)),
            "^(?!.*not divided by the sum).*logarithms of shares",
        ),
        "maps exchanged": (exchanged, "W_Q and W_K are exchanged"),
        "one map": (
            lambda x, y, q, k, v: right(x, y, q, q, v),
            "W_Q makes the keys",
        ),
        "the other": (
            lambda x, y, q, k, v: right(x, y, k, k, v),
            "W_K makes the quer",
        ),
        "no maps": (no_maps, "compared as they are"),
        "not divided": (by(1), "not divided by the root"),
        "by the width": (
            head(lambda q, k: q @ k.T / q.size(-1)),
            "by the width, not by",
        ),
        "by a word's width": (by(7**0.5), "width of a word"),
        "by a value's width": (by(11**0.5), "width of a value"),
        "by the words": (by(5**0.5), "number of words"),
        "multiplied": (
            head(lambda q, k: q @ k.T * q.size(-1) ** 0.5),
            "are multiplied",
        ),
        "other sign": (by(-(2**0.5)), "the smaller is the weight"),
        "cosines": (
            head(lambda q, k: F.normalize(q) @ F.normalize(k).T),
            "scores are cosines",
        ),
        "along queries": (head(weigh=lambda s: s.softmax(0)), "along the queries"),
        "no sum": (head(weigh=torch.exp), "not divided by the sum"),
        "scores": (head(weigh=lambda s: s), "the softmax is missing"),
        "causal": (head(weigh=causal), "no mask was asked for"),
        "who asks is asked": (
            lambda x, y, q, k, v: right(x, x, q, k, v),
            "shape: .* keys are made of the words that ask",
        ),
        "roles exchanged": (
            lambda x, y, q, k, v: right(y, x, q, k, v),
            "shape: .* rows belong to the words that are asked",
        ),
        "values of who asks": (
            values_of_who_asks,
            "exception: .* values are made of the words that ask",
        ),
        "no values": (
            lambda x, y, q, k, v: (
                right(x, y, q, k, v)[1] @ y,
                right(x, y, q, k, v)[1],
            ),
            "shape: .* W_V is not used",
        ),
        "keys averaged": (
            lambda x, y, q, k, v: right(x, y, q, k, k),
            "shape: .* Keys or queries are averaged",
        ),
        "other weights": (
            lambda *inputs: (right(*inputs)[0], by(1)(*inputs)[1]),
            "weights beside them are others",
        ),
        "weights first": (
            lambda *inputs: right(*inputs)[::-1],
            "Contexts come first",
        ),
        "contexts alone": (
            lambda *inputs: right(*inputs)[0],
            "missing: .* one tensor",
        ),
        "nothing": (lambda *inputs: None, "missing: .* got None"),
        "labels": (
            lambda *inputs: [x > 0 for x in right(*inputs)],
            "dtype: .* got bool",
        ),
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["one_head"])
def test_what_is_right_passes(kind):
    assert (
        said(report("query-key-value", RIGHT["one_head"][kind], "one_head")) == ""
    )


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["one_head"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["one_head"][kind]
    found = report("query-key-value", answer, "one_head")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [
        ("maps exchanged", 4),
        ("not divided", 4),
        ("contexts alone", 1),
        ("no maps", 3),
    ],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["one_head"][kind]
    found = report("query-key-value", answer, "one_head")
    assert (found.points, found.possible) == (points, 5)
