"""Stand-ins keep the contract of the attention that they replace."""

import pytest
import torch
from torch import nn

from selfattn_book.blocks import DecoderStack, EncoderBlock, EncoderStack
from selfattn_book.experiments.ablated_attention import (
    UniformAttention,
    UnprojectedAttention,
    with_parts,
)
from selfattn_book.experiments.ablation import STAND_INS, without
from selfattn_book.experiments.words import AttentionClassifier, xor_sentences
from selfattn_book.multi_head import MultiHeadAttention


def test_without_maps_is_one_head_whose_maps_are_the_identity(draw, agree):
    head = MultiHeadAttention(7, 1, bias=False).double()
    maps = [part for part in head.children() if isinstance(part, nn.Linear)]
    assert len(maps) == 4
    for linear in maps:
        nn.init.eye_(linear.weight)
    query, key, value = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    for ours, expected in zip(
        UnprojectedAttention()(query, key, value), head(query, key, value), strict=True
    ):
        assert ours.shape == expected.shape
        agree(ours, expected)


def test_even_attention_compares_nothing(draw, agree):
    query, key, value = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    context, weights = UniformAttention()(query, key, value)
    assert weights.shape == (2, 1, 3, 5)
    agree(context, value.mean(dim=1, keepdim=True).expand(2, 3, 7))
    agree(UniformAttention()(-query, 9 * key, value)[0], context)


@pytest.mark.parametrize("stand_in", [UnprojectedAttention, UniformAttention])
def test_a_stand_in_has_no_parameters_and_fits_the_classifier(stand_in):
    assert list(stand_in().parameters()) == []
    model = with_parts(AttentionClassifier(positions=False), attention=stand_in())
    tokens, _ = xor_sentences()
    assert model(tokens).shape == (4,)
    assert model.weights(tokens).shape == (4, 1, 3, 3)
    assert isinstance(model.attention, stand_in)


def test_only_parts_that_are_there_can_be_replaced():
    model = AttentionClassifier()
    with pytest.raises(ValueError, match="parts of the model, embed, position"):
        with_parts(model, attend=UniformAttention())
    assert torch.is_tensor(model(xor_sentences()[0]))


both_norms = pytest.mark.parametrize("norm_first", [True, False])


@pytest.fixture
def block(seeded):
    def _block(norm_first):
        with seeded(0):
            return EncoderBlock(6, 3, norm_first=norm_first).double()

    return _block


def by_hand(x, part_of_block, norm, norm_first, missing):
    norm = (lambda y: y) if missing == "norm" else norm
    y = part_of_block(norm(x)) if norm_first else part_of_block(x)
    y = y if missing == "residual" else x + y
    return y if norm_first else norm(y)


@both_norms
@pytest.mark.parametrize("missing", STAND_INS)
def test_a_block_without_a_part_is_what_is_left(block, draw, agree, norm_first, missing):
    x, whole = draw(2, 5, 6), block(norm_first)
    steps = [
        ("attention", lambda y: whole.attention(y, y, y)[0], whole.attention_residual),
        ("feed-forward", whole.feed_forward, whole.feed_forward_residual),
    ]
    expected = x
    for name, step, path in steps:
        step = torch.zeros_like if name == missing else step
        expected = by_hand(expected, step, path.norm, norm_first, missing)
    agree(without(block(norm_first), missing)(x)[0], expected)


def test_parts_are_taken_out_of_a_stack_wherever_they_are(draw):
    x, memory = draw(2, 5, 6), draw(2, 7, 6)
    stack = without(DecoderStack(3, 6, 2).double(), "attention", "feed-forward", "norm")
    states, *weights = stack(x, memory)
    assert states.equal(x)
    assert weights == [[None] * 3] * 2
    assert list(stack.parameters()) == []
    stack = without(EncoderStack(2, 6, 2, norm_first=True), "norm")
    assert not any(isinstance(part, nn.LayerNorm) for part in stack.modules())


@pytest.mark.parametrize("part", STAND_INS)
def test_what_is_left_keeps_its_numbers(block, part):
    whole, rest = block(True).state_dict(), without(block(True), part).state_dict()
    kept = {name.replace(".path.", "."): value for name, value in rest.items()}
    assert kept.keys() <= whole.keys()
    assert all(value.equal(whole[name]) for name, value in kept.items())
    assert (len(kept) < len(whole)) == (part != "residual")


def test_parts_that_are_not_there_are_refused(block):
    with pytest.raises(ValueError, match="parts must be attention, feed-forward"):
        without(block(True), "feed_forward")
    with pytest.raises(ValueError, match="got no norm in Linear"):
        without(nn.Linear(2, 2), "norm")
