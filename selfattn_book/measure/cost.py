"""Cost of a computation: its floating-point operations, and its peak memory.

Both are counted, not timed, so they are the same on every machine. They also work on the ``meta``
device, where nothing is computed, so that a length of a hundred thousand costs nothing.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode


def count_flops(function: Callable[..., object], *arguments: object) -> int:
    """Count the floating-point operations of all matrix products of a function call.

    A multiplication and the addition of the product to a sum are two.

    Elementwise operations are not counted, nor is PyTorch's fused attention kernel on a CPU.

    Example:
        >>> import torch
        >>> count_flops(torch.matmul, torch.ones(5, 3), torch.ones(3, 7)) == 2 * 5 * 3 * 7
        True
    """
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return int(counter.get_total_flops())


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
        given = {id(storage) for storage in _storages((args, kwargs))}
        made = func(*args, **(kwargs or {}))
        for storage in _storages(made):
            if id(storage) not in given and id(storage) not in self.known:
                self.known[id(storage)] = storage
                self.now += storage.nbytes()
                self.peak = max(self.peak, self.now)
                weakref.finalize(storage, self._leave, storage.nbytes())
        return made

    def _leave(self, size: int) -> None:
        self.now -= size


def _storages(values: object) -> list[Any]:
    """Return the storages of tensors in nested lists, tuples and dictionaries."""
    return [x.untyped_storage() for x in tree_leaves(values) if isinstance(x, Tensor)]
