"""The card of shapes shows what the module computes, and says it for each width of a page."""

import pytest
import torch

from selfattn_book.figures.shapes import _steps, shapes
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.multi_head import MultiHeadAttention

B, T, S, H, D_MODEL, D_HEAD = 7, 3, 5, 2, 6, 4


@pytest.fixture
def attention():
    torch.manual_seed(0)
    return MultiHeadAttention(D_MODEL, H, d_head=D_HEAD)


@pytest.fixture
def inputs():
    return torch.randn(B, T, D_MODEL), torch.randn(B, S, D_MODEL)


def test_the_steps_are_those_of_the_module(attention, inputs):
    x, memory = inputs
    mask = padding_mask([4] * B, S) & causal_mask(T, S)
    steps = _steps(attention, x, memory, mask)
    output, weights = attention(x, memory, memory, mask)
    torch.testing.assert_close(steps["output"], output)
    torch.testing.assert_close(steps["weights"], weights)


def test_shapes_are_read_from_the_tensors(attention, inputs):
    label = shapes(attention, *inputs, {"causal": causal_mask(T, S)}).get_label()
    assert "scores: (B, H, T, S)" in label
    wider = MultiHeadAttention(D_MODEL, 4, d_head=2)
    taller = shapes(wider, *inputs, {"causal": causal_mask(T, S)}).get_label()
    assert "H = 4" in taller
    assert "side by side: (B, T, H·d_head)" in taller


def test_what_a_mask_hides_is_hatched(attention, inputs):
    count = [
        len(shapes(attention, *inputs, {"mask": mask}).lines)
        for mask in (causal_mask(T, S), torch.ones(T, S, dtype=torch.bool))
    ]
    assert count[0] > count[1]


def test_the_phone_has_its_own_layout(attention, inputs):
    ax = shapes(attention, *inputs, {"causal": causal_mask(T, S)})
    svg = ax.figure.to_svg()
    assert svg.count("(B, H, T, S)</text>") == 2  # scores and weights, on a desk
    assert svg.count("(B,H,T,S)</text>") == 2  # on a phone
