"""The recurrent encoder-decoder is causal, and uses all of its source."""

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


def test_it_is_causal(model, draw):
    source = draw(1, S, 2)
    assert leaks(lambda y: model(source, y[None])[0], draw(T, 2, seed=1), causal_mask(T)) == []


def test_it_uses_every_source_position(model, draw):
    source, target = draw(B, S, 2), draw(B, T, 2, seed=1)
    for position in range(S):
        other = source.clone()
        other[:, position] += 1
        assert not model(other, target).isclose(model(source, target)).any()
    torch.testing.assert_close(model(source, target)[1:], model(source[1:], target[1:]))


def test_predictions_are_the_outputs_for_earlier_predictions(model, draw):
    source = draw(B, S, 2)
    points = model.predict(source, T)
    shifted = torch.cat([source[:, -1:], points[:, :-1]], dim=1)
    torch.testing.assert_close(model(source, shifted), points)
