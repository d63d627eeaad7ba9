"""Properties of models hold for the book's; each broken one is refused, and its error named."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from selfattn_book.attention import scaled_dot_product_attention as attend
from selfattn_book.cache import DecoderCache
from selfattn_book.encoder_decoder import COURSE_SIZES, EncoderDecoder
from selfattn_book.masks import causal_mask
from selfattn_book.properties import explain_attention
from selfattn_book.properties import explain_models as explain
from selfattn_book.properties import of_models as has
from selfattn_book.properties.inputs import SOURCES, TARGETS

OF_MODELS = [
    has.decoder_is_prefix_consistent,
    has.source_padding_has_no_effect,
    has.uses_every_source_position,
]


@pytest.fixture
def make(seeded):
    def _make(positions=False, seed=0, **sizes):
        with seeded(seed):
            return EncoderDecoder(**{**COURSE_SIZES, **sizes}, positions=positions).double()

    return _make


@pytest.fixture
def model(make):
    return make()


def with_masks(model, encoder_mask=True, decoder_mask=True):
    """Run a model with or without its source masks."""

    def run(source, target, mask=None):
        memory, _ = model.encoder(source, mask if encoder_mask else None)
        causal = causal_mask(target.size(1))
        return model.decoder(target, memory, causal, mask if decoder_mask else None)[0]

    return run


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_books_model_has_every_property(make, positions, seed):
    model = make(positions, seed)
    assert all(ask(model) for ask in OF_MODELS)
    assert has.cache_is_exact(model.predict, uncached(model))


def test_the_width_is_an_argument(make):
    model = make(d_input=3, d_model=5)
    assert all(ask(model, width=3) for ask in OF_MODELS)
    assert has.cache_is_exact(model.predict, uncached(model), width=3)
    assert not any(ask(model) for ask in OF_MODELS)
    assert not has.cache_is_exact(model.predict, uncached(model))


@pytest.mark.parametrize("ask", OF_MODELS)
def test_inputs_and_generator_are_left_alone(ask, model):
    before = torch.random.get_rng_state()
    assert ask(lambda *inputs: (torch.rand(1), model(*inputs))[1])
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not ask(lambda source, target, mask=None: source @ target)


# Prefixes.
def reads(mask_of):
    return lambda x: attend(x, x, x, mask_of(x.size(1)))[0]


def band(length):
    return torch.ones(length, length, dtype=torch.bool).tril(1)


PREFIXES = [
    (reads(causal_mask), "yes"),
    (lambda x: reads(causal_mask)(reads(causal_mask)(x)), "yes"),
    (F.gelu, "yes"),
    (reads(band), explain.TOO_WIDE),
    (reads(lambda length: causal_mask(length).mT), explain.TRANSPOSED),
    (lambda x: x.flip(1).cumsum(1).flip(1), explain.TRANSPOSED),
    (reads(lambda length: None), explain.NOT_CAUSAL),
    (lambda x: x - x.mean(1, keepdim=True), explain.NOT_CAUSAL),
    (lambda x: x.cumsum(1) / x.size(1), explain.KNOWS_LENGTH),
    (lambda x: x * x.size(1), explain.KNOWS_LENGTH),
    (lambda x: x + (x.size(1) == 1), explain.KNOWS_LENGTH),
    (lambda x: x + (x.size(1) == 4), explain.KNOWS_LENGTH),
    (lambda x: x.cumsum(1) + x.roll(-2, dims=1), ""),
    (lambda x: torch.cat([x[:, :3], x[:, 3:].flip(1)], 1), ""),
    (lambda x: x[:, -1:], ""),
    (lambda x: x[:, -1], ""),
    (lambda x: x[:, :4], ""),
]


def verdict(answer):
    return "yes" if answer else answer.misconception


@pytest.mark.parametrize(("model", "expected"), PREFIXES)
def test_prefix_consistency(model, expected):
    assert verdict(has.is_prefix_consistent(model)) == expected
    assert verdict(has.decoder_is_prefix_consistent(lambda _, target: model(target))) == expected


# Padding of the source.
def kept(source, mask, padding=0):
    return source * torch.where(mask, 1, padding)[:, 0, 0, :, None]


PADDED = [
    (lambda s, t, mask: t + kept(s, mask).sum(1, True), "yes"),
    (lambda s, t, mask: t + s.sum(1, True), explain_attention.UNUSED),
    (lambda s, t, mask: t + kept(s, ~mask).sum(1, True), explain_attention.INVERTED),
    (lambda s, t, mask: t + kept(s, mask).mean(1, True), explain_attention.ZEROED_PADDING),
    (lambda s, t, mask: t + kept(s, mask, 0.5).sum(1, True), ""),
]


@pytest.mark.parametrize(("run", "expected"), PADDED)
def test_padding_of_a_source(run, expected):
    assert verdict(has.source_padding_has_no_effect(run)) == expected


@pytest.mark.parametrize("encoder_mask", [True, False])
@pytest.mark.parametrize("decoder_mask", [True, False])
def test_both_masks_of_the_source_are_needed(model, encoder_mask, decoder_mask):
    run = with_masks(model, encoder_mask=encoder_mask, decoder_mask=decoder_mask)
    assert bool(has.source_padding_has_no_effect(run)) == (encoder_mask and decoder_mask)


@pytest.mark.parametrize("which", [1, 2])
def test_one_sample_with_unmasked_padding_is_enough(model, which):
    def run(source, target, mask):
        mask = mask.clone()
        if len(mask) > 1:
            mask[which] = True
        return model(source, target, mask)

    assert not has.source_padding_has_no_effect(run)


# Dependence on the source.
def test_a_decoder_that_attends_only_to_its_target_is_refused(model):
    def deaf(source, target):
        return model(target, target)

    assert has.uses_every_source_position(deaf).misconception == has.SOURCE_UNUSED


@pytest.mark.parametrize("position", range(SOURCES))
def test_one_unused_source_point_is_found(model, position):
    mask = torch.arange(SOURCES) != position
    answer = has.uses_every_source_position(lambda source, target: model(source, target, mask))
    assert f"when source point {position} is negated" in answer.reason
    assert answer.misconception == ""


@pytest.mark.parametrize("position", [0, TARGETS - 1])
def test_one_output_without_the_source_is_found(model, position):
    is_cut = torch.arange(TARGETS)[:, None] == position
    answer = has.uses_every_source_position(lambda s, t: torch.where(is_cut, t, model(s, t)))
    assert f"position {position} of" in answer.reason


def test_one_entry_is_enough_but_rounding_error_is_not():
    def scaled(factor):
        return lambda source, target: target + factor * source.sum(1, True)

    assert not has.uses_every_source_position(scaled(1e-11))
    assert has.uses_every_source_position(scaled(1e-6))
    assert has.uses_every_source_position(scaled(torch.tensor([1.0, 0.0])))


# Caches.
def uncached(model):
    return lambda source, length: model.predict(source, length, cached=False)


def with_cache(model, new_cache):
    def predict(source, length):
        (memory, _), newest = model.encoder(source), source[:, -1:]
        cache, points = new_cache(), []
        for _ in range(length):
            newest = model.decoder.step(newest, memory, cache)
            points.append(newest)
        return torch.cat(points, dim=1).detach()

    return predict


class UncheckedCache(DecoderCache):
    def uncached(self, memory):
        return memory[:, len(self.memory) :]


@pytest.mark.parametrize(
    ("old", "kind"), [(UncheckedCache(), "mathematics"), (DecoderCache(), "exception")]
)
def test_a_cache_must_begin_empty(model, old, kind):
    assert has.cache_is_exact(with_cache(model, DecoderCache), uncached(model))
    kept = has.cache_is_exact(with_cache(model, lambda: old), uncached(model))
    assert kept.kind == kind
    assert "memory must be that" in kept.reason or kept.misconception == explain.KEPT


def test_a_memory_kept_for_sources_of_its_length_is_found(model):
    memories = {}

    def by_length(source, length):
        return model.predict(memories.setdefault(source.size(1), source), length)

    answer = has.cache_is_exact(by_length, uncached(model))
    assert "for source 1" in answer.reason
    assert answer.misconception == explain.KEPT


def test_points_without_their_positions_are_found(make, monkeypatch):
    model = make(positions=True)
    expected = uncached(model)
    place = model.decoder.positions.forward

    def cached(source, length):
        with monkeypatch.context() as patch:
            patch.setattr(model.decoder.positions, "forward", lambda x, start=0: place(x))
            return with_cache(model, DecoderCache)(source, length)

    assert has.cache_is_exact(cached, expected).misconception == explain.FIRST_ONLY


def test_rounding_error_is_accepted_and_other_errors_are_not(model):
    def shifted(gap):
        return lambda source, length: model.predict(source, length) + gap

    assert has.cache_is_exact(shifted(1e-11), uncached(model))
    assert has.cache_is_exact(shifted(1e-7), uncached(model)).misconception == ""
    short = has.cache_is_exact(lambda source, n: model.predict(source, n - 1), uncached(model))
    assert short.kind == "shape"


# Norms.
def standardize(x, axes=-1, correction=0):
    centred = x - x.mean(axes, keepdim=True)
    return centred / x.std(axes, correction=correction, keepdim=True)


NORMS = [
    (standardize, "yes"),
    (lambda x: standardize(x + x.relu()), "yes"),
    (lambda x: standardize(x, correction=1), explain.UNBIASED),
    (lambda x: x * x.square().mean(-1, True).rsqrt(), explain.NOT_CENTRED),
    (lambda x: x - x.mean(-1, keepdim=True), explain.NOT_SCALED),
    (lambda x: standardize(x) / x.std(-1, keepdim=True), explain.BY_THE_VARIANCE),
    (lambda x: standardize(x, 1), explain.ALONG_POSITIONS),
    (lambda x: standardize(x, (1, 2)), explain.OVER_EVERYTHING),
    (lambda x: x + standardize(x), explain.INPUT_ADDED),
    (lambda x: standardize(x) + 1e-3, explain.NOT_CENTRED),
    (lambda x: standardize(x) + 1e-2, ""),
    (lambda x: 2 * standardize(x), ""),
    (lambda x: standardize(x.clamp(-9, 9) + x.sign() / 99), explain.NOT_CENTRED),
    (lambda x: x[..., :0], ""),
]


@pytest.mark.parametrize(("model", "expected"), NORMS)
@pytest.mark.parametrize("width", [6, 64])
def test_normalized_rows(model, expected, width):
    assert verdict(has.rows_are_normalized(model, width)) == expected


@pytest.mark.parametrize("width", [2, 3, 512])
def test_layer_norm_is_normalized_at_any_width(width):
    assert has.rows_are_normalized(nn.LayerNorm(width).double(), width)


# Parameters.
def test_parameters_that_do_not_change_are_listed_and_explained():
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)

    def answer(trained, updated):
        def step():
            trained(torch.ones(2, 3)).sum().backward()
            torch.optim.SGD(updated, lr=0.1).step()

        model.zero_grad()
        return has.every_parameter_is_updated(model, step)

    assert answer(model, list(model.parameters()))
    assert answer(model, list(other.parameters())).misconception == has.NOT_IN_OPTIMIZER
    assert answer(model, [model.weight]).reason == "1 of 2 parameters do not change: bias."
    assert answer(other, list(model.parameters())).misconception == has.NO_GRADIENT
