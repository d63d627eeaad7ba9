"""Random inputs of the properties, all float64 and the same at every call."""

import torch
from torch import Tensor

# Sizes differ, so that no axis can be taken for another.
BATCH, QUERIES, KEYS, D_MODEL = 3, 5, 7, 6
SOURCES, TARGETS = 5, 7


def normal(*shape: int) -> Tensor:
    """Draw standard normal numbers, the same whenever the shape is the same."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def cross_attention() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return query, key, value and a mask in which each query may attend to some key."""
    numbers = normal(BATCH, QUERIES + 2 * KEYS, D_MODEL)
    query, key, value = numbers.split([QUERIES, KEYS, KEYS], dim=1)
    mask = normal(BATCH, QUERIES, KEYS) > 0
    mask[..., 0] |= ~mask.any(-1)
    return query.clone(), key.clone(), value.clone(), mask


def source_and_target(width: int) -> tuple[Tensor, Tensor]:
    """Return a source ``(B, S, width)`` and a target ``(B, T, width)``."""
    points = normal(BATCH, SOURCES + TARGETS, width)
    source, target = points.split([SOURCES, TARGETS], dim=1)
    return source.clone(), target.clone()


def unmasked(batch: int, length: int) -> Tensor:
    """Return a mask ``(batch, length, length)`` that is ``True`` everywhere."""
    return torch.ones(batch, length, length, dtype=torch.bool)
