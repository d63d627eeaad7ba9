"""A whole training on squares, as the sources do it: 128 squares, batches of 16, 100 epochs, Adam."""

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.one_module_per_head import OneModulePerHead, with_weights_of
from selfattn_book.encoder_decoder import EncoderDecoder
from selfattn_book.experiments.train_squares import adam, loader
from selfattn_book.experiments.training import fit

EPOCHS = 100


def contenders() -> dict[str, Callable[[], object]]:
    """Return the trainings, which differ in the model and in the optimizer; the yardstick is first."""
    _check_that_both_compute_the_same()
    return {
        "one module per head": lambda: train(OneModulePerHead, plain_adam),
        "... with a fused Adam": lambda: train(OneModulePerHead, adam),
        "the book, plain Adam": lambda: train(book, plain_adam),
        "the book": lambda: train(book, adam),
    }


def book() -> EncoderDecoder:
    """Return the model of the book, in the sizes of the sources."""
    return EncoderDecoder(d_model=2, num_heads=3, d_ff=10)


def plain_adam(model: nn.Module) -> torch.optim.Optimizer:
    """Return the optimizer as it is mostly written: on a CPU it moves one parameter at a time."""
    return torch.optim.Adam(model.parameters(), lr=0.01)


def train(
    make: Callable[[], nn.Module], optimizer: Callable[[nn.Module], torch.optim.Optimizer]
) -> list[float]:
    """Train a new model and return its losses."""
    torch.manual_seed(23)
    model = make()
    given = model, loader(128, seed=13), nn.functional.mse_loss, optimizer(model)
    return fit(*given, epochs=EPOCHS, seed=23, progress=False).train


def _check_that_both_compute_the_same() -> None:
    source, shifted, _ = next(iter(loader(128, seed=13)))
    model = book()
    torch.testing.assert_close(with_weights_of(model)(source, shifted), model(source, shifted))
