"""What the pages' exercises answer to student code: right answers pass, each mistake has its name."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from selfattn_book.positions import sinusoidal_encoding
from tests.book.pages import DOCS, cells


@pytest.fixture
def check():
    """Give the checks of a page's exercises, by name, in its 64-bit numbers."""
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        yield load
    torch.set_default_dtype(before)


def load(page, name):
    head, *others = cells(DOCS / "chapters" / f"{page}.md")
    cell = next(cell for cell in others if f"def {name}(" in cell.code)
    namespace = {}
    exec(head.code, namespace)
    torch.set_default_dtype(torch.float64)
    exec(cell.code, namespace)
    return namespace[name]


def entry(p, column, d_model):
    return turned(p / 10000 ** (2 * (column // 2) / d_model), column)


def turned(angle, column):
    return math.sin(angle) if column % 2 == 0 else math.cos(angle)


@pytest.mark.parametrize(
    "answer",
    [
        entry,
        lambda p, c, d: np.float32(entry(p, c, d)),
        lambda p, c, d: torch.tensor(entry(p, c, d)),
        lambda p, c, d: sinusoidal_encoding(9, d)[p, c].float(),
    ],
)
def test_a_right_entry_passes(check, answer):
    check("positions", "check_entry")(answer)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda p, c, d: entry(p, c ^ 1, d), "got tensor..1., 0., 1."),
        (lambda p, c, d: halves(p, c, d), "got tensor..0., 0., 0., 1."),
        (lambda p, c, d: entry(p + 1, c, d), "position 0 is 0, 1, 0, 1"),
        (lambda p, c, d: turned(angle(p, c, d), p), "got tensor..0., 0., 0., 0."),
        (lambda p, c, d: entry(math.radians(p), c, d), "in radians"),
        (lambda p, c, d: turned(p / 10000 ** (c / d), c), "the sine before it"),
        (lambda p, c, d: turned(p / 10000 ** (c // 2 / d), c), "the 2 of 2i"),
        (lambda p, c, d: turned(p * 10000 ** (c // 2 * 2 / d), c), "divide by it"),
        (lambda p, c, d: turned(p / 1000 ** (c // 2 * 2 / d), c), "speed"),
        (lambda p, c, d: entry(p, c, d + d % 2), r"width 7: columns .* speed"),
        (lambda p, c, d: entry(p, c, d - d % 2), r"width 7: columns .* speed"),
    ],
)
def test_a_wrong_entry_is_named(check, answer, name):
    with pytest.raises(AssertionError, match=name):
        check("positions", "check_entry")(answer)


def angle(p, column, d_model):
    return p / 10000 ** (2 * (column // 2) / d_model)


def halves(p, column, d_model):
    """Put all sines on the left and all cosines on the right."""
    clocks = (d_model + 1) // 2
    pair, second = column % clocks, column >= clocks
    return entry(p, 2 * pair + second, d_model)


def attend(query, key, value, temperature, *, root=0.5, dim=-1):
    divisor = temperature * query.size(-1) ** root
    return (query / divisor @ key.mT).softmax(dim) @ value


def late(query, key, value, temperature):
    scores = query @ key.mT / temperature / query.size(-1) ** 0.5
    return scores.softmax(-1) @ value


@pytest.mark.parametrize(
    "answer",
    [
        attend,
        lambda q, k, v, t: attend(*(x.float() for x in (q, k, v)), t),
        lambda q, k, v, t: F.scaled_dot_product_attention(q / t, k, v),
        lambda q, k, v, t: torch.einsum(
            "ij,jk->ik", attend(q, k, torch.eye(len(k)).to(v), t), v
        ),
    ],
)
def test_a_right_temperature_passes(check, answer):
    check("why-divide", "check_attend")(answer)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda q, k, v, t: attend(k, q, v, t), "query and key are exchanged"),
        (lambda q, k, v, t: attend(q, k, v, t, dim=0), "must sum to 1"),
        (lambda q, k, v, t: attend(q, k, v, t, root=0), "√ of the width"),
        (lambda q, k, v, t: attend(q, k, v, t, root=1), "√ of the width"),
        (lambda q, k, v, t: attend(q, k, v, t**0.5), "2 halves the scores"),
        (lambda q, k, v, t: attend(q, k, v, 1 / t), "2 halves the scores"),
        (lambda q, k, v, t: attend(q, k, v, min(t, 9)), "hot is even"),
        (lambda q, k, v, t: attend(q, k, v, max(t, 0.5)), "cold is a choice"),
        (late, "divide before the product"),
    ],
)
def test_a_wrong_temperature_is_named(check, answer, name):
    with pytest.raises(AssertionError, match=name):
        check("why-divide", "check_attend")(answer)
