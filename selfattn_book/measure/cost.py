"""Cost of a computation: its multiply-adds, and its peak memory.

Both are counted, not timed, so they are the same on every machine. They also work on the ``meta``
device, where nothing is computed, so that a length of a hundred thousand costs nothing.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


def multiply_adds(function: Callable[..., object], *arguments: object) -> int:
    """Count the multiply-adds of all matrix products of a function call (half of its FLOPs).

    Elementwise operations are not counted, nor is PyTorch's fused attention kernel on a CPU.

    Example:
        >>> import torch
        >>> multiply_adds(torch.matmul, torch.ones(5, 3), torch.ones(3, 7)) == 5 * 3 * 7
        True
    """
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return int(counter.get_total_flops()) // 2


def peak_memory(function: Callable[..., object], *arguments: object) -> int:
    """Count the bytes of all tensors that a function call allocates and holds at once, at its peak.

    Arguments are not counted, nor is the temporary memory of a kernel.

    Example:
        >>> import torch
        >>> x = torch.ones(5, 3)
        >>> peak_memory(lambda: (x + 1).exp().sum())   # at most two float32 tensors at once
        120
    """
    with _Ledger() as ledger:
        function(*arguments)
    return ledger.peak


class _Ledger(TorchDispatchMode):
    """Keep the sum of the allocated bytes, and its maximum."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self.known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        given = {id(storage) for storage in _storages((args, kwargs))}
        made = func(*args, **kwargs)
        for storage in _storages(made):
            if id(storage) not in given and id(storage) not in self.known:
                self._enter(storage)
        return made

    def _enter(self, storage: Any) -> None:
        self.known[id(storage)] = storage
        self.now += storage.nbytes()
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._leave, storage.nbytes())

    def _leave(self, size: int) -> None:
        self.now -= size


def _storages(values: object) -> Iterator[Any]:
    """Find the storages of tensors in nested lists, tuples and dictionaries."""
    if isinstance(values, Tensor):
        yield values.untyped_storage()
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _storages(value)
    elif isinstance(values, dict):
        yield from _storages(list(values.values()))
