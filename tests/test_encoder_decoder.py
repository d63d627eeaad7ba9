"""The plain encoder and decoder: masks, positions, and the KV cache."""

import pytest
import torch

from selfattn_book.cache import DecoderCache
from selfattn_book.encoder_decoder import Decoder, Encoder, EncoderDecoder
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.positions import sinusoidal_encoding

B, S, T = 3, 5, 7
SIZES = {"d_model": 4, "num_heads": 2, "d_ff": 11, "d_input": 6}


@pytest.fixture
def make(seeded):
    def _make(**options):
        with seeded(0):
            return EncoderDecoder(**SIZES | options).double()

    return _make


@pytest.fixture
def model(make):
    return make(positions=True)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("cached", [False, True])
def test_prediction_is_what_forward_says_of_its_own_points(draw, make, positions, cached):
    model, source, start = make(positions=positions), draw(B, S, 6), draw(B, 1, 6, seed=2)
    mask = padding_mask([5, 2, 3])
    for first, options in ((source[:, -1:], {}), (start, {"start": start})):
        points = model.predict(source, 9, source_mask=mask, cached=cached, **options)
        assert not points.requires_grad
        shifted = torch.cat([first, points[:, :-1]], dim=1)
        torch.testing.assert_close(model(source, shifted, mask), points, rtol=0, atol=1e-12)


def test_without_positions_the_encoder_sees_no_order(draw):
    encoder, source = Encoder(**SIZES).double(), draw(B, S, 6)
    assert Decoder(**SIZES).positions(source) is source
    torch.testing.assert_close(encoder(source.flip(1))[0], encoder(source)[0].flip(1))
    encoder = Encoder(**SIZES, positions=True).double()
    assert not torch.allclose(encoder(source.flip(1))[0], encoder(source)[0].flip(1))


def test_weights_are_left_out_when_nobody_needs_them(model, draw):
    source, target, mask = draw(B, S, 6), draw(B, T, 6), padding_mask([5, 2, 3])
    memory, weights = model.encoder(source, mask)
    assert weights.shape == (B, 2, S, S)
    fast = model.encoder(source, mask, need_weights=False)
    torch.testing.assert_close(fast, (memory, None))
    slow, *_ = model.decoder(target, memory, causal_mask(T), mask)
    fast = model.decoder(target, memory, causal_mask(T), mask, need_weights=False)
    torch.testing.assert_close(fast, (slow, None, None))
    torch.testing.assert_close(model(source, target, mask), slow)


def test_neither_training_nor_prediction_computes_weights(model, draw, monkeypatch):
    def never(*inputs):
        raise AssertionError("weights were computed")

    monkeypatch.setattr("selfattn_book.multi_head.attention_weights", never)
    source = draw(B, S, 6)
    model(source, draw(B, T, 6)).sum().backward()
    model.predict(source, 3)
    model.decoder.step = None  # what a prediction with a cache calls, and only that
    model.predict(source, 3, cached=False)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        model.predict(source, 3)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [Encoder, Decoder, EncoderDecoder])
def test_sizes_are_checked(kind, size):
    with pytest.raises(ValueError, match="must be at least 1; got 0"):
        kind(**SIZES | {size: 0})


def test_the_length_is_checked(model, draw):
    with pytest.raises(ValueError, match="length must be at least 1; got 0"):
        model.predict(draw(B, S, 6), 0)
    with pytest.raises(ValueError, match="max_len = 1000"):
        model.predict(draw(B, S, 6), 1002)


def begun(model, source, memory):
    """Return the cache of a decoder that has made one step."""
    cache = DecoderCache()
    model.decoder.step(source[:, -1:], memory, cache)
    return cache


def test_a_refused_step_leaves_the_cache_as_it_was(model, draw):
    source, newest = draw(B, S, 6), draw(B, 1, 6, seed=3)
    memory, _ = model.encoder(source)
    right = model.decoder.step(newest, memory, begun(model, source, memory))
    cache = begun(model, source, memory)
    for given, mask, message in (
        ((draw(B, 2, 6), memory), None, r"one position, \(batch, 1, d_input\); got \(3, 2"),
        ((newest[..., :5], memory), None, "x must have shape"),
        ((newest[:1], memory), None, "keys must continue the cache's"),
        ((newest, memory[:1]), None, r"the steps before, \(3, 5, 4\); got \(1, 5, 4\)"),
        ((newest, memory), torch.ones(4).bool(), "mask must broadcast"),
    ):
        with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
            model.decoder.step(*given, cache, mask)
        assert (len(cache.target), len(cache.memory)) == (1, S)
    assert model.decoder.step(newest, memory, cache).equal(right)


@pytest.mark.parametrize("cached", [False, True])
def test_a_prediction_begins_with_one_point(model, draw, cached):
    source = draw(B, S, 6)
    for start in (draw(B, 2, 6), draw(B, 0, 6), draw(1, 1, 6), draw(B, 1, 5), source[0]):
        with pytest.raises(ValueError, match=r"start must have shape \(3, 1, 6\); got"):
            model.predict(source, 3, start=start, cached=cached)
    with pytest.raises(ValueError, match="at least one point where no start is given"):
        model.predict(source[:, :0], 3, cached=cached)
    alone = model.predict(source[:, :0], 3, start=source[:, -1:], cached=cached)
    assert alone.shape == (B, 3, 6)


@pytest.mark.parametrize("width", [1, 2, 6])
def test_a_point_is_scaled_by_the_root_of_its_width(draw, make, width):
    model, x = make(d_input=width, positions=True), draw(B, S, width)
    wanted = width**0.5 * x + sinusoidal_encoding(S, width, dtype=torch.float64)
    for part in (model.encoder, model.decoder):
        torch.testing.assert_close(part.positions(x), wanted)
