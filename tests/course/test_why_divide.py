"""Attention with a temperature: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.course.answers import report, said


def attend(query, key, value, temperature, *, root=0.5, dim=-1):
    divisor = temperature * query.size(-1) ** root
    return (query / divisor @ key.mT).softmax(dim) @ value


def late(query, key, value, temperature):
    scores = query @ key.mT / temperature / query.size(-1) ** 0.5
    return scores.softmax(-1) @ value


def in_numpy(query, key, value, temperature):
    query, key, value = map(np.asarray, (query, key, value))
    scores = (
        query / (temperature * np.sqrt(query.shape[1])).astype(query.dtype) @ key.T
    )
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True) @ value


def overflowing(query, key, value, temperature):
    powers = (query / (temperature * query.size(1) ** 0.5) @ key.T).exp()
    return powers / powers.sum(1, keepdim=True) @ value


def in_place(query, key, value, temperature):
    query /= temperature * query.size(1) ** 0.5
    return torch.softmax(query @ key.T, 1) @ value


def with_einsum(query, key, value, temperature):
    weights = attend(query, key, torch.eye(len(key)).to(value), temperature)
    return torch.einsum("ij,jk->ik", weights, value)


def by_the_max(query, key, value, temperature):
    """Take the largest score away, in 32 bits, and divide late."""
    scores = query.float() @ key.float().T
    scores = scores - scores.amax(1, keepdim=True)
    return (scores / temperature / query.size(1) ** 0.5).softmax(1) @ value.float()


def cosines(q, k, v, t):
    return (F.normalize(q) @ F.normalize(k).T / t).softmax(-1) @ v


def even(q, k, v, t):
    return v.mean(0).expand(len(q), -1)


def powers(q, k, v, t):
    """Raise the weights to the power of the temperature, not of its inverse."""
    weights = attend(q, k, torch.eye(len(k)).to(v), 1) ** t
    return weights / weights.sum(1, keepdim=True) @ v


RIGHT = {
    "attend": {
        "divided before": attend,
        "32 bits": lambda q, k, v, t: attend(*(x.float() for x in (q, k, v)), t),
        "PyTorch's own": lambda q, k, v, t: F.scaled_dot_product_attention(
            q / t, k, v
        ),
        "einsum": with_einsum,
        "NumPy": in_numpy,
        "in place": in_place,
        "late in 32 bits": by_the_max,
        "both divided": lambda q, k, v, t: attend(q / t**0.5, k / t**0.5, v, 1),
    }
}
WRONG = {
    "attend": {
        "a root that was written out": (
            lambda q, k, v, t: (q / t / 7**0.5 @ k.mT).softmax(-1) @ v,
            "at width 3 .* It is divided by √7 at every width",
        ),
        "by a value's width": (
            lambda q, k, v, t: (q / t / v.size(1) ** 0.5 @ k.mT).softmax(-1) @ v,
            "^(?!.*number of keys).*width of a value",
        ),
        "not colder than a thousandth": (
            lambda q, k, v, t: attend(q, k, v, max(t, 1e-3)),
            "at temperature 1e-09.* something limits it",
        ),
        "whole numbers": (
            lambda q, k, v, t: attend(q, k, v, int(t)),
            "^(?!.*overflows).*rounded down to a whole number",
        ),
        "powers": (
            powers,
            "^(?!.*(overflows|something limits it)).*the temperature multiplies",
        ),
        "multiplied by the root": (
            lambda q, k, v, t: attend(q, k, v, t, root=-0.5),
            "^(?!.*overflows).*are multiplied by the root",
        ),
        "keys in 16 bits": (
            lambda q, k, v, t: attend(q, k, k, t),
            "^(?!.*65504).*Keys are averaged",
        ),
        "the values themselves": (
            lambda q, k, v, t: v[: len(q)],
            "^(?!.*along the queries).*attends to itself alone",
        ),
        "exchanged": (
            lambda q, k, v, t: attend(k, q, v, t),
            "Query and key are exchan",
        ),
        "queries twice": (
            lambda q, k, v, t: attend(q, q, v[: len(q)], t),
            "Queries are compared with queries",
        ),
        "along queries": (
            lambda q, k, v, t: attend(q, k, v, t, dim=0),
            "softmax along the queries",
        ),
        "not divided": (
            lambda q, k, v, t: attend(q, k, v, t, root=0),
            "not divided by the root",
        ),
        "by the width": (
            lambda q, k, v, t: attend(q, k, v, t, root=1),
            "by the width, not by",
        ),
        "added": (
            lambda q, k, v, t: (q / (t + q.size(1) ** 0.5) @ k.T).softmax(-1) @ v,
            "added to the root",
        ),
        "under the root": (
            lambda q, k, v, t: attend(q, k, v, t**0.5),
            "stands under the root",
        ),
        "multiplied": (
            lambda q, k, v, t: attend(q, k, v, 1 / t),
            "multiplied by the temperature",
        ),
        "twice": (lambda q, k, v, t: attend(q, k, v, t * t), "divides twice"),
        "unused": (lambda q, k, v, t: attend(q, k, v, 1), "makes no difference"),
        "weights divided": (
            lambda q, k, v, t: attend(q, k, v, 1) / t,
            "The weights are divided by the temperature",
        ),
        "not hotter than 9": (
            lambda q, k, v, t: attend(q, k, v, min(t, 9)),
            "at temperature 1e[+]09.* something limits it",
        ),
        "not colder than a half": (
            lambda q, k, v, t: attend(q, k, v, max(t, 0.5)),
            "at temperature 1e-09.* something limits it",
        ),
        "late": (late, "passes 65504 before it is divided"),
        "overflowing": (overflowing, "An exponential overflows"),
        "cosines": (cosines, "scores are cosines"),
        "even": (even, "weights are all equal"),
        "with weights": (
            lambda q, k, v, t: (attend(q, k, v, t), attend(q, k, v, t)),
            "missing: it must return the contexts alone; got 2 values",
        ),
        "no values": (
            lambda q, k, v, t: attend(q, k, torch.eye(len(k)).to(q), t),
            r"shape: .* must have shape \(3, 2\); got \(3, 5\). Weights came",
        ),
        "nothing": (lambda q, k, v, t: None, "missing: .* got None"),
        "three arguments": (
            lambda q, k, v: attend(q, k, v, 1),
            "exception: TypeError",
        ),
    }
}


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", RIGHT["attend"])
def test_what_is_right_passes(kind):
    assert said(report("why-divide", RIGHT["attend"][kind], "attend")) == ""


@pytest.mark.usefixtures("page")
@pytest.mark.parametrize("kind", WRONG["attend"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["attend"][kind]
    found = report("why-divide", answer, "attend")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [
        ("late", 7),
        ("not divided", 6),
        ("unused", 5),
        ("exchanged", 6),
        ("even", 4),
        ("along queries", 5),
        ("cosines", 6),
    ],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    answer, _ = WRONG["attend"][kind]
    found = report("why-divide", answer, "attend")
    assert (found.points, found.possible) == (points, 8)
