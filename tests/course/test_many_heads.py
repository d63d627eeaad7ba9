"""What each head adds: right answers of many kinds pass, and each wrong one is named."""

import re
from copy import deepcopy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")


def parts(attention, x, *, bias=True, look=lambda w: w):
    heads, width = attention.num_heads, attention.d_head
    _, weights = attention(x, x, x)
    project = attention.project_value
    value = F.linear(x, project.weight, project.bias if bias else None)
    value = value.unflatten(-1, (heads, width)).transpose(1, 2)
    blocks = attention.project_output.weight.T.unflatten(0, (heads, width))
    return look(weights) @ value @ blocks


def by_silence(attention, x):
    """Silence all heads but one, in the attention that was given."""
    weight, found = attention.project_output.weight.data, []
    before, width = weight.clone(), attention.d_head
    for start in range(0, weight.size(1), width):
        weight.zero_()
        weight[:, start : start + width] = before[:, start : start + width]
        found.append(attention(x, x, x)[0] - attention.project_output.bias)
    return torch.stack(found, dim=1)


def by_difference(attention, x):
    """Take one head away, and see what is missing."""
    found = []
    for head in range(attention.num_heads):
        without = deepcopy(attention)
        width = attention.d_head
        without.project_output.weight.data[:, head * width :][:, :width] = 0
        found.append(attention(x, x, x)[0] - without(x, x, x)[0])
    return torch.stack(found, dim=1)


def einsum(attention, x):
    _, w = attention(x, x, x)
    v = attention.project_value(x).unflatten(-1, (attention.num_heads, -1))
    o = attention.project_output.weight.unflatten(-1, (attention.num_heads, -1))
    return torch.einsum("bhts,bshd,ehd->bhte", w, v, o)


def scrambled(attention, x):
    _, weights = attention(x, x, x)
    value = attention.project_value(x).view(*weights.shape[:3], -1)
    return weights @ value @ attention.project_output.weight.T.view(3, 7, 10)


def stored(attention, x):
    _, weights = attention(x, x, x)
    value = attention.project_value(x).unflatten(-1, (3, 7)).transpose(1, 2)
    return weights @ value @ attention.project_output.weight.reshape(3, 7, 10)


def other_rows(attention, x):
    blocks = attention.project_output.weight.T.unflatten(0, (3, 7))
    return heads(attention, x) @ blocks.roll(1, 0)


def heads(attention, x):
    _, weights = attention(x, x, x)
    return weights @ attention.project_value(x).unflatten(-1, (3, 7)).transpose(
        1, 2
    )


def of_three(attention, x):
    _, weights = attention(x, x, x)
    value = attention.project_value(x).unflatten(-1, (3, 7))
    stored = attention.project_output.weight
    heads = [weights[:, h] @ value[:, :, h] for h in range(3)]
    made = [head @ stored[:, 7 * h : 7 * h + 7].T for h, head in enumerate(heads)]
    return torch.stack(made, dim=1)


def neighbours(attention, x):
    _, weights = attention(x, x, x)
    sizes = attention.d_head, attention.num_heads
    value = attention.project_value(x).unflatten(-1, sizes).permute(0, 3, 1, 2)
    blocks = attention.project_output.weight.T.unflatten(0, sizes[::-1])
    return weights @ value @ blocks


RIGHT = {
    "contributions": {
        "blocks": parts,
        "silence": by_silence,
        "difference": by_difference,
        "einsum": einsum,
        "NumPy": lambda m, x: parts(m, x).detach().numpy(),
        "32 bits": lambda m, x: parts(m, x).float(),
        "16 bits": lambda m, x: parts(m, x).half(),
        "lists": lambda m, x: np.asarray(parts(m, x).tolist()).tolist(),
    }
}
WRONG = {
    "contributions": {
        "three heads of seven": (of_three, "exception: RuntimeError"),
        "two sentences": (
            lambda m, x: torch.stack([parts(m, x[i : i + 1])[0] for i in range(2)]),
            r"shape: the parts must have shape \(3, 2, 4, 6\)",
        ),
        "neighbours": (neighbours, "Neighbouring columns of the values went"),
        "even weights": (
            lambda m, x: parts(
                m, x, look=lambda w: torch.ones_like(w) / w.size(-1)
            ),
            "All words count alike",
        ),
        "added up": (
            lambda m, x: parts(m, x).sum(1),
            r"shape: .*\(2, 3, 5, 10\); got \(2, 5, 10\).* added up already",
        ),
        "before the output layer": (heads, "shape: .* before the output layer"),
        "heads first": (
            lambda m, x: parts(m, x).transpose(0, 1),
            "shape: .* axes are in another order",
        ),
        "words first": (
            lambda m, x: parts(m, x).transpose(1, 2),
            "shape: .* axes are in another order",
        ),
        "no bias": (lambda m, x: parts(m, x, bias=False), "values have a bias"),
        "b^O in each": (
            lambda m, x: parts(m, x) + m.project_output.bias,
            "added to each part, and belongs to no head",
        ),
        "b^O shared": (
            lambda m, x: parts(m, x) + m.project_output.bias / 3,
            "shared out among the heads, and belongs to none",
        ),
        "scrambled": (scrambled, "heads are scrambled"),
        "stored": (stored, "stores W.O transposed"),
        "other heads": (lambda m, x: parts(m, x).roll(1, 1), "other heads' places"),
        "other rows": (other_rows, "or meets another head's rows of W.O"),
        "even": (
            lambda m, x: parts(m, x).mean(1, keepdim=True).expand(-1, 3, -1, -1),
            "shared out evenly",
        ),
        "cumulative": (
            lambda m, x: parts(m, x).cumsum(1),
            "those of the heads before",
        ),
        "no weights": (
            lambda m, x: parts(m, x, look=lambda w: torch.eye(5).to(w)),
            "weights are left out",
        ),
        "mean weights": (
            lambda m, x: parts(m, x, look=lambda w: w.mean(1, keepdim=True)),
            "mean of the weights",
        ),
        "transposed": (
            lambda m, x: parts(m, x, look=lambda w: w.mT),
            "weights are transposed",
        ),
        "integers": (lambda m, x: parts(m, x).int(), "dtype: .* got int32"),
        "nothing": (
            lambda m, x: None,
            "missing: it must return the parts; got None",
        ),
        "stops": (lambda m, x: x.unflatten(-1, (3, 7)), "exception: RuntimeError"),
    }
}


@pytest.mark.parametrize("kind", RIGHT["contributions"])
def test_what_is_right_passes(kind):
    found = report("many-heads", RIGHT["contributions"][kind], "contributions")
    assert said(found) == ""


@pytest.mark.parametrize("kind", WRONG["contributions"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["contributions"][kind]
    found = report("many-heads", answer, "contributions")
    assert found.points < found.possible
    assert re.search(name, said(found))


def test_what_adds_up_has_half_of_the_points():
    rolled = WRONG["contributions"]["other heads"][0]
    found = report("many-heads", rolled, "contributions")
    assert (found.points, found.possible) == (3, 6)
