"""Record the tensor operations of a function once, and replay them from then on."""

import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
Results = tuple[Any, ...]  # tensors, or None


class Recorded:
    """Return a function's results without asking Python, autograd or ``vmap`` every time.

    A step of a tiny model spends most of its time on finding out which operations to call.
    The first call runs the function, and records its operations. The second runs it, replays the
    record too, and the record is used from then on if the two agree to the last bit.

    The function is run every time if it draws random numbers, lets Python read a number out of a
    tensor, or writes into a tensor that it has not made. Apart from this it must do the same at
    every call. Other tensors, such as parameters, are read with their present values.
    Arguments of another shape, dtype or layout have another record.

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
        memory = [_memory(x) for x in arguments]
        shared = tuple(memory.index(m) for m in memory)
        kind = shared, tuple(map(_like, arguments))
        if kind in self._chosen:
            return self._chosen[kind](*arguments)
        if kind in self._recorded:
            results, replay = self._run(*arguments), self._recorded.pop(kind)
            agree = all(map(_same, results, replay(*arguments)))
            self._chosen[kind] = replay if agree else self._run
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

    A tensor is known by its memory. A view is not recorded: it is taken where it is needed.
    """

    def __init__(self, arguments: tuple[Tensor, ...]) -> None:
        start: Any = super().__init__
        start()
        self.graph = fx.Graph()
        self.replayable = True
        self._overwrites = False
        self._outside: dict[str, Tensor] = {}
        # The tensors are kept, so that no memory is reused within this context.
        # One from outside that is not an argument has no node.
        self._homes: dict[Hashable, tuple[Tensor, fx.Node | None]] = {}
        self._views: dict[Hashable, fx.Node] = {}
        for number, x in enumerate(arguments):
            node = self.graph.placeholder(f"argument_{number}")
            node.meta["like"] = _like(x)
            self._homes[_memory(x)] = x, node

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and record it unless it computes nothing."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        written = _written(func, args, kwargs)
        for x in _tensors((args, kwargs)):
            self._homes.setdefault(_memory(x), (x, None))  # from outside
        to_python = not _tensors(result) and bool(_tensors((args, kwargs)))
        self.replayable &= not to_python and self._is_local(func, written)
        self._overwrites |= bool(written)
        if self.replayable:
            is_new = any(_memory(x) not in self._homes for x in _tensors(result))
            if is_new or written:
                nodes = tree_map(self._node, (args, kwargs))
                self._store(result, self.graph.call_function(func, *nodes))
        return result

    def replay(self, results: Results) -> Callable[..., Results]:
        """Return a function that calls the same operations again, and returns their results."""
        self.graph.output(tuple(map(self._node, results)))
        # Where nothing is overwritten, a number is the same wherever it is read.
        if not self._overwrites:
            self._remove_ones()
            self._fold_constants()
        self.graph.eliminate_dead_code()
        forward = fx.GraphModule(nn.Module(), self.graph).forward
        return torch.no_grad()(partial(forward, **self._outside))

    def _is_local(self, func: Any, written: list[Tensor]) -> bool:
        """Return whether an operation draws nothing, and writes only into memory of its own."""
        nodes = [self._homes[_memory(x)][1] for x in written]
        own = all(node and node.op != "placeholder" for node in nodes)
        return own and torch.Tag.nondeterministic_seeded not in func.tags

    def _remove_ones(self) -> None:
        """Remove the products by 1, of which ``vmap`` makes one for each bias."""
        for node in self.graph.nodes:
            if node.target is aten.mul.Scalar and node.args[1] == 1:
                factor = node.args[0]
                alike = factor.meta["like"] == node.meta["like"]
                home = _base(factor)
                another_has_it = home.op == "placeholder" or _is_result(home)
                if alike and not (another_has_it and _is_result(node)):
                    node.replace_all_uses_with(factor)

    def _fold_constants(self) -> None:
        """Compute now what depends on no tensor, such as a causal mask."""
        known: dict[fx.Node, Any] = {}
        for node in self.graph.nodes:
            called = node.op in ("call_function", "call_method")
            if called and all(given in known for given in node.all_input_nodes):
                call = node.target if callable(node.target) else Tensor.as_strided
                args = fx.node.map_arg(node.args, known.get)
                known[node] = call(*args, **node.kwargs)
        for node, value in known.items():
            needed = any(user not in known for user in node.users)
            if needed and not _is_result(node):
                with self.graph.inserting_before(node):
                    node.replace_all_uses_with(self._from_outside(value))

    def _from_outside(self, x: Tensor) -> fx.Node:
        """Return the node of a tensor that exists before the replay."""
        name = f"outside_{len(self._outside)}"
        self._outside[name] = x
        node = self.graph.placeholder(name)
        node.meta["like"] = _like(x)
        return node

    def _store(self, result: Any, node: fx.Node) -> None:
        """Store the memory of the results of an operation."""
        if isinstance(result, Tensor):
            node.meta["like"] = _like(result)
            self._homes.setdefault(_memory(result), (result, node))
        elif isinstance(result, tuple | list):
            for number, part in enumerate(result):
                item = self.graph.call_function(operator.getitem, (node, number))
                self._store(part, item)

    def _node(self, x: Any) -> Any:
        """Return the node of a tensor; any other value stands for itself."""
        if not isinstance(x, Tensor):
            return x
        memory, layout = _memory(x), _layout(x)
        if (memory, layout) not in self._views:
            self._views[memory, layout] = self._view(x)
        return self._views[memory, layout]

    def _view(self, x: Tensor) -> fx.Node:
        """Return the node of a view of known memory."""
        home, node = self._homes.get(_memory(x), (x, None))  # a result may be from outside
        if node is None:  # it stays where it is, and one look is enough for all times
            return self._from_outside(x)
        if _layout(x) == _layout(home):
            return node
        look = self.graph.call_method("as_strided", (node, *_layout(x)))
        look.meta["like"] = _like(x)
        return look


def _base(node: fx.Node) -> fx.Node:
    """Return the node whose memory a view has."""
    if node.target != "as_strided":
        return node
    (seen,) = node.all_input_nodes
    return _base(seen)


def _is_result(node: fx.Node) -> bool:
    """Return whether a node, or a view of it, is a result, into which the caller may write."""
    views = (user for user in node.users if user.target == "as_strided")
    given_back = any(user.op == "output" for user in node.users)
    return given_back or any(map(_is_result, views))


def _memory(x: Tensor) -> Hashable:
    """Identify the memory of a tensor."""
    return x.untyped_storage().data_ptr(), x.dtype, x.is_conj(), x.is_neg()


def _layout(x: Tensor) -> tuple[Any, ...]:
    return tuple(x.shape), x.stride(), x.storage_offset()


def _like(x: Tensor) -> tuple[Any, ...]:
    return x.dtype, *_layout(x)


def _tensors(tree: Any) -> list[Tensor]:
    return [x for x in tree_leaves(tree) if isinstance(x, Tensor)]


def _written(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Return the tensors that an operation writes into."""
    written = []
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info and argument.alias_info.is_write:
            by_place = args[number] if number < len(args) else None
            written.append(kwargs.get(argument.name, by_place))
    return _tensors(written)


def _same(x: Tensor | None, y: Tensor | None) -> bool:
    return x is y if x is None or y is None else torch.equal(x, y)
