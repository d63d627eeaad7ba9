"""Sensitivity and information leaks: every path is found, and no other."""

import re

import pytest
import torch

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask
from selfattn_book.measure.sensitivity import leaks, sensitivity

LENGTH, WIDTH = 5, 3


def attend(mask):
    return lambda x: scaled_dot_product_attention(x, x, x, mask)[0]


def test_the_sensitivity_of_a_linear_map_is_known(draw):
    mixing, projection, inputs = draw(7, LENGTH, seed=1), draw(WIDTH, 2, seed=2), draw(5, WIDTH)
    before = inputs.clone()
    found = sensitivity(lambda x: mixing @ x @ projection, inputs)
    expected = mixing.abs() * torch.linalg.matrix_norm(projection)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    assert torch.equal(inputs, before)
    assert not inputs.requires_grad
    assert not sensitivity(lambda x: torch.ones(2, 7), inputs).any()


def test_attention_depends_on_what_its_mask_allows(draw):
    mask, x = causal_mask(LENGTH), draw(LENGTH, WIDTH)
    assert torch.equal(sensitivity(attend(mask), x) != 0, mask)
    assert leaks(attend(mask), x, mask) == []
    future = [(t, s) for t in range(LENGTH) for s in range(t + 1, LENGTH)]
    assert leaks(attend(~mask), x, mask) == future


def test_an_output_that_is_not_a_number_leaks():
    assert leaks(lambda x: x * torch.nan, torch.ones(2, 1), causal_mask(2)) == [(0, 1)]


SEQUENCE = "must be one sequence of shape (S, D); got (2, 3, 5)"
WRONG = [  # a function, its inputs, and a mask
    (torch.sin, torch.ones(2, 3, 5), None, ValueError, SEQUENCE),
    (torch.sin, torch.ones(2, 3).int(), None, TypeError, "floating-point tensor; got dtype torch.int32"),
    (torch.sum, torch.ones(2, 3), None, ValueError, "return one sequence of shape (T, E); got ()"),
    (lambda x: x[None], torch.ones(2, 3), None, ValueError, "of shape (T, E); got (1, 2, 3)"),
    (torch.sin, torch.ones(3, 2), torch.ones(3, 3), TypeError, "got dtype torch.float32"),
    (torch.sin, torch.ones(3, 2), torch.ones(3, 2).bool(), ValueError, "(3, 3); got (3, 2)"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "inputs", "mask", "error", "message"), WRONG)
def test_other_sequences_and_masks_are_refused(function, inputs, mask, error, message):
    with pytest.raises(error, match=re.escape(message)):
        sensitivity(function, inputs) if mask is None else leaks(function, inputs, mask)
