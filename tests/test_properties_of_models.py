"""Each property holds of a model that has it, and does not of models that have not."""

import pytest
import torch

from selfattn_book import properties as has
from selfattn_book.cache import DecoderCache
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.masks import causal_mask

OF_MODELS = [has.prefixes_agree, has.source_padding_is_silent, has.source_is_heard]
both = pytest.mark.parametrize("positions", [False, True])


@pytest.fixture
def make(seeded):
    def _make(positions=False, seed=0, **sizes):
        with seeded(seed):
            return EncoderDecoder(positions=positions, **sizes).double()

    return _make


@pytest.fixture
def model(make):
    return make()


def with_masks(model, target_mask=None, encoder_mask=True, decoder_mask=True):
    """Run a model with a target mask of one's choice, and with or without its source masks."""

    def run(source, target, real=None):
        memory, _ = model.encoder(source, real if encoder_mask else None)
        mask = causal_mask(target.size(1)) if target_mask is None else target_mask
        memory_mask = real if decoder_mask else None
        return model.decoder(target, memory, mask, memory_mask)[0]

    return run


@both
@pytest.mark.parametrize("seed", range(3))
def test_the_books_model_has_all(make, positions, seed):
    model = make(positions, seed)
    assert all(ask(model) for ask in OF_MODELS)
    assert has.cache_changes_nothing(model.predict, anew(model))


def test_other_widths_are_asked_for(make):
    model = make(d_input=3, d_model=5)
    assert all(ask(model, width=3) for ask in OF_MODELS)
    assert has.cache_changes_nothing(model.predict, anew(model), width=3)
    assert not any(ask(model) for ask in OF_MODELS)
    assert not has.cache_changes_nothing(model.predict, anew(model))


def test_a_decoder_is_a_model(model):
    def decode(memory, target):
        return model.decoder(target, memory, causal_mask(target.size(1)))[0]

    assert has.prefixes_agree(decode)
    assert has.source_is_heard(decode)


@pytest.mark.parametrize("ask", OF_MODELS)
def test_a_model_that_stops_has_no_property(ask):
    assert not ask(lambda source, target, real=None: source @ target)


@pytest.mark.parametrize("ask", OF_MODELS)
def test_a_question_leaves_its_inputs_and_the_generator_alone(ask, model):
    before = torch.random.get_rng_state()
    assert ask(lambda *inputs: (torch.rand(1), model(*inputs))[1])
    assert torch.equal(torch.random.get_rng_state(), before)


# Prefixes.
def test_without_a_mask_prefixes_disagree(model):
    everything = torch.tensor(True)
    assert not has.prefixes_agree(with_masks(model, target_mask=everything))


def test_a_mask_that_is_too_wide_by_one_is_found(model):
    def too_wide(source, target):
        mask = causal_mask(target.size(1), target.size(1) + 1)[:, :-1]
        return with_masks(model, target_mask=mask)(source, target)

    assert not has.prefixes_agree(too_wide)


def test_a_model_that_looks_at_the_length_is_found():
    """No output depends on a later point, and yet the beginning changes with the end."""
    assert not has.prefixes_agree(lambda source, target: target * target.size(1))
    assert not has.prefixes_agree(
        lambda source, target: target + (target.size(1) == 1)
    )
    assert not has.prefixes_agree(
        lambda source, target: target + (target.size(1) == 4)
    )


def test_outputs_for_fewer_points_than_asked_are_found():
    assert not has.prefixes_agree(lambda source, target: target[:, -1:])


# Padding of the source.
@pytest.mark.parametrize("encoder_mask", [True, False])
@pytest.mark.parametrize("decoder_mask", [True, False])
def test_both_masks_of_the_source_are_needed(model, encoder_mask, decoder_mask):
    run = with_masks(model, encoder_mask=encoder_mask, decoder_mask=decoder_mask)
    assert bool(has.source_padding_is_silent(run)) == (
        encoder_mask and decoder_mask
    )


@pytest.mark.parametrize("which", [1, 2])
def test_one_loud_padding_is_enough(model, which):
    def run(source, target, real):
        real = real.clone()
        if len(real) > 1:
            real[which] = True
        return model(source, target, real)

    assert not has.source_padding_is_silent(run)


def test_a_source_that_is_counted_with_its_padding_is_found():
    def run(source, target, real):
        kept = source * real[:, 0, 0, :, None]
        return target + kept.mean(1, keepdim=True)

    assert not has.source_padding_is_silent(run)


# The source is heard.
def test_a_decoder_that_listens_to_itself_is_deaf(model):
    def deaf(source, target):
        memory, _ = model.encoder(target)
        return (
            with_masks(model)(source * 0, target)
            + model.decoder(target, memory, causal_mask(target.size(1)))[0]
        )

    assert not has.source_is_heard(deaf)


@pytest.mark.parametrize("place", range(has.SOURCES))
def test_one_point_that_is_not_heard_is_found(model, place):
    seen = torch.arange(has.SOURCES) != place
    assert not has.source_is_heard(
        lambda source, target: model(source, target, seen)
    )


@pytest.mark.parametrize("place", [0, has.TARGETS - 1])
def test_one_output_that_does_not_hear_is_found(model, place):
    def half_deaf(source, target):
        output = model(source, target)
        deaf = torch.arange(has.TARGETS)[:, None] == place
        return torch.where(deaf, target, output)

    assert not has.source_is_heard(half_deaf)


def test_rounding_is_not_hearing():
    def whisper(loudness):
        return lambda source, target: target + loudness * source.sum(1, True)

    assert not has.source_is_heard(whisper(1e-11))
    assert has.source_is_heard(whisper(1e-6))


# Caches.
def anew(model):
    return lambda source, length: model.predict(source, length, cached=False)


def with_cache(model, new_cache, start=None):
    def predict(source, length):
        (memory, _), newest = model.encoder(source), source[:, -1:]
        cache, points = new_cache(), []
        for _ in range(length):
            newest = model.decoder.step(newest, memory, cache)
            points.append(newest)
        return torch.cat(points, dim=1).detach()

    return predict


def empty():
    return DecoderCache.empty()


def test_a_cache_that_starts_empty_changes_nothing(model):
    assert has.cache_changes_nothing(with_cache(model, empty), anew(model))


def test_a_cache_that_outlives_its_sequence_is_found(model):
    old = empty()
    assert not has.cache_changes_nothing(
        with_cache(model, lambda: old), anew(model)
    )


def test_a_memory_that_is_kept_for_sources_of_its_length_is_found(model):
    kept = {}

    def new_cache_by_length(source, length):
        memory = kept.setdefault(source.size(1), source)
        return model.predict(memory, length)

    assert not has.cache_changes_nothing(new_cache_by_length, anew(model))


def test_points_that_all_stand_at_the_start_are_found(make):
    model = make(positions=True)
    place = model.decoder.place

    class Start(torch.nn.Module):
        def forward(self, x, start=0):
            return place(x)

    def cached(source, length):
        model.decoder.place = Start()
        points = with_cache(model, empty)(source, length)
        model.decoder.place = place
        return points

    assert not has.cache_changes_nothing(cached, anew(model))


def test_a_prediction_that_stops_early_is_found(model):
    def short(source, length):
        return model.predict(source, length - 1)

    assert not has.cache_changes_nothing(short, anew(model))


def test_rounding_that_steps_hand_on_is_no_difference(model):
    def shaken(size):
        return lambda source, length: model.predict(source, length) + size

    assert has.cache_changes_nothing(shaken(1e-11), anew(model))
    assert not has.cache_changes_nothing(shaken(1e-7), anew(model))
