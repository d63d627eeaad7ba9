"""KV caches: keys and values already computed, stored for the next decoding step.

Shape letters: ``B`` batch, ``S`` key length, ``H`` heads of keys and values, ``D`` dimension.
"""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor


class KeyValueCache:
    """Store the keys and values of all positions so far, so that each is computed once.

    The caller creates it and passes it to the attention at every step.

    Example:
        >>> cache = KeyValueCache()
        >>> for step in range(3):
        ...     keys, values = cache.concat(torch.zeros(5, 2, 1, 4), torch.ones(5, 2, 1, 4))
        ...     cache.store(keys, values)
        >>> len(cache), keys.shape, values.shape   # (B, H, S, D)
        (3, torch.Size([5, 2, 3, 4]), torch.Size([5, 2, 3, 4]))
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """Return the number of cached positions."""
        return 0 if self.keys is None else self.keys.size(2)

    def concat(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cached keys and values followed by new ones, ``(B, H, S, D)``; store nothing.

        Raises:
            TypeError: the dtype is not the cache's.
            ValueError: the shape does not continue the cache's, or the device is not the cache's.
        """
        if self.keys is None or self.values is None:
            return keys, values
        _check_continues("keys", keys, self.keys)
        _check_continues("values", values, self.values)
        keys = torch.cat([self.keys, keys], dim=2)
        return keys, torch.cat([self.values, values], dim=2)

    def store(self, keys: Tensor | None, values: Tensor | None) -> None:
        """Replace the cached keys and values."""
        self.keys, self.values = keys, values


class DecoderCache(NamedTuple):
    """The KV caches of a decoder, or of one block of it.

    Attributes:
        target: keys and values of the target so far, for the self-attention.
        memory: keys and values of the memory, for the cross-attention.

    Example:
        >>> cache, memory = DecoderCache.empty(), torch.ones(5, 7, 4)
        >>> other = cache.copy()
        >>> other.memory.store(torch.ones(5, 2, 7, 2), torch.ones(5, 2, 7, 2))
        >>> cache.uncached(memory).shape, other.uncached(memory).shape
        (torch.Size([5, 7, 4]), torch.Size([5, 0, 4]))
    """

    target: KeyValueCache
    memory: KeyValueCache

    @classmethod
    def empty(cls) -> "DecoderCache":
        """Return a cache without any position."""
        return cls(KeyValueCache(), KeyValueCache())

    def copy(self) -> "DecoderCache":
        """Return a copy that grows independently; the tensors are shared, not copied."""
        return DecoderCache(copy(self.target), copy(self.memory))

    def update(self, other: "DecoderCache") -> None:
        """Replace the cached keys and values by those of another cache."""
        self.target.store(other.target.keys, other.target.values)
        self.memory.store(other.memory.keys, other.memory.values)

    def uncached(self, memory: Tensor) -> Tensor:
        """Return the memory ``(B, S, D)`` at the first step, and none of its states afterwards.

        Raises:
            ValueError: the memory's length differs from that of earlier steps.
        """
        known = len(self.memory)
        if known and (memory.ndim != 3 or memory.size(1) != known):
            rule = f"memory must be of length {known}, as at the steps before"
            raise ValueError(f"{rule}; got {tuple(memory.shape)}")
        return memory[:, known:]


def check_caches(caches: Sequence[object], blocks: int) -> None:
    """Raise unless there is one cache for each block, and no cache serves two blocks."""
    if len(caches) != blocks:
        rule = f"there must be one cache for each of the {blocks} blocks"
        raise ValueError(f"{rule}; got {len(caches)}")
    distinct = len({id(cache) for cache in caches})
    if distinct < blocks:
        rule = "each block must have a cache of its own"
        raise ValueError(f"{rule}; got {distinct} for {blocks} blocks")


def _check_continues(name: str, new: Tensor, cached: Tensor) -> None:
    """Raise unless new keys or values can follow cached ones."""
    if new.dtype != cached.dtype:
        rule = f"{name} must have the dtype of the cache's, {cached.dtype}"
        raise TypeError(f"{rule}; got {new.dtype}")
    if new.device != cached.device:
        rule = f"{name} must be on the device of the cache's, {cached.device}"
        raise ValueError(f"{rule}; got {new.device}")
    batch, heads, _, d_head = cached.shape
    if new.ndim != 4 or new.shape != (batch, heads, new.size(2), d_head):
        rule = f"{name} must continue the cache's"
        raise ValueError(f"{rule}, ({batch}, {heads}, length, {d_head}); got {tuple(new.shape)}")
