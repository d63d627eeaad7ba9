"""The corner that follows: right answers of many kinds pass, and each wrong one is named."""

import re

import numpy as np
import pytest
import torch

from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")


def pick(source, place):
    return source[torch.arange(len(source)), place.clamp(min=0)]


def answer(back=2, *, sign=-1, first=0.0, clean=torch.sign):
    """Return an answer of some corner before; after one corner, a multiple of it."""

    def next_corner(source, mask):
        given = mask.sum((1, 2, 3))
        corner = sign * clean(pick(source, given - back))
        alone = first * source[:, 0].sign()
        return torch.where((given > 1)[:, None], corner, alone)[:, None]

    return next_corner


right = answer()


def looped(source, mask):
    found = []
    for points, seen in zip(source.tolist(), mask.flatten(1).tolist(), strict=True):
        n = sum(seen)
        x, y = points[n - 2] if n > 1 else (0, 0)
        found.append([[-np.sign(x), -np.sign(y)]])
    return found


def in_numpy(source, mask):
    source, given = np.asarray(source), np.asarray(mask).sum((1, 2, 3))
    before = source[np.arange(len(source)), np.maximum(given - 2, 0)]
    return (-np.sign(before) * (given > 1)[:, None])[:, None]


def by_shift(source, mask):
    """Weigh the corners: -1 for the last but one."""
    seen = mask[:, 0, 0].to(source)
    last = seen - torch.nn.functional.pad(seen[:, 1:], (0, 1))
    before = torch.nn.functional.pad(last[:, 1:], (0, 1))
    return -torch.einsum("bs,bsd->bd", before, source.sign())[:, None]


def turned(source, mask):
    """After one corner, say one of its neighbours."""
    said = right(source, mask)
    alone = mask.sum((1, 2, 3)) == 1
    said[alone, 0] = source[alone, 0].sign().flip(-1) * torch.tensor([1.0, -1.0])
    return said


def at_the_end(source, mask):
    return -source[:, -1:].sign() * (mask.sum((1, 2, 3)) > 1).view(-1, 1, 1)


def from_the_start(source, mask):
    return -source[:, :1].sign() * (mask.sum((1, 2, 3)) > 1).view(-1, 1, 1)


def means(source, mask):
    """Divide by the number of corners two before, of which there are none after one."""
    corner, given = right(source, mask), mask.sum((1, 2, 3))
    return corner / (given > 1).view(-1, 1, 1)


def straight(source, mask):
    given = mask.sum((1, 2, 3))
    last, before = pick(source, given - 1), pick(source, given - 2)
    return ((2 * last - before) * (given > 1)[:, None])[:, None]


def as_a_parallelogram(source, mask):
    given = mask.sum((1, 2, 3))
    said = right(source, mask)
    three = source[given == 3]
    said[given == 3, 0] = three[:, 0] - three[:, 1] + three[:, 2]
    return said


def a_bare_list(source, mask):
    return right(source, mask).tolist()


RIGHT = {
    "next_corner": {
        "as on the page": right,
        "a loop": looped,
        "NumPy": in_numpy,
        "weights": by_shift,
        "32 bits": lambda x, m: right(x, m).float(),
        "16 bits": lambda x, m: right(x, m).half(),
        "a list": a_bare_list,
        "rounded": answer(clean=lambda x: x.clamp(-1, 1).round()),
        "in place": lambda x, m: right(x.sign_(), m),
    }
}
WRONG = {
    "next_corner": {
        "two thousand": (
            lambda source, mask: right(source, mask)[torch.arange(2000)],
            "exception: IndexError",
        ),
        "of the whole batch": (
            lambda source, mask: right(source, mask) - source.mean((0, 1)),
            "when other sources are left out",
        ),
        "the last again": (
            answer(1, sign=1, clean=lambda x: x),
            "^(?!.*noise of all).*says the last corner again",
        ),
        "no axis": (
            lambda x, m: right(x, m)[:, 0],
            r"shape: .*\(2000, 1, 2\); got \(2000, 2\)",
        ),
        "one for each": (
            lambda x, m: -x.sign(),
            r"shape: .*\(2000, 1, 2\); got \(2000, 3, 2\)",
        ),
        "at the end": (
            at_the_end,
            "It looks at the end of the padded source|moves by",
        ),
        "the mean of all": (
            lambda x, m: -x.mean(1, keepdim=True).sign(),
            "another number stands in the padding. It looks at the end",
        ),
        "opposite": (answer(first=-1.0), "It says the opposite corner"),
        "repeated": (answer(first=1.0), "It says the corner that it was given"),
        "a neighbour": (turned, "one of the two neighbours"),
        "nan": (means, "A mean over no corner"),
        "the same side": (answer(sign=1), "not the one opposite to it"),
        "the last": (answer(1, sign=1), "It says the last corner again"),
        "opposite to the last": (answer(1), "opposite to the last"),
        "from the start": (from_the_start, "counts from the start"),
        "nothing known": (
            lambda x, m: torch.zeros(len(x), 1, 2),
            "as if nothing was known",
        ),
        "straight": (straight, "straight line"),
        "with noise": (
            answer(clean=lambda x: x),
            r"is 0.0\d+, and 0.01 is possible. The noise of the corner two before",
        ),
        "parallelogram": (as_a_parallelogram, "The noise of all given corners"),
        "integers": (lambda x, m: right(x, m).int(), "dtype: .* got int32"),
        "nothing": (lambda x, m: None, "missing: .* got None"),
        "the mask itself": (lambda x, m: x[m], "exception: IndexError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["next_corner"])
def test_what_is_right_passes(kind):
    found = report("squares", RIGHT["next_corner"][kind], "next_corner")
    assert said(found) == ""


@pytest.mark.parametrize("kind", WRONG["next_corner"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["next_corner"][kind]
    found = report("squares", answer, "next_corner")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [
        ("with noise", 5),
        ("opposite", 5),
        ("from the start", 4),
        ("nothing known", 3),
    ],
)
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("squares", WRONG["next_corner"][kind][0], "next_corner")
    assert (found.points, found.possible) == (points, 6)
