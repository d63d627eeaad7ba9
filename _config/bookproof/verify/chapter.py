"""Run the checks of a page on this machine, as ``python -m bookproof verify`` does.

A chapter runs from its first cell to its last, as a reader would run it who copies the visible
cells and has only the package; hidden cells, which serve the book's tools, are skipped.
Each cell that carries the id of an equation or a claim gives one result.
"""

import ast
import io
import sys
import time
from collections.abc import Iterator
from contextlib import (
    chdir,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .cells import Cell, read_cells
from .disturbed import DisturbedRounding
from .recorder import VACUOUS
from .transform import NAME, watched
from .watching import Watch

_Namespace = dict[str, Any]


@dataclass
class Result:
    """The result of one check; for ``margin``, see :mod:`bookproof.verify.margins`."""

    chapter: str
    check: str
    by: str
    holds: bool
    seconds: float
    message: str = ""
    margin: float | None = None


def verify_chapter(
    page: Path, *, threads: int = 1, disturbed: int | None = None
) -> Iterator[Result]:
    """Run a chapter, and yield the result of each check as it finishes.

    A failing cell that is no check ends the chapter with a result under its line number.
    ``disturbed`` is the draw of :class:`~bookproof.verify.disturbed.DisturbedRounding`.
    """
    namespace: _Namespace = {"__name__": "__main__", NAME: Watch()}
    cells, hidden = read_cells(page.read_text("utf-8")), {"remove-cell", "remove-input"}
    with _reader_session(threads, namespace[NAME]), chdir(page.parent):
        for cell in cells:
            if hidden.intersection(cell.options.get("tags", [])):
                continue
            result = _run(cell, namespace, page, disturbed)
            if "check" in cell.options:
                yield result
            elif not result.holds:
                yield result
                return


def _run(cell: Cell, namespace: _Namespace, page: Path, disturbed: int | None) -> Result:
    name = cell.options.get("check", f"the cell in line {cell.line}")
    result = Result(page.stem, name, cell.options.get("by", "exact"), True, 0.0)
    watch, start = namespace[NAME], time.perf_counter()
    watch.start()
    machine = nullcontext() if disturbed is None else DisturbedRounding(disturbed)
    try:
        with machine, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            exec(compile(watched(_placed(cell)), page.name, "exec"), namespace)
        result.margin = watch.margin
        if "check" in cell.options and (why := watch.verdict()):
            result.holds, result.message = False, f"{VACUOUS}; {why}"
    except (Exception, SystemExit) as error:
        result.holds = False
        result.message = _message(error, cell, namespace)
    result.seconds = time.perf_counter() - start
    return result


def _placed(cell: Cell) -> str:
    """Return the code of a cell, shifted to its lines on the page."""
    return "\n" * (cell.line - 1) + cell.code


def _message(error: BaseException, cell: Cell, namespace: _Namespace) -> str:
    """Explain a failure, or quote the exception."""
    with suppress(Exception):
        if explained := _explain(error, cell, namespace):
            return explained
    return " ".join(f"{type(error).__name__}: {error}".split())


def _explain(error: BaseException, cell: Cell, namespace: _Namespace) -> str:
    """Name the actual and expected values of the failed line, where they are known."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        names = trace.tb_frame.f_locals
        is_close = trace.tb_frame.f_code.co_name == "assert_close"
        if is_close and {"actual", "expected"} <= set(names):
            return _both_numbers(names["actual"], names["expected"])
        if trace.tb_frame.f_globals is namespace:
            line = trace.tb_lineno
        trace = trace.tb_next
    is_assertion = isinstance(error, AssertionError) and not str(error)
    return _both_sides(cell, line, namespace[NAME]) if is_assertion else ""


def _both_numbers(actual: Any, expected: Any) -> str:
    """Show the two entries that differ most."""
    left, right = torch.as_tensor(actual).double(), torch.as_tensor(expected).double()
    if left.shape != right.shape:
        return f"got shape {tuple(left.shape)}, expected {tuple(right.shape)}"
    gap = (left - right).abs().nan_to_num(torch.inf).flatten()
    if not gap.any():
        return ""  # they differ in something else, such as their dtype
    worst = int(gap.argmax())
    return f"got {left.flatten()[worst].item():.6g}, expected {right.flatten()[worst].item():.6g}"


def _both_sides(cell: Cell, line: int, watch: Watch) -> str:
    """Quote the bare ``assert`` of a line, and the two sides that it compared."""
    for node in ast.walk(ast.parse(_placed(cell))):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or 0):
            claim = f"not so: {ast.unparse(node.test)}"
            if node.lineno not in watch.sides:
                return claim
            left, right = watch.sides[node.lineno]
            return f"{claim} (left {left}, right {right})"
    return ""


@contextmanager
def _reader_session(threads: int, watch: Watch) -> Iterator[None]:
    """Give a chapter the state of a fresh kernel, and restore the state afterwards."""
    dtype, before = torch.get_default_dtype(), torch.get_num_threads()
    real = torch.testing.assert_close
    torch.set_num_threads(threads)
    vars(torch.testing)["assert_close"] = watch.recorded(real)
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            yield
    finally:
        vars(torch.testing)["assert_close"] = real
        if plt := sys.modules.get("matplotlib.pyplot"):
            plt.close("all")
        torch.set_num_threads(before)
        torch.set_default_dtype(dtype)
        torch.set_printoptions(profile="default")
