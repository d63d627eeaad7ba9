"""Prediction of 256 points, with the keys and values kept or computed anew at every step."""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book.encoder_decoder import COURSE_SIZES, EncoderDecoder
from selfattn_book.experiments.squares import square_sequences

STEPS, BATCH = 256, 16


def contenders() -> dict[str, Callable[[], Tensor]]:
    """Return both ways to predict; the yardstick comes first."""
    torch.manual_seed(23)
    model = EncoderDecoder(**COURSE_SIZES, positions=True)
    source = square_sequences(BATCH, seed=13).points[:, :2]

    def predict(cached: bool) -> Tensor:
        return model.predict(source, STEPS, cached=cached)

    torch.testing.assert_close(predict(True), predict(False), rtol=0, atol=1e-6)
    return {"all anew at every step": lambda: predict(False), "cached": lambda: predict(True)}
