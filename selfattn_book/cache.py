"""Keys and values already computed, kept for a decoder's next step.

Shape letters: ``B`` batch, ``S`` key length, ``H`` heads, ``D`` width.
"""

from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor


class KeyValueCache:
    """The keys and values of all calls so far, so that a decoder computes each of them once.

    It belongs to whoever decodes, and is handed to the attention at every step.

    Example:
        >>> cache = KeyValueCache()
        >>> len(cache)
        0
        >>> for step in range(3):
        ...     keys, values = cache.join(torch.zeros(5, 2, 1, 4), torch.ones(5, 2, 1, 4))
        ...     cache.keep(keys, values)
        >>> len(cache), keys.shape, values.shape   # (B, H, S, D)
        (3, torch.Size([5, 2, 3, 4]), torch.Size([5, 2, 3, 4]))
        >>> cache.join(torch.zeros(7, 2, 1, 4), torch.ones(7, 2, 1, 4))
        Traceback (most recent call last):
        ValueError: keys must continue the cache's, (5, 2, length, 4); got (7, 2, 1, 4)
        >>> cache.join(keys.half(), values.half())
        Traceback (most recent call last):
        TypeError: keys must have the dtype of the cache's, torch.float32; got torch.float16
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        """Return how many keys there are."""
        return 0 if self.keys is None else self.keys.size(2)

    def join(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return all keys and values, these ``(B, H, S, D)`` last; nothing is kept yet."""
        if self.keys is None or self.values is None:
            return keys, values
        _check_continues("keys", keys, self.keys)
        _check_continues("values", values, self.values)
        keys = torch.cat([self.keys, keys], dim=2)
        return keys, torch.cat([self.values, values], dim=2)

    def keep(self, keys: Tensor | None, values: Tensor | None) -> None:
        """Keep these instead of those that were kept."""
        self.keys, self.values = keys, values


class DecoderCache(NamedTuple):
    """What a decoder, or one block of a decoder, keeps between two steps.

    Attributes:
        target: keys and values of the target so far.
        memory: keys and values of the memory.

    Example:
        >>> cache = DecoderCache.empty()
        >>> other, states = cache.branch(), torch.ones(5, 7, 4)
        >>> other.memory.keep(torch.ones(5, 2, 7, 2), torch.ones(5, 2, 7, 2))
        >>> len(cache.memory), len(other.memory)   # the first knows nothing of it
        (0, 7)
        >>> cache.unread(states).shape, other.unread(states).shape   # all of it, then nothing
        (torch.Size([5, 7, 4]), torch.Size([5, 0, 4]))
        >>> other.unread(states[:, :6])
        Traceback (most recent call last):
        ValueError: memory must be of length 7, as at the steps before; got (5, 6, 4)
        >>> cache.take_over(other)
        >>> len(cache.memory)
        7
    """

    target: KeyValueCache
    memory: KeyValueCache

    @classmethod
    def empty(cls) -> "DecoderCache":
        """Return a cache for a sequence that has not begun."""
        return cls(KeyValueCache(), KeyValueCache())

    def branch(self) -> "DecoderCache":
        """Return a cache that begins with the same, and grows without this one."""
        return DecoderCache(copy(self.target), copy(self.memory))

    def take_over(self, other: "DecoderCache") -> None:
        """Keep what another one keeps."""
        self.target.keep(other.target.keys, other.target.values)
        self.memory.keep(other.memory.keys, other.memory.values)

    def unread(self, memory: Tensor) -> Tensor:
        """Return the states ``(B, S, D)`` of a memory whose keys and values are not kept yet.

        Raises:
            ValueError: the memory is not as long as that of the steps before.
        """
        known = len(self.memory)
        if known and (memory.ndim != 3 or memory.size(1) != known):
            rule = f"memory must be of length {known}, as at the steps before"
            raise ValueError(f"{rule}; got {tuple(memory.shape)}")
        return memory[:, known:]


def _check_continues(name: str, new: Tensor, kept: Tensor) -> None:
    """Raise unless new keys or values can stand behind those of a cache."""
    if new.dtype != kept.dtype:
        rule = f"{name} must have the dtype of the cache's, {kept.dtype}"
        raise TypeError(f"{rule}; got {new.dtype}")
    if new.device != kept.device:
        rule = f"{name} must be on the device of the cache's, {kept.device}"
        raise ValueError(f"{rule}; got {new.device}")
    batch, heads, _, width = kept.shape
    if new.ndim != 4 or new.shape != (batch, heads, new.size(2), width):
        rule = f"{name} must continue the cache's"
        raise ValueError(
            f"{rule}, ({batch}, {heads}, length, {width}); got {tuple(new.shape)}"
        )
