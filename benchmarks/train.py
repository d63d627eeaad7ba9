"""A whole training on squares, as the sources do it: 128 squares, batches of 16, 100 epochs, Adam."""

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.one_module_per_head import OneModulePerHead, with_weights_of
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.train_squares import loader
from selfattn_book.training import fit

EPOCHS = 100


def contenders() -> dict[str, Callable[[], object]]:
    """Return the trainings, which differ in nothing but the model; the yardstick comes first."""
    _check_that_both_compute_the_same()
    return {
        "one module per head": lambda: train(OneModulePerHead),
        "the book": lambda: train(EncoderDecoder),
        # Not what the sources do, and worth more to small parameters than to large ones.
        "... with a fused Adam": lambda: train(OneModulePerHead, fused=True),
        "the book, fused Adam": lambda: train(EncoderDecoder, fused=True),
    }


def train(make: Callable[[], nn.Module], *, fused: bool = False) -> list[float]:
    """Train a new model and return its losses."""
    torch.manual_seed(23)
    model, batches = make(), loader(128, seed=13)
    adam = torch.optim.Adam(model.parameters(), lr=0.01, fused=fused)
    given = model, batches, nn.functional.mse_loss, adam
    return fit(*given, epochs=EPOCHS, seed=23, progress=False).train


def _check_that_both_compute_the_same() -> None:
    source, shifted, _ = next(iter(loader(128, seed=13)))
    model = EncoderDecoder()
    torch.testing.assert_close(
        with_weights_of(model)(source, shifted), model(source, shifted)
    )
