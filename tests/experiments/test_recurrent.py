"""The recurrent encoder-decoder is causal, and uses all of its source."""

import pytest
import torch

from selfattn_book.experiments.recurrent import RecurrentEncoderDecoder
from selfattn_book.properties.of_models import (
    decoder_is_prefix_consistent,
    uses_every_source_position,
)

B, S, T, D = 2, 3, 5, 7


@pytest.fixture
def model(seeded):
    with seeded(0):
        return RecurrentEncoderDecoder(d_model=D).double()


def test_it_is_causal_and_uses_every_source_position(model):
    assert decoder_is_prefix_consistent(model)
    assert uses_every_source_position(model)


def test_predictions_are_the_outputs_for_earlier_predictions(model, draw):
    source = draw(B, S, 2)
    points = model.predict(source, T)
    shifted = torch.cat([source[:, -1:], points[:, :-1]], dim=1)
    torch.testing.assert_close(model(source, shifted), points)
