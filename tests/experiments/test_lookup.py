import math

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


def test_all_keys_have_the_same_length(records):
    length = records[:, 1:, :INPUT].norm(dim=-1)
    assert_close(length, torch.full((B, S), INPUT**0.5))


def test_a_seed_gives_the_same_records(records):
    again, _ = lookups(B, S, INPUT, generator=torch.Generator().manual_seed(0))
    assert torch.equal(records, again)


def test_the_model_is_attention(records):
    torch.manual_seed(1)
    model = Lookup(INPUT, WIDTH, divisor=WIDTH**0.5)
    query = model.project_query(records[:, :1, :INPUT])
    key = model.project_key(records[:, 1:, :INPUT])
    weights = attention_weights(query, key)
    assert_close(model.weights(records), weights[:, 0])
    assert_close(model(records), (weights @ records[:, 1:, INPUT:])[:, 0, 0])


def test_a_small_start_is_a_divisor_at_the_start(records):
    torch.manual_seed(2)
    divided = Lookup(INPUT, WIDTH, divisor=4)
    torch.manual_seed(2)
    shrunk = Lookup(INPUT, WIDTH, divisor=1, shrink=4)
    assert_close(divided(records), shrunk(records))


def test_a_sharp_identity_looks_up_perfectly():
    records, answers = lookups(B, S, INPUT, generator=torch.Generator().manual_seed(3))
    model = Lookup(INPUT, INPUT, divisor=1e-4)
    with torch.no_grad():
        model.project_query.weight.copy_(torch.eye(INPUT))
        model.project_key.weight.copy_(torch.eye(INPUT))
    assert_close(model(records), answers)


def test_entries_of_queries_and_keys_start_with_variance_one():
    records, _ = lookups(50, S, INPUT, generator=torch.Generator().manual_seed(4))
    torch.manual_seed(4)
    model = Lookup(INPUT, 1000, divisor=1)
    query = model.project_query(records[..., :INPUT])
    assert query.var().item() == pytest.approx(1, abs=0.1)


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="num_keys must be at least 1; got 0"):
        lookups(B, 0, INPUT)
    with pytest.raises(TypeError, match=r"width must be an integer; got 2\.5"):
        Lookup(INPUT, 2.5, divisor=1)


@pytest.mark.parametrize("name", ["divisor", "shrink"])
@pytest.mark.parametrize("number", [0, -1.0, math.inf, math.nan])
def test_a_divisor_is_a_number_above_zero(name, number):
    with pytest.raises(ValueError, match=f"{name} must be above 0, and finite; got"):
        Lookup(2, 3, **{"divisor": 1, name: number})
    with pytest.raises(TypeError, match=f"{name} must be a number; got 'x'"):
        Lookup(2, 3, **{"divisor": 1, name: "x"})
