"""KV caches: grown in amortized constant time, also with gradients, copied, and shortened."""

import copy
from itertools import pairwise

import pytest
import torch

from selfattn_book.cache import KeyValueCache
from selfattn_book.language import decoder_only
from selfattn_book.masks import causal_mask
from selfattn_book.multi_head import MultiHeadAttention

B, H, D = 2, 3, 5


def add(cache, draw, length, seed=0, requires_grad=False):
    """Add random positions to a cache, and return them."""
    new = draw(2, B, H, length, D, seed=seed).requires_grad_(requires_grad)
    keys, values = cache.append(*new)
    cache.length = keys.size(2)
    return new, keys, values


@pytest.mark.parametrize("lengths", [[1] * 9, [4, 1, 7, 1], [3, 0, 2]], ids=str)
@pytest.mark.parametrize("with_gradients", [0, 1, 9])  # of the first steps
def test_it_holds_all_positions_in_order(draw, lengths, with_gradients):
    cache, parts, total = KeyValueCache(), [], 0
    for seed, length in enumerate(lengths):
        new, keys, values = add(cache, draw, length, seed, seed < with_gradients)
        parts.append(new)
        whole = torch.cat(parts, dim=3)
        assert keys.equal(whole[0])
        assert values.equal(whole[1])
        assert cache.keys.equal(whole[0])
        assert cache.values.equal(whole[1])
        total = total + keys.square().sum() + values.square().sum()
    for i, new in enumerate(parts[:with_gradients]):  # every earlier version is still there
        (gradient,) = torch.autograd.grad(total, new, retain_graph=True)
        torch.testing.assert_close(gradient, 2 * (len(parts) - i) * new)


def test_its_buffers_are_copied_only_when_they_are_full(draw):
    cache, addresses = KeyValueCache(), []
    for step in range(1000):
        add(cache, draw, 1, step)
        addresses.append(cache.keys.data_ptr())
    moves = sum(one != other for one, other in pairwise(addresses))
    assert moves < 12
    assert cache.buffers[0].size(2) < 2000


def test_copies_grow_independently(draw):
    cache = KeyValueCache()
    add(cache, draw, 3)
    add(cache, draw, 1)  # so that there is spare capacity
    other = copy.copy(cache)
    one, two = (add(x, draw, 1, seed)[0] for x, seed in ((cache, 1), (other, 2)))
    assert cache.keys[:, :, 4:].equal(one[0])
    assert other.keys[:, :, 4:].equal(two[0])


def test_a_smaller_length_discards_the_last_positions_and_not_the_callers(draw):
    cache = KeyValueCache()
    first, *_ = add(cache, draw, 4)
    before = first.clone()
    cache.length = 2
    new, keys, _ = add(cache, draw, 2, seed=1)  # fits into what there is
    assert keys.equal(torch.cat([before[0, :, :, :2], new[0]], dim=2))
    assert first.equal(before)


def test_values_that_do_not_continue_the_cache_are_refused(draw):
    cache = KeyValueCache()
    (keys, values), *_ = add(cache, draw, 4)
    for wrong, error, message in (
        (values.float(), TypeError, "values must have the dtype of the cache's"),
        (values[..., :1], ValueError, r"values must continue the cache's, \(2, 3, length, 5\)"),
        (values.to("meta"), ValueError, "values must be on the device"),
    ):
        with pytest.raises(error, match=message):
            cache.append(keys, wrong)


def test_it_may_leave_inference_mode(draw):
    cache = KeyValueCache()
    with torch.inference_mode():
        add(cache, draw, 3)
        add(cache, draw, 1)
    _, keys, _ = add(cache, draw, 1, requires_grad=True)
    assert keys.shape == (B, H, 5, D)


# The causal mask as an argument of the attention.
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize(("queries", "keys"), [(7, 7), (1, 7), (3, 7), (7, 3), (1, 1)])
def test_causal_attention_equals_attention_with_a_causal_mask(
    draw, draw_mask, agree, queries, keys, masked, need_weights
):
    attention = MultiHeadAttention(6, 2, num_kv_heads=1).double()
    x, memory = draw(B, queries, 6), draw(B, keys, 6, seed=1)
    mask = draw_mask(B, 1, 1, keys) if masked else None
    both = causal_mask(queries, keys) if mask is None else causal_mask(queries, keys) & mask
    options = {"need_weights": need_weights}
    output, _ = attention(x, memory, memory, mask, is_causal=True, **options)
    agree(output, attention(x, memory, memory, both, **options)[0])


def test_reading_a_text_makes_no_causal_mask(monkeypatch):
    def never(*sizes, **options):
        raise AssertionError("a causal mask was made")

    model = decoder_only(5, d_model=8, num_layers=2, num_heads=2, context_length=9)
    tokens, caches = torch.zeros(1, 8).long(), [KeyValueCache() for _ in model.blocks]
    monkeypatch.setattr("selfattn_book.multi_head.causal_mask", never)
    model(tokens, caches=caches)
    model(tokens[:, :1], caches=caches)
    with pytest.raises(AssertionError, match="a causal mask was made"):
        model.hidden_states(tokens)
