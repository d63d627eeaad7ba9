"""Batches of squares, and the optimizer of the models of Part III."""

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from selfattn_book.experiments.squares import halves, square_sequences


def loader(n: int, *, seed: int, shuffle: bool = True) -> DataLoader[tuple[Tensor, ...]]:
    """Return batches of 16 squares: source of two corners, shifted target, target of two corners.

    Example:
        >>> source, shifted, target = next(iter(loader(128, seed=13)))
        >>> source.shape, shifted.shape, target.shape
        (torch.Size([16, 2, 2]), torch.Size([16, 2, 2]), torch.Size([16, 2, 2]))
    """
    examples = halves(square_sequences(n, seed=seed))
    return DataLoader(examples, batch_size=16, shuffle=shuffle)


def adam(model: nn.Module, lr: float = 0.01) -> torch.optim.Adam:
    """Return Adam with one fused kernel for all parameters, which is faster for a tiny model."""
    return torch.optim.Adam(model.parameters(), lr=lr, fused=True)
