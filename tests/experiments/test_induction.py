"""Repeated sequences, and attention-only models of them."""

import pytest
import torch

from selfattn_book.experiments.induction import (
    LENGTH,
    PositionedAttention,
    attention_only,
    next_letter_loss,
    orders,
    repeats,
)
from selfattn_book.multi_head import MultiHeadAttention


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("periods", [(1, 1), (4, 8), (8, 8)])
def test_a_sequence_repeats_after_its_period_and_not_before(periods):
    for row in repeats(50, periods, generator=generator()).tolist():
        period = len(set(row))
        assert periods[0] <= period <= periods[1]
        assert all(row[t] == row[t - period] for t in range(period, LENGTH + 1))
        assert len(set(row[:period])) == period


def test_periods_and_letters_are_uniform():
    periods = [len(row.unique()) for row in repeats(1000, generator=generator())]
    counts = torch.tensor(periods).bincount(minlength=9)
    assert counts[:4].sum() == 0
    assert counts[4:].min() > 140
    frequency = torch.nn.functional.one_hot(orders(2000, generator=generator())).double().mean(0)
    torch.testing.assert_close(frequency, torch.full((8, 8), 0.125).double(), atol=0.04, rtol=0)


def test_sequences_come_from_their_generator():
    before = torch.get_rng_state()
    assert repeats(5, generator=generator(3)).equal(repeats(5, generator=generator(3)))
    assert not repeats(5, generator=generator(3)).equal(repeats(5, generator=generator(4)))
    assert torch.get_rng_state().equal(before)


def test_a_target_of_minus_100_is_left_out(draw):
    logits = draw(2, 3, 8)
    targets = torch.tensor([[1, 2, -100], [3, -100, -100]])
    picked = [(0, 0, 1), (0, 1, 2), (1, 0, 3)]
    mean = -sum(logits.log_softmax(-1)[i] for i in picked) / 3
    torch.testing.assert_close(next_letter_loss(logits, targets), mean)


@pytest.mark.parametrize("places", [None, torch.ones(16, 32)])
def test_a_model_is_causal(places):
    torch.manual_seed(0)
    model, texts = attention_only(2, 2, qk_positions=places), repeats(3, generator=generator())
    changed = texts.clone()
    changed[:, 9:] = 7 - changed[:, 9:]
    before, after = model(texts[:, :-1]), model(changed[:, :-1])
    assert before[:, :9].equal(after[:, :9])
    assert not before[:, 9:].equal(after[:, 9:])


def test_positions_are_added_to_queries_and_keys_alone(draw):
    attention, x, places = MultiHeadAttention(6, 2).double(), draw(3, 4, 6), draw(9, 6)
    placed = PositionedAttention(attention, places)
    y = x + places[:4]
    for found, wanted in zip(placed(x, x, x), attention(y, y, x), strict=True):
        torch.testing.assert_close(found, wanted)
    assert placed(x, x, x, need_weights=False)[1] is None


def test_only_positions_show_the_order(draw):
    torch.manual_seed(0)
    texts = orders(4, generator=generator())
    turned = torch.cat([texts[:, :-1].flip(1), texts[:, -1:]], dim=1)
    for places, same in ((torch.zeros(16, 32), True), (3 * draw(16, 32), False)):
        model = attention_only(1, qk_positions=places).double()
        assert model(texts)[:, -1].allclose(model(turned)[:, -1]) == same
