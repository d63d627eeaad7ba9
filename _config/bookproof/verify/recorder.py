"""Record whether a cell executes an assertion that could fail.

Each ``assert`` of a cell reports its operands to a :class:`Recorder`, and so does PyTorch's
``assert_close``. An assertion is live if its operands are neither constants, empty, NaN nor one
object, it asks for more than a type, its tolerance is reasonable, and its failure leaves the cell: a
forked copy of the process raises the error instead, and reports whether the cell failed. An expected
error is asserted by what it says.
Kernels load this module, which therefore imports the standard library only.
"""

import builtins
import functools
import importlib
import operator
import os
import shutil
import signal
import sys
import tempfile  # noqa: F401 (it removes its folders by the functions that `become_probe` replaces)
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .faults import (
    fault_of_closeness,
    fault_of_comparison,
    fault_of_nan,
    fault_of_value,
    is_empty,
    safely,
)
from .transform import NAME, Transformer

VACUOUS = "a check that cannot fail: it must execute an assertion about a computed value"
ESCAPED, PROBES, PATIENCE = 87, 5, 20  # an exit code; forks for each check; seconds
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda left, right: left in right,
    "not in": lambda left, right: left not in right,
}


class Recorder:
    """Record the assertions of a cell.

    Args:
        shell: IPython shell, forked in order to see an error leave its cell; none, to trust in it.
    """

    def __init__(self, shell: Any = None) -> None:
        self.shell, self.is_probe = shell, False
        self.start()

    def start(self) -> None:
        self.live, self.forks = False, 0
        self.reasons: list[str] = []
        self.void: str | None = (
            None  # the fault of what a side of the next comparison counts or sums
        )
        # For each assertion being evaluated, the faults of its operands.
        self.open: list[list[str | None]] = []

    def verdict(self) -> str:
        """Return why no assertion of the cell could fail; an empty string if one could."""
        return "" if self.live else (self.reasons or ["no assertion was executed"])[0]

    # -- Called by transformed cells -----------------------------------------------

    def begin(self) -> int:
        """Begin an assertion, and return its depth."""
        self.open.append([])
        return len(self.open)

    def end(self, depth: int, value: Any, fault: str = "") -> Any:
        """End an assertion, and return its value; a fault was seen in its text."""
        noted = self.open[depth - 1]
        del self.open[depth - 1 :]
        if value:
            faults = noted or ["it compared nothing"]
            self.passed(fault or (faults[0] if all(faults) else None))
        return value

    def leaf(self, value: Any, fault: str = "") -> Any:
        """Note a truth value; a fault was seen in its text."""
        self.note(fault or fault_of_value(value))
        return value

    def compare(self, line: int, wanted: bool, how: list[tuple[str, float]], *sides: Any) -> Any:
        """Compare as Python would.

        Args:
            line: first line of the assertion.
            wanted: truth value with which the assertion passes.
            how: operator between each two neighbors, and a tolerance typed on the right.
            *sides: operands.
        """
        result: Any = True
        for (sign, typed), left, right in zip(how, sides, sides[1:], strict=False):
            result = OPERATORS[sign](left, right)
            if not self.live:
                found = safely(fault_of_comparison, sign, wanted, left, right, result)
                self.note(self.void or found)
            self.compared(line, wanted, sign, typed, left, right, result)
            if len(how) > 1 and not result:
                break
        self.void = None
        return result

    def counted(self, sign: str, *sides: Any) -> Any:
        """Compare what is about to be counted, or return what is about to be summed."""
        for value in sides:
            empty = "its operands are empty" if is_empty(value) else safely(fault_of_nan, value)
            self.void = self.void or empty
        return OPERATORS[sign](*sides) if sign else sides[0]

    def compared(self, line: int, wanted: bool, sign: str, *rest: Any) -> None:
        """Take note of a comparison; for subclasses."""

    def closed(self, actual: Any, expected: Any, options: dict[str, Any]) -> None:
        """Take note of a call of ``assert_close``; for subclasses."""

    def close(self, wanted: bool, function: Callable[..., Any], *sides: Any, **limits: Any) -> Any:
        """Call ``allclose`` or ``isclose``."""
        if not self.live:
            self.note(safely(fault_of_closeness, function, sides, limits))
        return function(*sides, **limits)

    def unrecorded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return an assertion function that is called with twice the same expression."""
        self.reasons.append("it compared an expression with itself")
        original: Callable[..., Any] = getattr(function, "__wrapped__", function)
        return original

    # -- Judgement -----------------------------------------------------------------

    def note(self, fault: str | None) -> None:
        """Keep the fault of an operand of the innermost assertion, or that it has none."""
        if self.open:
            self.open[-1].append(fault)

    def passed(self, fault: str | None) -> None:
        """Record an assertion that passed."""
        if self.live or self.is_probe:
            return
        if not fault and not self.escapes():
            fault = "its error does not leave the cell"
        self.live = not fault
        self.reasons += [fault] if fault else []

    def escapes(self) -> bool:
        """Return whether an error raised here would make the cell fail."""
        if not self.shell or self.forks == PROBES:
            return not self.shell
        self.forks += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads, which a probe does not need
            child = os.fork()
        if not child:
            self.become_probe()
            raise AssertionError("a probe of the recorder")
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code in (ESCAPED, -signal.SIGALRM)

    def become_probe(self) -> None:
        """Leave no trace: a probe prints nothing, removes no file, and ends with its cell."""
        self.is_probe = True
        self.shell.showtraceback = lambda *_, **__: os._exit(ESCAPED)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(PATIENCE)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        for module, names in ((os, ("kill", "remove", "rmdir", "unlink")), (shutil, ("rmtree",))):
            for name in names:
                setattr(module, name, lambda *_, **__: None)

    def leave(self, result: Any) -> None:
        """End a probe whose error did not leave its cell."""
        if self.is_probe:
            os._exit(0)

    def recorded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``assert_close``, which then reports each call that passes."""

        @functools.wraps(function)
        def call(actual: Any, expected: Any, **options: Any) -> None:
            function(actual, expected, **options)
            if not self.live:
                fault = safely(fault_of_closeness, function, (actual, expected), options)
                self.passed(fault)
            self.closed(actual, expected, options)

        return call


def install(shell: Any, libraries: Iterable[str]) -> None:
    """Record the assertions of all cells that an IPython shell runs, and PyTorch's if it is there.

    Args:
        shell: shell of the kernel.
        libraries: packages that cells may import.
    """
    recorder = Recorder(shell if hasattr(os, "fork") and sys.platform != "darwin" else None)
    vars(builtins)[NAME] = recorder
    if "torch" in libraries:
        testing = importlib.import_module("torch.testing")
        vars(testing)["assert_close"] = recorder.recorded(testing.assert_close)
    shell.ast_transformers.append(Transformer())
    shell.events.register("pre_run_cell", lambda *_: recorder.start())
    shell.events.register("post_run_cell", recorder.leave)
