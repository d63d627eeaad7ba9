"""What the pages' exercises answer to student code: right answers pass, each mistake has its name."""

import pytest
import torch
import torch.nn.functional as F

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
