"""Run the cells of a notebook, and answer calls: the process that nothing is believed of.

The process that checks starts it with its folder, the folder of `selfattn_book` and its limits.
Whatever happens here, all that leaves is numbers and texts.
"""

import json
import os
import signal
import sys
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from numbers import Real
from types import ModuleType
from typing import Any
from weakref import ref

FOLDER, PACKAGE, CPU_SECONDS, SECONDS = json.loads(sys.argv[1]) if sys.argv[1:] else ("", "", 0, 0)


class Dumb:
    """Stand for otter's `Notebook`: take any call of any method, and do nothing."""

    def __init__(self, *args: Any, **named: Any):
        self.__dict__ = dict.fromkeys(["check", "check_all", "export"], lambda *_, **__: None)


class Notebook:
    """The names that cells define in IPython, and notes of what happened."""

    def __init__(self) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"})
        self.notes: list[str] = []
        self.shell = InteractiveShell.instance(config=settings)
        self.shell.enable_gui = lambda gui=None: None
        self.shell.system = self.shell.getoutput = self.left_out
        self.names = self.shell.user_ns
        self.names["grader"] = Dumb()
        otter = sys.modules["otter"] = ModuleType("otter")
        otter.Notebook = Dumb

    def left_out(self, command: str, *_: Any, **__: Any) -> list[str]:
        """Note a command of the system, which does not run."""
        self.notes.append(f"left out: !{command[:60]}")
        return []

    def run(self, cells: list[str]) -> None:
        """Run all cells; one that fails is noted."""
        for number, cell in enumerate(cells, start=1):
            try:
                result = with_limit(self.shell.run_cell, cell)
                error = result.error_before_exec or result.error_in_exec
            except BaseException as outside:
                error = outside
            if error:
                first = next((line for line in cell.splitlines() if line.strip()), "").strip()
                text = " ".join(f"{type(error).__name__}: {error}".split())
                self.notes.append(f"cell {number}, `{first[:60]}`, failed: {text[:200]}")


class Served:
    """Functions and iterators of the other process, and the lists that it has passed."""

    def __init__(self) -> None:
        from wire import Wire

        pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        self.wire, self.lists = Wire(*pipes, told, self.received), {}

    def received(self, value: dict[str, Any]) -> Any:
        """Return what stands for a function, an iterator or a list of the other process."""
        [(kind, plain)] = value.items()
        if kind == "callable":
            return Callback(self.wire, plain)
        if kind == "iterator":
            return fetched(self.wire, plain)
        key, items = plain
        return self.lists.setdefault(key, items)


class Callback:
    """Call a function of the other process."""

    def __init__(self, wire: Any, key: int):
        self.wire, self.key = wire, key

    def __call__(self, *args: Any, **named: Any) -> Any:
        self.wire.send(back=self.key, args=args, named=named)
        return got(self.wire.receive())["value"]

    def eval(self) -> "Callback":
        """Do nothing: a model is in evaluation mode."""
        return self

    train = requires_grad_ = to = lambda self, *_: self


def fetched(wire: Any, key: int) -> Iterator[Any]:
    """Yield the items of an iterator of the other process, and tell which of them are still alive."""
    kept: list[list[Any]] = []
    while True:
        alive = [i for i, refs in enumerate(kept) if any(x() is not None for x in refs)]
        wire.send(next=key, alive=tuple(alive))
        reply = got(wire.receive())
        if "item" not in reply:
            return
        kept.append([ref(x) for x in reply["item"] if hasattr(x, "shape")])
        yield reply.pop("item")


def got(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply, or raise the error that it brings."""
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply


def told(value: Any) -> dict[str, Any]:
    """Return a result as a number, its items, or the name of its type."""
    from wire import Items

    if isinstance(value, Real | Decimal):
        return {"number": float(value)}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | deque | set | frozenset | range) or hasattr(value, "__next__"):
        return {"items": Items(value)}
    return {"other": type(value).__name__}


def with_limit(run: Any, *args: Any) -> Any:
    """Run with a time limit, if the system has alarms."""
    if not hasattr(signal, "SIGALRM"):
        return run(*args)

    def stop(*_: Any) -> None:
        raise TimeoutError(f"this took longer than {SECONDS} seconds")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        return run(*args)
    finally:
        signal.alarm(0)


def answered(notebook: Notebook, request: dict[str, Any]) -> dict[str, Any]:
    """Call what a notebook defines; return its result, and the arguments as they are then."""
    import torch

    from selfattn_book.properties.answer import RefusedError
    from selfattn_book.properties.calls import call

    args = request["args"]
    torch.manual_seed(request["seed"])
    try:
        value = with_limit(call, notebook.names[request["call"]], *args)
    except RefusedError as refused:
        return {"error": (refused.answer.kind, refused.answer.reason)}
    except BaseException as error:
        return {"error": ("exception", f"{type(error).__name__}: {error}.")}
    after = (x if isinstance(x, torch.Tensor | list) else None for x in args)
    return {"value": value, "after": tuple(after)}


def serve(notebook: Notebook, served: Served) -> None:
    """Run cells and answer calls, until the other process closes the wire."""
    while True:
        try:
            request = served.wire.receive()
        except EOFError:
            return
        if "cells" in request:
            notebook.run(request["cells"])
            defined = [name for name in request["names"] if name in notebook.names]
            reply = {"defined": {name: callable(notebook.names[name]) for name in defined}}
        else:
            reply = answered(notebook, request)
        notes = tuple(dict.fromkeys(notebook.notes))[:30]
        notebook.notes.clear()
        try:
            served.wire.send(**reply, notes=notes)
        except Exception as error:
            reason = f"its result cannot be read: {type(error).__name__}: {error}"
            served.wire.send(error=("exception", reason), notes=notes)


def main() -> None:
    """Confine this process before anything else, and serve."""
    sys.path.insert(0, FOLDER)
    from confined import confine, watch

    lacking = confine(FOLDER, PACKAGE, CPU_SECONDS)
    spec = spec_from_file_location("selfattn_book", f"{PACKAGE}/__init__.py")
    sys.modules["selfattn_book"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    served, notebook = Served(), Notebook()
    import selfattn_book.properties.calls  # noqa: F401

    served.wire.send(ready=tuple(lacking))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for pipe in range(3):  # whatever is printed is not read
        os.dup2(nowhere, pipe)
    os.chdir(FOLDER)
    watch(notebook.notes, FOLDER, PACKAGE)
    serve(notebook, served)


if __name__ == "__main__":
    main()
