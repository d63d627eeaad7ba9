"""Keep graded code from what is not its own: other files, other programs, and the grader itself.

Python tells an audit hook of each file that is opened and each program that is started, and a hook can
refuse; it cannot be taken away again. What the grader relies on is compared before and after: a function
that was exchanged for another one is noticed. Both stop what is cheap. Neither is a prison: code that
looks into the interpreter's memory, or calls C by itself, gets past them.
"""

import builtins
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from selfattn_book import reasons
from selfattn_book.course import asking, exercise
from selfattn_book.reasons import answer, calls

STARTS = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.kill",
    "pty.spawn",
    "socket.connect",
    "socket.bind",
    "ctypes.dlopen",
)
CHANGES = (
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.truncate",
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
RELIED_ON: tuple[Any, ...] = (
    *(builtins, json, math, torch, torch.Tensor, torch.nn.functional),
    *(torch.nn.Module, reasons, answer, answer.Answer, calls, asking),
    *(exercise, exercise.Asked, exercise.Exercise, exercise.Report),
)


def confine(answer: Path) -> None:
    """From now on, let this process read the answer's folder and Python, and write where it stands."""
    here = Path.cwd().resolve()
    own = [here, answer.parent.resolve(), Path(__file__).resolve().parents[1]]
    python = [Path(folder).resolve() for folder in (sys.prefix, sys.base_prefix)]

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            name, _, flags = given
            allowed = [here] if (flags or 0) & WRITES else [*own, *python]
            _within(name, allowed)
        elif event in CHANGES:
            for name in given[:2]:
                _within(name, [here])
        elif event in STARTS:
            raise PermissionError(
                f"an answer may start nothing; it asked for {event}"
            )

    sys.addaudithook(hook)


def _within(name: object, folders: list[Path]) -> None:
    """Raise unless a file lies in one of these folders."""
    if not isinstance(name, str | bytes | os.PathLike):
        return  # a number: it was opened before
    path = os.path.realpath(os.fsdecode(name))
    if path == os.devnull or any(
        path.startswith(f"{folder}{os.sep}") or path == str(folder)
        for folder in folders
    ):
        return
    raise PermissionError(
        f"an answer may use its own files only; it asked for {name!r}"
    )


class Untouched:
    """Remember what the grader relies on, and tell what has become of it.

    Args:
        modules: more modules than those of this package and PyTorch's.

    Example:
        >>> relied_on = Untouched()
        >>> relied_on.changed()
        ''
        >>> right, math.sqrt = math.sqrt, lambda x: 1.0
        >>> relied_on.changed()
        'math.sqrt'
        >>> math.sqrt = right
    """

    def __init__(self, *modules: ModuleType) -> None:
        self._owners = (*RELIED_ON, *modules)
        self._before = self._look()

    def changed(self) -> str:
        """Return the name of something that is another than it was, or nothing."""
        now = self._look()
        changes = (
            name for name, was in self._before.items() if now.get(name) != was
        )
        return next(changes, "")

    def _look(self) -> dict[str, tuple[int, int]]:
        return {
            f"{owner.__name__}.{name}": (id(value), id(_code(value)))
            for owner in self._owners
            for name, value in list(vars(owner).items())
            if name != "_"  # what was printed last
        }


def _code(value: object) -> object:
    """Return what a function does, which may change while the function stays."""
    inner = getattr(value, "fget", value) if isinstance(value, property) else value
    function: Callable[..., object] | None = inner if callable(inner) else None
    return getattr(function, "__code__", None)
