"""Measurements of induction heads, compared with loops cell by cell."""

import ast
import re

import pytest
import torch

from selfattn_book.measure.induction import copying_accuracy, induction_mask, induction_score


@pytest.fixture
def tokens():
    return torch.randint(4, (3, 11), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_cells_are_those_of_the_definition(tokens, steps):
    cells = induction_mask(tokens, steps)
    assert cells.shape == (3, 11, 11)
    for b, row in enumerate(tokens.tolist()):
        for i in range(11):
            for j in range(11):
                wanted = steps <= j <= i and row[j - steps] == row[i]
                assert bool(cells[b, i, j]) == wanted


@pytest.mark.parametrize("steps", [1, 2])
def test_the_score_is_the_mean_over_queries_with_a_copy(tokens, steps, draw):
    weights = draw(3, 2, 11, 11, seed=2).softmax(-1)
    total, count = torch.zeros(2, dtype=weights.dtype), 0
    for b, row in enumerate(tokens.tolist()):
        for i in range(11):
            if row[i] not in row[:i]:
                continue
            count += 1
            for j in range(steps, i + 1):
                if row[j - steps] == row[i]:
                    total += weights[b, :, i, j]
    default = [] if steps == 1 else [steps]
    torch.testing.assert_close(induction_score(weights, tokens, *default), total / count)


def test_only_positions_with_a_copy_count():
    tokens = torch.tensor([[0, 1, 0, 1]])
    logits = torch.zeros(1, 3, 2)
    logits[0, 2, 1] = 1.0  # correct after a copy; wrong before, which does not count
    logits[0, 0, 0] = 1.0
    assert copying_accuracy(logits, tokens) == 1.0
    logits[0, 2, 0] = 2.0
    assert copying_accuracy(logits, tokens) == 0.0


def test_maps_of_another_shape_are_refused(tokens):
    for shape in ("(3, 11, 11)", "(3, 2, 11, 10)"):
        with pytest.raises(ValueError, match=re.escape(f"(3, H, 11, 11); got {shape}")):
            induction_score(torch.ones(ast.literal_eval(shape)), tokens)
    with pytest.raises(ValueError, match="some token must have an earlier copy; got none"):
        copying_accuracy(torch.ones(1, 3, 4), torch.arange(4)[None])
