"""Training and prediction on squares, with the recipe of the sources."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks.contenders import Contenders, assert_agreement
from benchmarks.one_module_per_head import with_separate_heads
from selfattn_book.encoder_decoder import COURSE_SIZES, EncoderDecoder
from selfattn_book.experiments.squares import square_sequences
from selfattn_book.experiments.train_squares import adam, loader
from selfattn_book.experiments.training import fit

EPOCHS, STEPS = 100, 256


def training_contenders() -> Contenders:
    """Return trainings of two models with two optimizers; separate heads come first."""
    source, shifted, _ = next(iter(loader(128, seed=13)))
    model = book()
    expected = model(source, shifted)
    torch.testing.assert_close(with_separate_heads(model)(source, shifted), expected)
    return {
        "one module per head": lambda: train(separate, plain_adam),
        "... with a fused Adam": lambda: train(separate, adam),
        "the book, plain Adam": lambda: train(book, plain_adam),
        "the book": lambda: train(book, adam),
    }


def prediction_contenders() -> Contenders:
    """Return prediction with and without a cache of keys and values; without comes first."""
    torch.manual_seed(23)
    model = EncoderDecoder(**COURSE_SIZES, positions=True)
    source = square_sequences(16, seed=13).points[:, :2]

    def predict(cached: bool) -> Tensor:
        return model.predict(source, STEPS, cached=cached)

    ways: Contenders = {
        "without a cache": lambda: predict(False),
        "cached": lambda: predict(True),
    }
    assert_agreement(ways, atol=1e-6)
    return ways


def book() -> EncoderDecoder:
    """Return the model of the book, in the sizes of the sources."""
    return EncoderDecoder(**COURSE_SIZES, positions=False)


def separate() -> EncoderDecoder:
    """Return the same model with a module for each head."""
    return with_separate_heads(book())


def plain_adam(model: nn.Module) -> torch.optim.Optimizer:
    """Return Adam with PyTorch's defaults, which on a CPU updates one parameter at a time."""
    return torch.optim.Adam(model.parameters(), lr=0.01)


def train(
    make: Callable[[], nn.Module], optimizer: Callable[[nn.Module], torch.optim.Optimizer]
) -> list[float]:
    """Train a new model, and return its losses."""
    torch.manual_seed(23)
    model = make()
    given = model, loader(128, seed=13), nn.functional.mse_loss, optimizer(model)
    return fit(*given, epochs=EPOCHS, seed=23, progress=False).train
