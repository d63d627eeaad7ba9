"""Parameters are drawn in the order of the sources, whose numbers docs/appendix/sources.md prints."""

import pytest
import torch
from torch import nn

from selfattn_book.blocks import EncoderBlock
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.experiments.sources import draw_in_source_order
from selfattn_book.multi_head import MultiHeadAttention


def one_by_one(attention, d_input, bias=True):
    """Make separate layers in the order of the sources: output, then query, key, value a head."""
    width, heads = attention.d_head, attention.num_heads
    output = nn.Linear(heads * width, attention.project_output.out_features, bias)
    return output, [[nn.Linear(d_input, width, bias) for _ in range(3)] for _ in range(heads)]


def assert_equal_to(attention, output, heads):
    ours = attention.project_query, attention.project_key, attention.project_value
    expected = [
        (attention.project_output, [output]),
        *zip(ours, zip(*heads, strict=True), strict=True),
    ]
    for whole, parts in expected:
        assert whole.weight.equal(torch.cat([part.weight for part in parts]).to(whole.weight))
        if whole.bias is not None:
            assert whole.bias.equal(torch.cat([part.bias for part in parts]).to(whole.bias))


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
    assert_equal_to(attention, output, heads)
    assert all(p.requires_grad and p.dtype == dtype for p in attention.parameters())


def test_an_encoder_decoder_draws_part_by_part(seeded):
    model = EncoderDecoder(d_model=2, num_heads=3, d_ff=10, d_input=2)
    with seeded(23):
        draw_in_source_order(model)
    decoder = model.decoder
    parts = [
        ([model.encoder.attention], model.encoder.feed_forward),
        ([decoder.self_attention, decoder.cross_attention], decoder.feed_forward),
    ]
    with seeded(23):
        for attentions, feed_forward in parts:
            for attention in attentions:
                assert_equal_to(attention, *one_by_one(attention, 2))
            layers = [nn.Linear(2, 10), nn.Linear(10, 2)]
            for ours, theirs in zip(feed_forward[::2], layers, strict=True):
                assert ours.weight.equal(theirs.weight)
                assert ours.bias.equal(theirs.bias)


def test_other_modules_are_refused_and_unchanged():
    block = EncoderBlock(6, 2)
    before = [parameter.clone() for parameter in block.parameters()]
    with pytest.raises(TypeError, match="attention and linear layers; got LayerNorm"):
        draw_in_source_order(block)
    assert all(a.equal(b) for a, b in zip(before, block.parameters(), strict=True))
