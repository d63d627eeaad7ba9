"""The lookup task, and the attention that solves it."""

import pytest
import torch
from torch.testing import assert_close

from selfattn_book.attention import attention_weights
from selfattn_book.experiments.lookup import Lookup, lookups

B, S, INPUT, WIDTH = 7, 5, 3, 11


@pytest.fixture
def records():
    return lookups(B, S, INPUT, generator=torch.Generator().manual_seed(0))[0]


def test_the_query_is_the_first_key_and_the_answer_its_value():
    records, answers = lookups(B, S, INPUT, generator=torch.Generator().manual_seed(0))
    assert torch.equal(records[:, 0, :INPUT], records[:, 1, :INPUT])
    assert torch.equal(answers, records[:, 1, INPUT])
    assert (records[:, 0, INPUT] == 0).all()
    assert_close(records[:, 1:, :INPUT].norm(dim=-1), torch.full((B, S), INPUT**0.5))


def test_the_model_is_attention(records):
    torch.manual_seed(1)
    model = Lookup(INPUT, WIDTH, divisor=WIDTH**0.5)
    query = model.project_query(records[:, :1, :INPUT])
    key = model.project_key(records[:, 1:, :INPUT])
    weights = attention_weights(query, key)
    assert_close(model.weights(records), weights[:, 0])
    assert_close(model(records), (weights @ records[:, 1:, INPUT:])[:, 0, 0])


def test_a_small_initialization_equals_a_divisor(records):
    torch.manual_seed(2)
    divided = Lookup(INPUT, WIDTH, divisor=4)
    torch.manual_seed(2)
    shrunk = Lookup(INPUT, WIDTH, divisor=1, shrink=4)
    assert_close(divided(records), shrunk(records))


def test_entries_of_queries_and_keys_start_with_variance_one():
    records, _ = lookups(50, S, INPUT, generator=torch.Generator().manual_seed(4))
    torch.manual_seed(4)
    model = Lookup(INPUT, 1000, divisor=1)
    for project in (model.project_query, model.project_key):
        assert project(records[..., :INPUT]).var().item() == pytest.approx(1, abs=0.1)


def test_a_record_is_blocked_if_its_right_key_has_hardly_any_weight(records):
    torch.manual_seed(3)
    model = Lookup(INPUT, WIDTH, divisor=0.3)
    right = model.weights(records)[:, 0]
    assert torch.equal(model.blocked(records), right < 1e-4)
    assert model.blocked(records, below=1.1).all()
