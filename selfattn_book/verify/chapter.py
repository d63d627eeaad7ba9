"""Run the checks of a page on this machine, as ``python -m selfattn_book verify`` does.

A chapter is run from its first cell to its last, as a reader would run it who copies the cells
in sight and has this package alone; what only the book's tools need, a reader does not see.
Each cell that carries the id of an equation or a claim gives one result.
"""

import ast
import io
import time
from collections.abc import Iterator
from contextlib import (
    AbstractContextManager,
    chdir,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from selfattn_book.draw.style import close_figures
from selfattn_book.verify.cells import Cell, read_cells
from selfattn_book.verify.disturbed import DisturbedRounding
from selfattn_book.verify.watching import NAME, Watch, watched

_Namespace = dict[str, Any]


@dataclass
class Result:
    """What came of one check.

    ``margin`` says how much of its tolerance it has left, where it has one:
    see :mod:`selfattn_book.verify.margins`.
    """

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
    """Run a chapter, and give the result of each of its checks as it comes.

    A cell that fails without being a check ends the chapter, as one result under its line.

    Args:
        page: the chapter's Markdown file.
        threads: how many threads PyTorch may use.
        disturbed: a draw of :class:`~selfattn_book.verify.disturbed.DisturbedRounding`;
            without it, numbers are rounded as this machine rounds them.
    """
    namespace: _Namespace = {"__name__": "__main__", NAME: Watch()}
    cells = [
        cell for cell in read_cells(page.read_text("utf-8")) if _in_sight(cell)
    ]
    with _reader_session(threads, namespace[NAME]), chdir(page.parent):
        for cell in cells:
            machine = (
                nullcontext() if disturbed is None else DisturbedRounding(disturbed)
            )
            result = _run(cell, namespace, page, machine)
            if "check" in cell.options:
                yield result
            elif not result.holds:
                yield result
                return


def _run(
    cell: Cell,
    namespace: _Namespace,
    page: Path,
    machine: AbstractContextManager[Any],
) -> Result:
    name = cell.options.get("check", f"the cell in line {cell.line}")
    result = Result(page.stem, name, cell.options.get("by", "exact"), True, 0.0)
    watch, start = namespace[NAME], time.perf_counter()
    watch.margin = None
    quiet = redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO())
    try:
        with machine, quiet[0], quiet[1]:
            exec(compile(watched(_placed(cell)), page.name, "exec"), namespace)
        result.margin = watch.margin
    except (Exception, SystemExit) as error:
        result.holds = False
        result.message = _told(error, cell, namespace)
    result.seconds = time.perf_counter() - start
    return result


def _in_sight(cell: Cell) -> bool:
    """Tell whether a reader can copy a cell, be it from a fold."""
    tags = cell.options.get("tags", "")
    return "remove-cell" not in tags and "remove-input" not in tags


def _placed(cell: Cell) -> str:
    """Return the code of a cell, in the lines that it has on its page."""
    return "\n" * (cell.line - 1) + cell.code


def _told(error: BaseException, cell: Cell, namespace: _Namespace) -> str:
    """Explain a failure; what cannot be explained speaks for itself."""
    plain = " ".join(f"{type(error).__name__}: {error}".split())
    try:
        return _explain(error, cell, namespace) or plain
    except Exception:
        return plain


def _explain(error: BaseException, cell: Cell, namespace: _Namespace) -> str:
    """Say what came and what should have come, where the failed line tells."""
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
    left, right = (
        torch.as_tensor(actual).double(),
        torch.as_tensor(expected).double(),
    )
    if left.shape != right.shape:
        return f"got shape {tuple(left.shape)}, expected {tuple(right.shape)}"
    gap = (left - right).abs().nan_to_num(torch.inf).flatten()
    if not gap.any():
        return ""  # they differ in something else, such as their dtype
    worst = int(gap.argmax())
    return f"got {left.flatten()[worst].item():.6g}, expected {right.flatten()[worst].item():.6g}"


def _both_sides(cell: Cell, line: int, watch: Watch) -> str:
    """Say what the bare ``assert`` in a line claims, and the two sides that it compared."""
    for node in ast.walk(ast.parse(_placed(cell))):
        if isinstance(node, ast.Assert) and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            claim = f"not so: {ast.unparse(node.test)}"
            if node.lineno not in watch.sides:
                return claim
            left, right = watch.sides[node.lineno]
            return f"{claim} (left {left}, right {right})"
    return ""


@contextmanager
def _reader_session(threads: int, watch: Watch) -> Iterator[None]:
    """Give a chapter what a fresh kernel has, and take back what it has changed."""
    dtype, before = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with (
            torch.random.fork_rng(devices=[]),
            torch.enable_grad(),
            watch.hearing_assert_close(),
        ):
            yield
    finally:
        close_figures()
        torch.set_num_threads(before)
        torch.set_default_dtype(dtype)
        torch.set_printoptions(profile="default")
