"""Ablated modules keep the interface of what they replace."""

from copy import deepcopy

import pytest
from torch import nn

from selfattn_book.blocks import DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.experiments.ablated_attention import (
    UniformAttention,
    UnprojectedAttention,
    with_parts,
)
from selfattn_book.experiments.ablation import ABLATIONS, without
from selfattn_book.experiments.words import AttentionClassifier, xor_sentences
from selfattn_book.multi_head import MultiHeadAttention


def test_unprojected_attention_is_one_head_with_identity_projections(draw, agree):
    head = MultiHeadAttention(7, 1, bias=False).double()
    for projection in (part for part in head.children() if isinstance(part, nn.Linear)):
        nn.init.eye_(projection.weight)
    x = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    for ours, expected in zip(UnprojectedAttention()(*x), head(*x), strict=True):
        assert ours.shape == expected.shape
        agree(ours, expected)


def test_uniform_attention_compares_nothing(draw, agree):
    query, key, value = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    context, _ = UniformAttention()(query, key, value)
    agree(context, value.mean(dim=1, keepdim=True).expand(2, 3, 7))
    agree(UniformAttention()(-query, 9 * key, value)[0], context)


@pytest.mark.parametrize("attention", [UnprojectedAttention, UniformAttention])
def test_an_ablated_attention_fits_the_classifier(attention):
    assert list(attention().parameters()) == []
    model = with_parts(AttentionClassifier(positions=False), attention=attention())
    tokens, _ = xor_sentences()
    assert model(tokens).shape == (4,)
    assert model.weights(tokens).shape == (4, 1, 3, 3)
    assert isinstance(model.attention, attention)
    with pytest.raises(AttributeError, match="attend"):
        with_parts(model, attend=attention())


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("missing", ABLATIONS)
def test_a_block_without_a_part_equals_the_rest(draw, agree, norm_first, missing):
    x, whole = draw(2, 5, 6), EncoderBlock(6, 3, norm_first=norm_first).double()
    ablated = without(deepcopy(whole), missing)
    steps = [
        ("attention", lambda y: whole.attention(y, y, y)[0], whole.attention_residual),
        ("feed-forward", whole.feed_forward, whole.feed_forward_residual),
    ]
    expected = x
    for name, step, residual in steps:
        norm = (lambda y: y) if missing == "norm" else residual.norm
        y = step(norm(expected) if norm_first else expected) * (name != missing)
        y = y if missing == "residual" else expected + y
        expected = y if norm_first else norm(y)
    agree(ablated(x)[0], expected)
    rest = {name.replace(".path.", "."): p for name, p in ablated.state_dict().items()}
    assert all(value.equal(whole.state_dict()[name]) for name, value in rest.items())
    assert (len(rest) < len(whole.state_dict())) == (missing != "residual")


def test_parts_are_removed_from_every_block_of_a_stack(draw):
    x, memory = draw(2, 5, 6), draw(2, 7, 6)
    stack = without(DecoderStack(3, 6, 2).double(), "attention", "feed-forward", "norm")
    states, *weights = stack(x, memory)
    assert states.equal(x)
    assert weights == [[None] * 3] * 2
    assert list(stack.parameters()) == []
    stack = without(EncoderStack(2, 6, 2, norm_first=True), "norm")
    assert not any(isinstance(part, nn.LayerNorm) for part in stack.modules())
    with pytest.raises(ValueError, match="got no norm in Linear"):
        without(nn.Linear(2, 2), "norm")
