"""Parameters are drawn in the order of the sources; docs/appendix/sources.md has those of models."""

import pytest
import torch
from torch import nn

from selfattn_book.blocks import EncoderBlock
from selfattn_book.experiments.sources import draw_in_source_order
from selfattn_book.multi_head import MultiHeadAttention


def one_by_one(attention, d_input, bias):
    """Make separate layers in the order of the sources: output, then query, key, value a head."""
    width, heads = attention.d_head, attention.num_heads
    output = nn.Linear(heads * width, attention.project_output.out_features, bias)
    return output, [[nn.Linear(d_input, width, bias) for _ in range(3)] for _ in range(heads)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("num_heads", "d_input", "d_head"), [(1, 2, 17), (3, 13, 1), (3, 5, 11)])
def test_an_attention_draws_its_output_and_then_head_by_head(
    seeded, num_heads, d_input, d_head, bias, dtype
):
    sizes = {"d_input": d_input, "d_head": d_head, "bias": bias}
    attention = MultiHeadAttention(17, num_heads, **sizes).to(dtype)
    with seeded(7):
        assert draw_in_source_order(attention) is attention
        state = torch.get_rng_state()
    with seeded(7):
        output, heads = one_by_one(attention, d_input, bias)
        assert torch.equal(torch.get_rng_state(), state)
    ours = attention.project_query, attention.project_key, attention.project_value
    expected = zip(ours, zip(*heads, strict=True), strict=True)
    for whole, parts in [(attention.project_output, [output]), *expected]:
        for name, value in whole.named_parameters():
            drawn = torch.cat([part.get_parameter(name) for part in parts])
            assert value.equal(drawn.to(dtype))
    assert all(p.requires_grad and p.dtype == dtype for p in attention.parameters())


def test_other_modules_are_refused_and_unchanged():
    block = EncoderBlock(6, 2)
    before = [parameter.clone() for parameter in block.parameters()]
    with pytest.raises(TypeError, match="attention and linear layers; got LayerNorm"):
        draw_in_source_order(block)
    assert all(a.equal(b) for a, b in zip(before, block.parameters(), strict=True))
