"""Run the cells of a notebook, and answer calls: the process of which nothing is believed.

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
from typing import Any
from unittest.mock import MagicMock
from weakref import ref


class Notebook:
    """The names that cells define in IPython, with a time limit for each, and notes of what happened."""

    def __init__(self, seconds: int) -> None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        settings = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"})
        self.seconds, self.notes = seconds, list[str]()
        self.shell = InteractiveShell.instance(config=settings)
        self.shell.enable_gui = lambda gui=None: None
        self.shell.system = self.shell.getoutput = self.left_out
        self.names = self.shell.user_ns
        self.names["grader"] = sys.modules["otter"] = MagicMock()  # they take any call

    def left_out(self, command: str, *_: Any, **__: Any) -> list[str]:
        """Note a command of the system, which does not run."""
        self.notes.append(f"left out: !{command[:60]}")
        return []

    def run(self, cells: list[str], names: list[str]) -> dict[str, bool]:
        """Run all cells, note which fail, and return which names are defined, and callable."""
        for number, cell in enumerate(cells, start=1):
            try:
                result = self.limited(self.shell.run_cell, cell)
                error = result.error_before_exec or result.error_in_exec
            except BaseException as outside:
                error = outside
            if error:
                first = next((line for line in cell.splitlines() if line.strip()), "").strip()
                text = " ".join(f"{type(error).__name__}: {error}".split())
                self.notes.append(f"cell {number}, `{first[:60]}`, failed: {text[:200]}")
        return {name: callable(self.names[name]) for name in names if name in self.names}

    def call(self, name: str, args: list[Any], seed: int) -> dict[str, Any]:
        """Call a function; return its result, and the arguments as they are then."""
        import torch

        from selfattn_book.properties.answer import RefusedError
        from selfattn_book.properties.calls import call

        torch.manual_seed(seed)
        try:
            value = self.limited(call, self.names[name], *args)
        except RefusedError as refused:
            return {"error": [refused.answer.kind, refused.answer.reason]}
        except BaseException as error:
            return {"error": ["exception", f"{type(error).__name__}: {error}."]}
        changed = [x if isinstance(x, torch.Tensor | list) else None for x in args]
        return {"value": value, "after": changed}

    def limited(self, run: Any, *args: Any) -> Any:
        """Run with the time limit, if the system has alarms."""
        if not hasattr(signal, "SIGALRM"):
            return run(*args)

        def stop(*_: Any) -> None:
            raise TimeoutError(f"this took longer than {self.seconds} seconds")

        signal.signal(signal.SIGALRM, stop)
        signal.alarm(self.seconds)
        try:
            return run(*args)
        finally:
            signal.alarm(0)


class Callback:
    """Call a function of the process that checks, such as a model."""

    def __init__(self, wire: Any, key: int):
        self.wire, self.key = wire, key

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return what the function returns there."""
        return asked(self.wire, back=self.key, args=args, named=named)["value"]

    eval = train = requires_grad_ = to = lambda self, *_: self


def fetched(wire: Any, key: int) -> Iterator[Any]:
    """Yield the items of an iterator of the other process, and tell which of them are still alive."""
    kept: list[list[Any]] = []
    while True:
        alive = [i for i, refs in enumerate(kept) if any(x() is not None for x in refs)]
        reply = asked(wire, next=key, alive=alive)
        if "item" not in reply:
            return
        kept.append([ref(x) for x in reply["item"] if hasattr(x, "shape")])
        yield reply.pop("item")


def asked(wire: Any, **message: Any) -> dict[str, Any]:
    """Return the reply to a message, or raise the error that it brings."""
    wire.send(**message)
    reply: dict[str, Any] = wire.receive()
    if "error" in reply:
        raise RuntimeError(reply["error"])
    return reply


def pack(value: Any) -> Any:
    """Return a result as a number, its items, or the name of its type."""
    if isinstance(value, Real | Decimal):
        return float(value)
    if isinstance(value, deque | set | frozenset | range) or hasattr(value, "__next__"):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else {"other": type(value).__name__}


def serve(notebook: Notebook, lacking: list[str]) -> None:
    """Run cells and answer calls, until the other process closes the wire."""
    from wire import Wire

    lists: dict[int, list[Any]] = {}

    def unpack(value: dict[str, Any]) -> Any:
        match value:
            case {"callable": key}:
                return Callback(wire, key)
            case {"iterator": key}:
                return fetched(wire, key)
            case {"list": [key, items]}:  # the same list in each call
                return lists.setdefault(key, items)
        return value

    wire = Wire(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"), pack, unpack)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for pipe in range(3):  # whatever is printed is not read
        os.dup2(nowhere, pipe)
    wire.send(notes=lacking)
    while True:
        try:
            request = wire.receive()
        except EOFError:
            return
        is_call = "cells" not in request
        reply = notebook.call(**request) if is_call else {"defined": notebook.run(**request)}
        notes = [*dict.fromkeys(notebook.notes)][:30]
        notebook.notes.clear()
        try:
            wire.send(**reply, notes=notes)
        except Exception as error:
            reason = f"its result cannot be read: {type(error).__name__}: {error}"
            wire.send(error=["exception", reason], notes=notes)


def main(folder: str, package: str, all_seconds: int, seconds: int) -> None:
    """Confine this process before anything else, and serve."""
    sys.path.insert(0, folder)
    os.chdir(folder)
    from confined import confine, watch

    lacking = confine(folder, package, all_seconds)
    spec = spec_from_file_location("selfattn_book", f"{package}/__init__.py")
    sys.modules["selfattn_book"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    import selfattn_book.properties.calls  # noqa: F401

    notebook = Notebook(seconds)
    watch(notebook.notes, folder, package)
    serve(notebook, lacking)


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
