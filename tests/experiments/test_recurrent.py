"""The recurrent model keeps time: nothing comes back from the future, and steps add up."""

import pytest
import torch

from selfattn_book.experiments.recurrent import RecurrentEncoderDecoder
from selfattn_book.masks import causal_mask
from selfattn_book.measure.sensitivity import leaks

B, S, T, D = 2, 3, 5, 7


@pytest.fixture
def model(seeded):
    with seeded(0):
        return RecurrentEncoderDecoder(d_model=D).double()


@pytest.fixture
def draw():
    chance = torch.Generator().manual_seed(1)
    return lambda *shape: torch.randn(*shape, generator=chance, dtype=torch.float64)


def test_the_future_changes_nothing(model, draw):
    source = draw(1, S, 2)
    found = leaks(lambda target: model(source, target[None])[0], draw(T, 2), causal_mask(T))
    assert found == []


def test_the_whole_source_is_heard(model, draw):
    source, target = draw(B, S, 2), draw(B, T, 2)
    for place in range(S):
        other = source.clone()
        other[:, place] += 1
        assert not model(other, target).isclose(model(source, target)).any()


def test_predicted_points_are_what_the_whole_decoder_says_of_them(model, draw):
    source = draw(B, S, 2)
    points = model.predict(source, T)
    fed = torch.cat([source[:, -1:], points[:, :-1]], dim=1)
    torch.testing.assert_close(model(source, fed), points)


def test_samples_are_independent(model, draw):
    source, target = draw(B, S, 2), draw(B, T, 2)
    alone = model(source[1:], target[1:])
    torch.testing.assert_close(model(source, target)[1:], alone)


@pytest.mark.parametrize("sizes", [{"d_model": 0}, {"d_input": 0}])
def test_sizes_are_checked(sizes):
    with pytest.raises(ValueError, match=f"{next(iter(sizes))} must be at least 1; got 0"):
        RecurrentEncoderDecoder(**sizes)


def test_no_points_are_refused(model, draw):
    with pytest.raises(ValueError, match="length must be at least 1; got 0"):
        model.predict(draw(B, S, 2), 0)
