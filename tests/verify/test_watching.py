"""What assertions compare is seen, once, without changing what they say."""

import math

import numpy as np
import pytest
import torch
from bookproof.verify.transform import NAME, watched
from bookproof.verify.watching import Watch

SETTING = {"torch": torch, "math": math, "np": np, "x": torch.tensor([1.0, 2.0])}


def run(code):
    """Run a cell, and return who watched it, and whether it held."""
    watch = Watch()
    try:
        exec(compile(watched(code), "page", "exec"), {**SETTING, NAME: watch})
    except AssertionError:
        return watch, False
    return watch, True


def margin(code):
    watch, holds = run(code)
    assert holds
    return watch.margin


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("1.5 < 2", 0.25),
        ("2 > 1.5", 0.25),
        ("-1.0 < 1", 1),
        ("0.0 <= 0.0", 0),
        ("x.max() <= 2.0", 0),
        ("15 >= 15", 1 / 15),
        ("14 < 15", 1 / 15),
        ("np.int64(16) >= 15", 2 / 16),
        ("1.0 < 2.0 < 2.5", 0.2),
        ("(x < 4).all()", 0.5),
        ("all(n < 4 for n in x)", 0.5),
        ("all([n < 4 for n in x])", 0.5),
        ("not (x > 4).any()", 0.5),
        ("not any(n > 4 for n in x)", 0.5),
        ("x[0] < 4 and x[1] < 4", 0.5),
        ("not (x[0] > 4 or x[1] > 4)", 0.5),
        ("((x < 4) & (x > 0.75)).all()", 0.25),
        ("not ((x > 4) | (x < 0.75)).any()", 0.25),
        ("(~(x > 4)).all()", 0.5),
        # A typed tolerance stands alone on its side.
        ("3.0 < 3 + 0.5", 1),
        ("3.25 < 3 + 0.5", 0.5),
        ("3 + 0.5 > 3.25", 0.5),
        ("2.75 > 3 - 0.5", 0.5),
        ("2.75 + 0.5 > 3", 0.5),
        ("abs(x[0] - 1.25) < 0.5", 0.5),
        ("torch.allclose(x, x + 0.25, rtol=0, atol=1)", 0.75),
        ("np.allclose(np.array([1.5]), 1, 0.25, 0.5)", 1 / 3),
        ("not torch.allclose(x, x + 2, rtol=0, atol=1)", 0.5),
        ("math.isclose(1, 1.25, abs_tol=1)", 0.75),
        ("torch.isclose(x, x + 0.25, rtol=0, atol=1).all()", 0.75),
    ],
)
def test_the_margin_of_a_claim(claim, expected):
    assert margin(f"assert {claim}") == pytest.approx(expected)


@pytest.mark.parametrize(
    "claim",
    [
        "1 == 1",
        "0.5 != 1",
        "'a' < 'b'",
        "[1] < [2]",
        "True <= True",
        "(x > 0).any()",
        "x[0] < 0 or x[1] > 0",
        "(x > 0).sum() == 2",
        "not 3 < 2 < 1",
        "x.isfinite().all()",
        "x.lt(3).all()",
        "torch.allclose(x, x, rtol=0, atol=0)",
        "torch.empty(0).lt(1).all() and (torch.empty(0) < 1).all()",
    ],
)
def test_what_has_no_margin(claim):
    if "allclose" in claim or "[1] < [2]" in claim:
        claim = f"({claim})"
    assert margin(f"assert {claim}") is None


def test_the_thinnest_of_several_comparisons_counts_and_none_fails_for_lack_of_a_margin():
    assert margin("for n in (1, 3.5, 2):\n    assert n < 4.0") == 0.125
    odd = "class Odd:\n    def __gt__(self, other):\n        return True\nassert Odd() > 1"
    assert margin(odd) is None
    assert margin("assert torch.zeros(2, device='meta').shape[0] > 1") == 0.5


def test_sides_are_evaluated_once():
    count = "seen = []\ndef f(n):\n    seen.append(n)\n    return n\n"
    assert run(f"{count}assert f(1) < f(2) < f(3)\nassert seen == [1, 2, 3]")[1]
    assert run(f"{count}assert f(4) > f(3) and not f(2) > f(3)\nassert len(seen) == 4")[1]


# The same assertion may fail first on one part of it, and then on another.
TWICE = """def f(n, fine):
    assert n < 2 and fine
try:
    f(3, True)
except AssertionError:
    pass
f(1, False)"""


@pytest.mark.parametrize(
    ("code", "sides"),
    [
        ("\nassert 1 == 2", {2: (1, 2)}),
        ("\nassert 3 in [1, 2]", {2: (3, [1, 2])}),
        ("\nassert 3 not in [3]", {2: (3, [3])}),
        ("\nassert None is not None", {2: (None, None)}),
        ("\nassert 1 < 3 < 2", {2: (3, 2)}),
        ("\nassert 1 < 2 and 2 < 1", {2: (2, 1)}),
        ("\nassert not 1 < 2", {2: (1, 2)}),
        ("\nassert (x < 1.5).all()", {2: ("2", "1.5")}),
        ("\nassert (x == torch.tensor([1, 3])).all()", {2: ("2", "3")}),
        ("assert 1 < 2\nassert (x > 0).all()\nassert 3 == 4", {3: (3, 4)}),  # of what holds, none
        (TWICE, {}),
    ],
)
def test_the_sides_of_a_claim_that_is_not_so(code, sides):
    watch, holds = run(code)
    assert not holds
    assert watch.sides == sides


@pytest.mark.parametrize(
    "call",
    [
        "torch.testing.assert_close(x, x + 0.25, rtol=0, atol=1)",
        "torch.testing.assert_close([x, x], [x, x + 0.25], rtol=0, atol=1)",
        "torch.testing.assert_close({'a': x}, {'a': x + 0.25}, rtol=0, atol=1)",
        "close = torch.testing.assert_close\nclose(actual=x, expected=x + 0.25, rtol=0, atol=1)",
        "torch.testing.assert_close(1.0 + 0.5e-7, 1.0)",  # PyTorch allows 2e-7
    ],
)
def test_assert_close_is_watched(monkeypatch, call):
    watch = Watch()
    monkeypatch.setattr(torch.testing, "assert_close", watch.recorded(torch.testing.assert_close))
    exec(call, dict(SETTING))
    assert watch.margin == pytest.approx(0.75)
