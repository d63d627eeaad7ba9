"""Keys and values already computed, kept for a decoder's next step.

Shape letters: ``B`` batch, ``S`` key length, ``H`` heads, ``D`` width.
"""

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
