"""Stand-ins keep the contract of the attention that they replace."""

import pytest
import torch
from torch import nn

from selfattn_book.ablation import EvenAttention, UnmappedAttention, with_parts
from selfattn_book.attention import MultiHeadAttention
from selfattn_book.words import AttentionClassifier, relative_words


def test_without_maps_is_one_head_whose_maps_are_the_identity(draw, agree):
    head = MultiHeadAttention(7, 1, bias=False).double()
    maps = [part for part in head.children() if isinstance(part, nn.Linear)]
    assert len(maps) == 4
    for linear in maps:
        nn.init.eye_(linear.weight)
    query, key, value = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    for ours, expected in zip(
        UnmappedAttention()(query, key, value), head(query, key, value), strict=True
    ):
        assert ours.shape == expected.shape
        agree(ours, expected)


def test_even_attention_compares_nothing(draw, agree):
    query, key, value = draw(2, 3, 7), draw(2, 5, 7, seed=1), draw(2, 5, 7, seed=2)
    context, weights = EvenAttention()(query, key, value)
    assert weights.shape == (2, 1, 3, 5)
    agree(context, value.mean(dim=1, keepdim=True).expand(2, 3, 7))
    agree(EvenAttention()(-query, 9 * key, value)[0], context)


@pytest.mark.parametrize("stand_in", [UnmappedAttention, EvenAttention])
def test_a_stand_in_has_no_parameters_and_fits_the_classifier(stand_in):
    assert list(stand_in().parameters()) == []
    model = with_parts(AttentionClassifier(positions=False), attention=stand_in())
    tokens, _ = relative_words()
    assert model(tokens).shape == (4,)
    assert model.weights(tokens).shape == (4, 1, 3, 3)
    assert isinstance(model.attention, stand_in)


def test_only_parts_that_are_there_can_be_replaced():
    model = AttentionClassifier()
    with pytest.raises(ValueError, match="parts of the model, embed, position"):
        with_parts(model, attend=EvenAttention())
    assert torch.is_tensor(model(relative_words()[0]))
