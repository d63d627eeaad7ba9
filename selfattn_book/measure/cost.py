"""What a computation costs: its multiplications, and the memory that it takes at its peak.

Both are counted, not timed, so they are the same on every machine. They also work on the ``meta``
device, where nothing is computed, so that a length of a hundred thousand costs nothing to ask about.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode


def multiply_adds(function: Callable[..., object], *arguments: object) -> int:
    """Count the multiplications of all products of matrices; each goes with one addition.

    PyTorch's counter counts both, so this is half of what it says. Sums, exponentials and other work
    that takes each number once are not counted, nor is what PyTorch's own kernel does on a CPU.

    Args:
        function: is called once.
        arguments: what it is called with.

    Example:
        >>> import torch
        >>> x, y = torch.ones(5, 3), torch.ones(3, 7)
        >>> multiply_adds(torch.matmul, x, y) == 5 * 3 * 7
        True
        >>> multiply_adds(torch.exp, x)
        0
    """
    with FlopCounterMode(display=False) as counter:
        function(*arguments)
    return int(counter.get_total_flops()) // 2


def peak_memory(function: Callable[..., object], *arguments: object) -> int:
    """Count the bytes of all tensors that a computation holds at once, at its peak.

    What it is given is not counted, nor what a kernel takes for itself while it runs.

    Args:
        function: is called once.
        arguments: what it is called with.

    Example:
        >>> import torch
        >>> x = torch.ones(5, 3)
        >>> peak_memory(lambda: x + 1) == 5 * 3 * 4   # bytes of a float32
        True
        >>> peak_memory(lambda: (x + 1).exp().sum())   # at most two at once
        120
        >>> peak_memory(lambda: x.mT)   # a view
        0
    """
    with _Ledger() as ledger:
        function(*arguments)
    return ledger.peak


class _Ledger(TorchDispatchMode):
    """Keep the sum of the bytes that are in use, and the greatest that it has been."""

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
    """Find the storages of tensors, in lists and tuples of any depth, and in dictionaries."""
    if isinstance(values, Tensor):
        yield values.untyped_storage()
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _storages(value)
    elif isinstance(values, dict):
        yield from _storages(list(values.values()))
