"""A function of tensors that is run once, and from then on played like a record."""

import operator
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
Results = tuple[Any, ...]  # tensors, or None


class Recorded:
    """Give what a function gives, without asking Python, autograd or ``vmap`` every time.

    A step of a tiny model spends most of its time on finding out which operations to call.
    The first call runs the function, and writes down what it called. The second runs it, plays the
    record too, and believes the record only if the two agree to the last bit; then it is played.

    The function is run every time if it draws random numbers, lets Python read a number out of a
    tensor, or writes into a tensor that it has not made. Apart from this it must do the same at
    every call: nobody looks again at what else Python decides by.
    Tensors that it is not given, such as parameters, are read where they lie, as they are then.
    Another shape, dtype or layout of what it is given is another record.

    Args:
        function: of tensors; it returns a tuple of tensors, or of ``None``.

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
        >>> _ = weight.fill_(-1.0)
        >>> times(x), calls   # read where it lies
        ((tensor([-0., -1., -2., -3.]),), [4, 4])
        >>> times(x[1:]), calls   # another shape is another recording
        ((tensor([-1., -2., -3.]),), [4, 4, 3])
    """

    def __init__(self, function: Callable[..., Results]) -> None:
        self.function = function
        self._heard: dict[Hashable, Callable[..., Results]] = {}
        self._chosen: dict[Hashable, Callable[..., Results]] = {}

    def __call__(self, *given: Tensor) -> Results:
        """Return what the function returns, without its gradient."""
        places = [_place(x) for x in given]
        shared = tuple(places.index(place) for place in places)
        kind = shared, tuple(map(_like, given))
        if kind in self._chosen:
            return self._chosen[kind](*given)
        if kind in self._heard:
            results, play = self._run(*given), self._heard.pop(kind)
            agree = all(map(_same, results, play(*given)))
            self._chosen[kind] = play if agree else self._run
            return results
        with _Recorder(given) as recorder:
            results = self._run(*given)
        if recorder.playable:
            self._heard[kind] = recorder.play_back(results)
        else:
            self._chosen[kind] = self._run
        return results

    def _run(self, *given: Tensor) -> Results:
        results = self.function(*given)
        return tuple(x if x is None else x.detach() for x in results)


class _Recorder(TorchDispatchMode):
    """Write down the operations that are called while this is entered.

    A tensor is known by the place where its numbers lie. What computes nothing, and only looks at
    a place in another shape, is not written down: who needs the view takes it where it is needed.
    """

    def __init__(self, given: tuple[Tensor, ...]) -> None:
        start: Any = super().__init__
        start()
        self.graph = fx.Graph()
        self.playable = True
        self._overwrites = False
        self._outside: dict[str, Tensor] = {}
        # The tensors stay here, so that no place is given away while this is entered.
        # One that comes from outside, and is not given, has no node that made it.
        self._homes: dict[Hashable, tuple[Tensor, fx.Node | None]] = {}
        self._views: dict[Hashable, fx.Node] = {}
        for number, x in enumerate(given):
            node = self.graph.placeholder(f"given_{number}")
            node.meta["like"] = _like(x)
            self._homes[_place(x)] = x, node

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and write it down unless it computes nothing."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        written = _written(func, args, kwargs)
        for x in _tensors((args, kwargs)):
            self._homes.setdefault(_place(x), (x, None))  # from outside
        tells = not _tensors(result) and bool(_tensors((args, kwargs)))
        self.playable &= not tells and self._keeps_to_itself(func, written)
        self._overwrites |= bool(written)
        if self.playable:
            is_new = any(_place(x) not in self._homes for x in _tensors(result))
            if is_new or written:
                nodes = _mapped(self._node, (args, kwargs))
                self._settle(result, self.graph.call_function(func, *nodes))
        return result

    def play_back(self, results: Results) -> Callable[..., Results]:
        """Return what calls the same operations again, and gives their results."""
        self.graph.output(tuple(map(self._node, results)))
        # Where nothing is overwritten, a number is the same wherever it is read.
        if not self._overwrites:
            self._leave_out_ones()
            self._keep_constants()
        self.graph.eliminate_dead_code()
        forward = fx.GraphModule(nn.Module(), self.graph).forward
        return torch.no_grad()(partial(forward, **self._outside))

    def _keeps_to_itself(self, func: Any, written: list[Tensor]) -> bool:
        """Tell whether an operation draws nothing, and writes into nothing from outside."""
        nodes = [self._homes[_place(x)][1] for x in written]
        own = all(node and node.op != "placeholder" for node in nodes)
        return own and torch.Tag.nondeterministic_seeded not in func.tags

    def _leave_out_ones(self) -> None:
        """Take away the products by 1, of which ``vmap`` makes one for each bias."""
        for node in self.graph.nodes:
            if node.target is aten.mul.Scalar and node.args[1] == 1:
                factor = node.args[0]
                alike = factor.meta["like"] == node.meta["like"]
                home = _looked_at(factor)
                another_has_it = home.op == "placeholder" or _is_result(home)
                if alike and not (another_has_it and _is_result(node)):
                    node.replace_all_uses_with(factor)

    def _keep_constants(self) -> None:
        """Compute now what is computed from no tensor, such as a causal mask."""
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
        """Return what stands for a tensor that is there before anything is played."""
        name = f"outside_{len(self._outside)}"
        self._outside[name] = x
        node = self.graph.placeholder(name)
        node.meta["like"] = _like(x)
        return node

    def _settle(self, result: Any, node: fx.Node) -> None:
        """Note where the results of an operation lie."""
        if isinstance(result, Tensor):
            node.meta["like"] = _like(result)
            self._homes.setdefault(_place(result), (result, node))
        elif isinstance(result, tuple | list):
            for number, part in enumerate(result):
                item = self.graph.call_function(operator.getitem, (node, number))
                self._settle(part, item)

    def _node(self, x: Any) -> Any:
        """Return what stands for a tensor in the record; the rest stands for itself."""
        if not isinstance(x, Tensor):
            return x
        place, layout = _place(x), _layout(x)
        if (place, layout) not in self._views:
            self._views[place, layout] = self._view(x)
        return self._views[place, layout]

    def _view(self, x: Tensor) -> fx.Node:
        """Return what looks at a place in the shape of a tensor."""
        home, node = self._homes.get(_place(x), (x, None))  # a result may be from outside
        if node is None:  # it stays where it is, and one look is enough for all times
            return self._from_outside(x)
        if _layout(x) == _layout(home):
            return node
        look = self.graph.call_method("as_strided", (node, *_layout(x)))
        look.meta["like"] = _like(x)
        return look


def _looked_at(node: fx.Node) -> fx.Node:
    """Return what a view is a view of."""
    if node.target != "as_strided":
        return node
    (seen,) = node.all_input_nodes
    return _looked_at(seen)


def _is_result(node: fx.Node) -> bool:
    """Tell whether a node, or a view of it, is given back, to somebody who may write into it."""
    views = (user for user in node.users if user.target == "as_strided")
    given_back = any(user.op == "output" for user in node.users)
    return given_back or any(map(_is_result, views))


def _place(x: Tensor) -> Hashable:
    """Tell two tensors apart unless they look at the same numbers."""
    return x.untyped_storage().data_ptr(), x.dtype, x.is_conj(), x.is_neg()


def _layout(x: Tensor) -> tuple[Any, ...]:
    return tuple(x.shape), x.stride(), x.storage_offset()


def _like(x: Tensor) -> tuple[Any, ...]:
    return x.dtype, *_layout(x)


def _tensors(tree: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _mapped(lambda x: found.append(x) if isinstance(x, Tensor) else None, tree)
    return found


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Do something with everything that stands in tuples, lists and dictionaries."""
    if isinstance(tree, tuple | list):
        return type(tree)([_mapped(function, x) for x in tree])
    if isinstance(tree, dict):
        return {key: _mapped(function, x) for key, x in tree.items()}
    return function(tree)


def _written(func: Any, args: Any, kwargs: Any) -> list[Tensor]:
    """Return the tensors that an operation writes into.

    >>> x, aten = torch.zeros(2), torch.ops.aten
    >>> _written(aten.add_.Tensor, (x, 1), {}), _written(aten.add.Tensor, (x, 1), {})
    ([tensor([0., 0.])], [])
    """
    written = []
    for number, argument in enumerate(func._schema.arguments):
        if argument.alias_info and argument.alias_info.is_write:
            by_place = args[number] if number < len(args) else None
            written.append(kwargs.get(argument.name, by_place))
    return _tensors(written)


def _same(x: Tensor | None, y: Tensor | None) -> bool:
    return x is y if x is None or y is None else torch.equal(x, y)
