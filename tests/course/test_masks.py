"""A sliding window: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said


def distance(length):
    position = torch.arange(length)
    return position[:, None] - position


def right(length, width):
    return (distance(length) >= 0) & (distance(length) < width)


def standing(length, width):
    """Let each query see itself and the first keys, as many as it should see."""
    first = torch.arange(length) < width - 1
    return right(length, length) & (first | torch.eye(length).bool())


RIGHT = {
    "window_mask": {
        "a list of tensors": lambda n, width: list(right(n, width)),
        "a generator": lambda n, width: (row.tolist() for row in right(n, width)),
        "two triangles": lambda n, w: torch.ones(n, n).tril().triu(1 - w).bool(),
        "NumPy": lambda n, w: right(n, w).numpy(),
        "a list": lambda n, w: right(n, w).tolist(),
        "a loop": lambda n, w: [
            [0 <= i - j < w for j in range(n)] for i in range(n)
        ],
        "in place": lambda n, w: (
            torch.ones(n, n, dtype=torch.bool).tril_().triu_(1 - w)
        ),
        "np.tri": lambda n, w: np.tri(n, dtype=bool) & ~np.tri(n, k=-w, dtype=bool),
    }
}
WRONG = {
    "window_mask": {
        "others only": (
            lambda n, width: (distance(n) > 0) & (distance(n) <= width),
            "itself is not among them",
        ),
        "from right to left": (
            lambda n, width: right(n, width).flip(1),
            "^(?!.*does not move with).*query 0 sees key 6",
        ),
        "both sides": (lambda n, w: distance(n).abs() < w, "reaches to both sides"),
        "turned round": (
            lambda n, w: ~right(n, w),
            "True was taken to mean hidden",
        ),
        "exchanged": (
            lambda n, w: right(n, w).mT,
            "Rows and columns are exchanged",
        ),
        "one too wide": (
            lambda n, w: right(n, w + 1),
            "The width counts the query itself",
        ),
        "one too narrow": (
            lambda n, w: right(n, w - 1),
            "leaves out|one too narrow|see itself",
        ),
        "causal": (lambda n, w: right(n, n), "Nothing is ever too old"),
        "without itself": (
            lambda n, w: right(n, w) & (distance(n) > 0),
            "newest position is left out",
        ),
        "numbers": (lambda n, w: right(n, w).float(), "dtype: a mask is boolean"),
        "scores": (
            lambda n, w: torch.zeros(n, n).masked_fill(~right(n, w), -torch.inf),
            "dtype: a mask is boolean",
        ),
        "a batch": (
            lambda n, w: right(n, w)[None],
            r"shape: .* must have shape \(7, 7\)",
        ),
        "a key too few": (
            lambda n, w: right(n, w)[:, :-1],
            r"shape: .* must have shape \(7, 7\)",
        ),
        "both halves": (
            lambda n, w: right(n, w) | right(n, w).T,
            "reaches to both sides",
        ),
        "standing": (standing, "does not move with the query"),
        "nothing": (lambda n, w: None, "missing: it must return a mask"),
        "stops": (
            lambda n, w: torch.ones(n, 2) @ torch.ones(n, 2),
            "exception: RuntimeError",
        ),
        "one argument": (lambda n: right(n, 3), "exception: TypeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["window_mask"])
def test_what_is_right_passes(kind):
    assert said(report("masks", RIGHT["window_mask"][kind], "window_mask")) == ""


@pytest.mark.parametrize("kind", WRONG["window_mask"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["window_mask"][kind]
    found = report("masks", answer, "window_mask")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_what_is_half_right_has_half_of_the_points():
    causal = report("masks", lambda n, w: right(n, n), "window_mask")
    assert (causal.points, causal.possible) == (3, 6)
