"""KV caches: keys and values already computed, stored for the next decoding step.

Shape letters: ``B`` batch, ``S`` key length, ``H`` heads of keys and values, ``D`` dimension.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class KeyValueCache:
    """Store the keys and values of all positions so far, so that each is computed once.

    Each attention module and each sequence needs its own: the cache refuses a second module, and
    another batch size, dtype or head size. A smaller ``length`` discards the last positions.

    Example:
        >>> cache = KeyValueCache()
        >>> for step in range(3):
        ...     keys, values = cache.append(torch.zeros(5, 2, 1, 4), torch.ones(5, 2, 1, 4))
        ...     cache.length = keys.size(2)
        >>> len(cache), cache.keys.shape, cache.values.shape   # (B, H, S, D)
        (3, torch.Size([5, 2, 3, 4]), torch.Size([5, 2, 3, 4]))
    """

    def __init__(self) -> None:
        self.length = 0
        self.buffers: tuple[Tensor, ...] = ()
        self.module: nn.Module | None = None  # which computed them

    def __len__(self) -> int:
        """Return the number of cached positions."""
        return self.length

    def __copy__(self) -> "KeyValueCache":
        """Return a copy for the same attention module that grows independently."""
        other = KeyValueCache()
        other.length, other.buffers = self.length, tuple(x.clone() for x in self.buffers)
        other.module = self.module
        return other

    def __deepcopy__(self, memo: dict[int, object]) -> "KeyValueCache":
        """Return a copy as above: the attention module is not copied."""
        return self.__copy__()

    @property
    def keys(self) -> Tensor:
        """The cached keys, ``(B, H, S, D)``."""
        return self.buffers[0][:, :, : self.length]

    @property
    def values(self) -> Tensor:
        """The cached values, ``(B, H, S, D)``."""
        return self.buffers[1][:, :, : self.length]

    def append(
        self, keys: Tensor, values: Tensor, module: nn.Module | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the cached keys and values followed by new ones, ``(B, H, S, D)``.

        The new ones count as cached only when the caller has increased ``length``.

        Raises:
            TypeError, ValueError: the new ones have another dtype, device, batch or head size, or
                come from another module.
        """
        start, end = self.length, self.length + keys.size(2)
        if start == 0:
            # Clones: after a smaller length, new states would be written into the caller's tensors.
            self.buffers, self.module = (keys.clone(), values.clone()), module
            return keys, values
        old_keys, old_values = self.buffers
        _check_continues("keys", keys, old_keys)
        _check_continues("values", values, old_values)
        if module is not self.module:
            raise ValueError(
                "each attention module must have a cache of its own; got another module's"
            )
        self.buffers = _extended(old_keys, start, keys), _extended(old_values, start, values)
        return self.buffers[0][:, :, :end], self.buffers[1][:, :, :end]


class DecoderCache:
    """The KV caches of a decoder, or of one block of it.

    Attributes:
        target: keys and values of the target so far, for the self-attention.
        memory: keys and values of the memory, for the cross-attention.

    Example:
        >>> cache, memory = DecoderCache(), torch.ones(5, 7, 4)
        >>> new = cache.uncached(memory)
        >>> keys, values = cache.memory.append(torch.ones(5, 2, 7, 2), torch.ones(5, 2, 7, 2))
        >>> cache.memory.length = 7
        >>> new.shape, cache.uncached(memory).shape
        (torch.Size([5, 7, 4]), torch.Size([5, 0, 4]))
    """

    def __init__(self) -> None:
        self.target, self.memory = KeyValueCache(), KeyValueCache()
        self._states: Tensor | None = None  # of the memory, to notice a different one

    def uncached(self, memory: Tensor) -> Tensor:
        """Return the memory ``(B, S, D)`` at the first step, and none of its states afterwards."""
        if not self.memory:
            self._states = memory
            return memory
        known = self._states
        if known is not None and memory is not known and not memory.equal(known):
            rule = f"memory must be that of the steps before, {tuple(known.shape)}"
            got = "other states" if memory.shape == known.shape else tuple(memory.shape)
            raise ValueError(f"{rule}; got {got}")
        return memory[:, :0]


@contextmanager
def unchanged_if_refused(caches: Iterable[KeyValueCache]) -> Iterator[None]:
    """Restore the lengths of all caches if the calls in the ``with`` block raise an error."""
    lengths = [(cache, cache.length) for cache in caches]
    try:
        yield
    except BaseException:
        for cache, length in lengths:
            cache.length = length
        raise


def check_caches(caches: Sequence[object], blocks: int) -> None:
    """Raise unless there is one cache for each block, and no cache serves two blocks."""
    if len(caches) != blocks:
        rule = f"there must be one cache for each of the {blocks} blocks"
        raise ValueError(f"{rule}; got {len(caches)}")
    distinct = len({id(cache) for cache in caches})
    if distinct < blocks:
        rule = "each block must have a cache of its own"
        raise ValueError(f"{rule}; got {distinct} for {blocks} blocks")


def _extended(buffer: Tensor, start: int, new: Tensor) -> Tensor:
    """Return a buffer that holds new states from ``start`` on; it doubles in size when it is full."""
    # Autograd needs every version of a tensor: with gradients, all states are copied.
    end = start + new.size(2)
    has_gradient = torch.is_grad_enabled() and (new.requires_grad or buffer.requires_grad)
    if has_gradient or buffer.is_inference() != new.is_inference():
        return torch.cat([buffer[:, :, :start], new], dim=2)
    if end > buffer.size(2):
        spare = new.new_empty(*new.shape[:2], end, new.size(3))
        buffer = torch.cat([buffer[:, :, :start], spare], dim=2)
    buffer[:, :, start:end] = new
    return buffer


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
