"""Maps that are changed before they are used: against masks, and against models without a part."""

import pytest
import torch

from selfattn_book.language import decoder_only
from selfattn_book.masks import causal_mask
from selfattn_book.measure.editing import (
    EditedAttention,
    keep_only,
    remove,
    with_map,
)
from selfattn_book.multi_head import MultiHeadAttention


@pytest.fixture
def model():
    torch.manual_seed(0)
    model = decoder_only(5, d_model=6, num_layers=3, num_heads=2, context_length=7)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model.double()


TOKENS = torch.tensor([[0, 3, 1, 4, 2, 2, 0], [1, 1, 2, 0, 3, 4, 3]])


def test_removing_cells_is_masking_them(draw):
    """A cell that is taken out of the weights might as well never have had a score."""
    attention, x = MultiHeadAttention(6, 2).double(), draw(3, 7, 6)
    mask = causal_mask(7)
    hidden = torch.zeros(7, 7, dtype=torch.bool)
    hidden[4, 2] = hidden[5, 0] = hidden[6, 6] = True
    edited = EditedAttention(attention, lambda w: remove(w, hidden))
    expected, weights = attention(x, x, x, mask & ~hidden)
    context, changed = edited(x, x, x, mask)
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(changed, weights)


def test_a_row_that_loses_all_is_zero(draw):
    weights = draw(2, 2, 3, 3).softmax(-1)
    row = torch.zeros(3, 3, dtype=torch.bool)
    row[1] = True
    left = remove(weights, row)
    assert (left[:, :, 1] == 0).all()
    torch.testing.assert_close(left[:, :, [0, 2]], weights[:, :, [0, 2]])


def test_what_is_kept_keeps_its_proportions(draw):
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


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_an_edit_that_changes_nothing_changes_nothing(model, layer):
    same = with_map(model, layer, lambda weights: weights)
    torch.testing.assert_close(same(TOKENS), model(TOKENS))


def test_only_the_layer_that_is_named_is_changed(model):
    changed = with_map(model, 1, lambda weights: weights.flip(1))
    _, before = model.hidden_states(TOKENS)
    _, after = changed.hidden_states(TOKENS)
    torch.testing.assert_close(after[0], before[0])
    torch.testing.assert_close(after[1], before[1].flip(1))
    assert not torch.allclose(after[2], before[2])


def test_the_model_that_is_given_stays_as_it_is(model):
    before, state = (
        model(TOKENS),
        {k: v.clone() for k, v in model.state_dict().items()},
    )
    with_map(model, 0, lambda weights: 0 * weights)(TOKENS)
    assert model(TOKENS).equal(before)
    assert all(v.equal(state[k]) for k, v in model.state_dict().items())


def test_a_head_without_weights_is_a_head_without_its_part_of_the_output(model):
    gone = with_map(model, 2, lambda w: w * torch.tensor([1.0, 0.0]).view(2, 1, 1))
    cut = with_map(model, 2, lambda weights: weights)
    cut.blocks[2].attention.attention.project_output.weight.data[:, 3:] = 0
    torch.testing.assert_close(gone(TOKENS), cut(TOKENS))


def test_a_cache_is_refused(draw):
    x = draw(1, 2, 6)
    with pytest.raises(ValueError, match="without a cache; got one"):
        EditedAttention(MultiHeadAttention(6, 2).double(), lambda w: w)(x, x, x, cache=[])


def test_cells_are_boolean(draw):
    for edit in (remove, keep_only):
        with pytest.raises(TypeError, match=r"got dtype torch\.float64"):
            edit(draw(1, 1, 2, 2), draw(2, 2))
