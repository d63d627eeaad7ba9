"""Edited attention maps, compared with masks and with models without a part."""

import pytest
import torch

from selfattn_book.language import decoder_only
from selfattn_book.masks import causal_mask
from selfattn_book.measure.editing import EditedAttention, edit_map, keep_only, remove
from selfattn_book.multi_head import MultiHeadAttention

TOKENS = torch.tensor([[0, 3, 1, 4, 2, 2, 0], [1, 1, 2, 0, 3, 4, 3]])


@pytest.fixture
def model(randomized):
    sizes = {"d_model": 6, "num_layers": 3, "num_heads": 2, "context_length": 7}
    return randomized(decoder_only(5, **sizes), std=1.0)


def test_removing_cells_is_masking_them(draw):
    attention, x, mask = MultiHeadAttention(6, 2).double(), draw(3, 7, 6), causal_mask(7)
    hidden = torch.zeros(7, 7, dtype=torch.bool)
    hidden[4, 2] = hidden[5, 0] = hidden[6, 6] = True
    hidden[3] = True  # a whole row
    edited = EditedAttention(attention, lambda w: remove(w, hidden))
    for found, expected in zip(
        edited(x, x, x, mask), attention(x, x, x, mask & ~hidden), strict=True
    ):
        torch.testing.assert_close(found, expected)
    with pytest.raises(ValueError, match="without a cache; got one"):
        edited(x, x, x, cache=[])


def test_kept_cells_keep_their_proportions(draw):
    weights = draw(2, 2, 5, 5).softmax(-1)
    cells = torch.zeros(5, 5, dtype=torch.bool)
    cells[3, 1] = cells[3, 4] = True
    kept = keep_only(weights, cells)
    torch.testing.assert_close(
        kept[..., 3, 1] / kept[..., 3, 4], weights[..., 3, 1] / weights[..., 3, 4]
    )
    torch.testing.assert_close(kept.sum(-1), torch.ones(2, 2, 5).double())
    assert (kept[..., 3, [0, 2, 3]] == 0).all()
    assert kept[..., [0, 1, 2, 4], :].equal(weights[..., [0, 1, 2, 4], :])


def test_only_the_layer_that_is_named_is_changed_in_a_copy(model):
    expected = model(TOKENS)
    for layer in range(3):
        same = edit_map(model, layer, lambda weights: weights)
        torch.testing.assert_close(same(TOKENS), expected)
    _, before = model.hidden_states(TOKENS)
    _, after = edit_map(model, 1, lambda weights: weights.flip(1)).hidden_states(TOKENS)
    torch.testing.assert_close(after[0], before[0])
    torch.testing.assert_close(after[1], before[1].flip(1))
    assert not torch.allclose(after[2], before[2])
    assert model(TOKENS).equal(expected)
