"""Random walks around a clock, and a small language model of them; the loss floor is ln 2.

From each hour a walk continues to the previous or the next hour with equal probability, so that on
new walks the expected loss of any model is at least ln 2.
"""

import torch
from torch import Tensor, nn

from selfattn_book.experiments.seeding import manual_seed
from selfattn_book.language import LanguageModel, decoder_only

HOURS, LENGTH = 12, 16


def random_walks(count: int, *, seed: int) -> Tensor:
    """Draw walks ``(count, 17)`` of one hour a step, in either direction with equal probability.

    Example:
        >>> steps = random_walks(5, seed=0).diff() % 12
        >>> steps.shape, ((steps == 1) | (steps == 11)).all().item()
        (torch.Size([5, 16]), True)
    """
    generator = torch.Generator().manual_seed(seed)
    start = torch.randint(HOURS, (count, 1), generator=generator)
    steps = 2 * torch.randint(2, (count, LENGTH), generator=generator) - 1
    return torch.cat([start, start + steps.cumsum(1)], dim=1) % HOURS


def next_hour_loss(model: nn.Module, walks: Tensor) -> Tensor:
    """Return the mean cross-entropy of a model's predictions of each next hour of walks ``(B, 17)``."""
    logits = model(walks[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), walks[:, 1:].flatten())


def new_model(seed: int) -> LanguageModel:
    """Return an untrained model in float64, so that the order of sums changes only the last digits."""
    before = torch.get_default_dtype()
    sizes = {"d_model": 16, "num_layers": 2, "num_heads": 2, "context_length": LENGTH}
    try:  # the same weights, whatever the default is
        torch.set_default_dtype(torch.float64)
        with torch.random.fork_rng(devices=[]):
            manual_seed(seed)
            return decoder_only(HOURS, **sizes)
    finally:
        torch.set_default_dtype(before)
