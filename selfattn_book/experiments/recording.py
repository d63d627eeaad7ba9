"""Record the tensor operations of a function once, and replay them from then on."""

import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

Results = tuple[Any, ...]  # tensors, or None


class Recorded:
    """Call a function without the overhead of Python, autograd and ``vmap``.

    A step of a tiny model spends most of its time on finding out which operations to call.
    The first call records the operations. The second call also replays the record, which is used
    from then on if its results equal the function's to the last bit. There is one record for each
    shape, dtype and layout of the arguments.

    The function is called every time if it draws random numbers, converts a tensor to a number, or
    writes into a tensor that it did not make. Otherwise it must compute the same at every call.
    Other tensors, such as parameters, are read at every call.

    Args:
        function: function of tensors that returns a tuple of tensors, or of ``None``.

    Example:
        >>> weight, calls = torch.tensor(3.0), []
        >>> @Recorded
        ... def times(x):
        ...     calls.append(len(x))
        ...     return (weight * x,)
        >>> x = torch.arange(4.0)
        >>> for number in range(9):
        ...     (product,) = times(x + number)
        >>> calls, product
        ([4, 4], tensor([24., 27., 30., 33.]))
    """

    def __init__(self, function: Callable[..., Results]) -> None:
        self.function = function
        self._recorded: dict[Hashable, Callable[..., Results]] = {}
        self._chosen: dict[Hashable, Callable[..., Results]] = {}

    def __call__(self, *arguments: Tensor) -> Results:
        """Return the function's results, detached."""
        kind = tuple(map(_layout, arguments))
        if kind in self._chosen:
            return self._chosen[kind](*arguments)
        if kind in self._recorded:
            results, replay = self._run(*arguments), self._recorded.pop(kind)
            equal = all(map(_equal, results, replay(*arguments)))
            self._chosen[kind] = replay if equal else self._run
            return results
        with _Recorder(arguments) as recorder:
            results = self._run(*arguments)
        if recorder.replayable:
            self._recorded[kind] = recorder.replay(results)
        else:
            self._chosen[kind] = self._run
        return results

    def _run(self, *arguments: Tensor) -> Results:
        results = self.function(*arguments)
        return tuple(x if x is None else x.detach() for x in results)


class _Recorder(TorchDispatchMode):
    """Record the operations that are called within this context.

    A tensor is identified by its memory and layout, because autograd wraps what it saves anew.
    """

    def __init__(self, arguments: tuple[Tensor, ...]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.graph, self.replayable = fx.Graph(), True
        self._nodes: dict[Hashable, fx.Node] = {}
        self._outside: dict[str, Tensor] = {}
        self._own: set[int] = set()  # memory that the operations allocated
        self._alive: list[Any] = []  # no memory is reused within this context
        for number, x in enumerate(arguments):
            self._nodes[_identity(x)] = self.graph.placeholder(f"argument_{number}")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and record it, except for views of tensors from outside."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given, made = _tensors((args, kwargs)), _tensors(result)
        self._alive += given, made
        is_number = bool(given) and not made
        is_random = torch.Tag.nondeterministic_seeded in func.tags
        writes = func._schema.is_mutable
        if is_number or is_random or (writes and _memory(args[0]) not in self._own):
            self.replayable = False
        is_outside_view = func.is_view and _identity(args[0]) not in self._nodes
        if self.replayable and made and not is_outside_view:
            self._record(func, args, kwargs, result)
            self._own |= {_memory(x) for x in made} - {_memory(x) for x in given}
        return result

    def replay(self, results: Results) -> Callable[..., Results]:
        """Return a function that calls the same operations again, and returns their results."""
        self.graph.output(tuple(map(self._node, results)))
        self.graph.eliminate_dead_code()
        forward = fx.GraphModule(nn.Module(), self.graph).forward
        return torch.no_grad()(partial(forward, **self._outside))

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        node = self.graph.call_function(func, *tree_map(self._node, (args, kwargs)))
        if isinstance(result, Tensor):
            self._nodes.setdefault(_identity(result), node)
            return
        for number, x in enumerate(result):
            if isinstance(x, Tensor):
                item = self.graph.call_function(operator.getitem, (node, number))
                self._nodes.setdefault(_identity(x), item)

    def _node(self, x: Any) -> Any:
        """Return the node of a tensor, and any other value unchanged."""
        if not isinstance(x, Tensor):
            return x
        if _identity(x) not in self._nodes:
            name = f"outside_{len(self._outside)}"
            self._outside[name] = x.detach()
            self._nodes[_identity(x)] = self.graph.placeholder(name)
        return self._nodes[_identity(x)]


def _memory(x: Tensor) -> int:
    return x.untyped_storage().data_ptr()


def _layout(x: Tensor) -> tuple[Any, ...]:
    return x.dtype, x.shape, x.stride(), x.is_conj(), x.is_neg()


def _identity(x: Tensor) -> Hashable:
    return x.data_ptr(), *_layout(x)


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _equal(x: Tensor | None, y: Tensor | None) -> bool:
    return x is y if x is None or y is None else torch.equal(x, y)
