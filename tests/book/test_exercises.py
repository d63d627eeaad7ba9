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


def contributions(attention, x, bias=True):
    heads, width = attention.num_heads, attention.d_head
    _, weights = attention(x, x, x)
    project = attention.project_value
    value = F.linear(x, project.weight, project.bias if bias else None)
    value = value.unflatten(-1, (heads, width)).transpose(1, 2)
    blocks = attention.project_output.weight.T.unflatten(0, (heads, width))
    return weights @ value @ blocks


def scrambled(attention, x):
    _, weights = attention(x, x, x)
    value = attention.project_value(x).view(*weights.shape[:3], -1)
    return weights @ value @ attention.project_output.weight.T.view(3, 7, 10)


@pytest.mark.parametrize(
    "answer", [contributions, lambda model, x: contributions(model, x).float()]
)
def test_right_contributions_pass(check, answer):
    check("many-heads", "check_contributions")(answer)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (lambda m, x: contributions(m, x).sum(1), r"\(B, H, T, D\); got \(2, 5"),
        (lambda m, x: contributions(m, x, bias=False), "the values have a bias"),
        (
            lambda m, x: contributions(m, x) + m.project_output.bias,
            "belongs to no head",
        ),
        (scrambled, "scrambled"),
        (lambda m, x: contributions(m, x).roll(1, 1), "another head's rows"),
    ],
)
def test_wrong_contributions_are_named(check, answer, name):
    with pytest.raises(AssertionError, match=name):
        check("many-heads", "check_contributions")(answer)
