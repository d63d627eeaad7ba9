"""Run the checks of the book on this machine: ``python -m selfattn_book verify``.

A chapter is run from its first cell to its last, as a reader would run it,
and each cell that carries the id of an equation or a claim becomes one row of a table.
"""

import argparse
import ast
import io
import json
import platform
import sys
import time
import types
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch

from selfattn_book.cells import Cell, book_folder, read_cells
from selfattn_book.chance import first_seed


@dataclass
class Result:
    """What came of one check."""

    chapter: str
    check: str
    by: str
    holds: bool
    seconds: float
    message: str = ""


def verify_chapter(page: Path) -> Iterator[Result]:
    """Run a chapter, and give the result of each of its checks as it comes.

    A cell that fails without being a check ends the chapter, as one result under its line.

    Args:
        page: the chapter's Markdown file.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = read_cells(page.read_text("utf-8"))
    with _reader_session(), chdir(page.parent):
        for cell in cells:
            result = _run(cell, namespace, page)
            if "check" in cell.options:
                yield result
            elif not result.holds:
                yield result
                return


def _run(cell: Cell, namespace: dict[str, Any], page: Path) -> Result:
    name = cell.options.get("check", f"the cell in line {cell.line}")
    result = Result(page.stem, name, cell.options.get("by", "exact"), True, 0.0)
    start = time.perf_counter()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            exec(
                compile("\n" * (cell.line - 1) + cell.code, page.name, "exec"),
                namespace,
            )
    except (Exception, SystemExit) as error:
        result.holds = False
        result.message = _told(error, cell, namespace)
    result.seconds = time.perf_counter() - start
    return result


def _told(error: BaseException, cell: Cell, namespace: dict[str, Any]) -> str:
    """Explain a failure; what cannot be explained speaks for itself."""
    plain = " ".join(f"{type(error).__name__}: {error}".split())
    try:
        return _explain(error, cell, namespace) or plain
    except Exception:
        return plain


def _explain(error: BaseException, cell: Cell, namespace: dict[str, Any]) -> str:
    """Say what came and what should have come, where the failed line tells."""
    trace, line, seen = error.__traceback__, 0, namespace
    while trace is not None:
        names = trace.tb_frame.f_locals
        is_close = trace.tb_frame.f_code.co_name == "assert_close"
        if is_close and {"actual", "expected"} <= set(names):
            return _both_numbers(names["actual"], names["expected"])
        if trace.tb_frame.f_globals is namespace:
            line, seen = trace.tb_lineno - cell.line, {**namespace, **names}
        trace = trace.tb_next
    is_assertion = isinstance(error, AssertionError) and not str(error)
    return _both_sides(cell.code, line, seen) if is_assertion else ""


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


def _both_sides(code: str, line: int, namespace: dict[str, Any]) -> str:
    """Evaluate both sides of the comparison that a bare ``assert`` in this line makes."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert) and node.lineno <= line + 1 <= (
            node.end_lineno or 0
        ):
            claim = ast.unparse(node.test)
            if not isinstance(node.test, ast.Compare) or len(node.test.ops) > 1:
                return f"not so: {claim}"
            sides = (node.test.left, node.test.comparators[0])
            values = [eval(ast.unparse(side), namespace) for side in sides]
            return f"not so: {claim} (left {values[0]}, right {values[1]})"
    return ""


@contextmanager
def _reader_session() -> Iterator[None]:
    """Give a chapter what a fresh kernel has, one thread and a ``glue`` that needs no book."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    real = sys.modules.get("myst_nb")
    stand_in = types.ModuleType("myst_nb")
    vars(stand_in)["glue"] = lambda name, value, display=True: None
    sys.modules["myst_nb"] = stand_in
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            yield
    finally:
        sys.modules.pop("myst_nb")
        if real is not None:
            sys.modules["myst_nb"] = real
        plt.close("all")
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_printoptions(profile="default")


def main(arguments: list[str]) -> int:
    """Verify chapters, print a table, and return 0 if everything holds, else 1."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.json and not options.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {options.json.absolute().parent}")
    pages = _chosen(options.chapter)
    plt.switch_backend("agg")  # no windows
    results: list[Result] = []
    for number, page in enumerate(pages, start=1):
        print(
            f"[{number}/{len(pages)}] {page.stem} ...", file=sys.stderr, flush=True
        )
        with first_seed(options.first_seed):
            results += verify_chapter(page)
    _print_table(results)
    if options.json:
        options.json.write_text(
            json.dumps(_report(results), indent=1) + "\n", "utf-8"
        )
    return 0 if all(result.holds for result in results) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_book verify",
        description="Run the checks of every equation and claim of the book on this machine.",
    )
    parser.add_argument(
        "chapter", nargs="*", help="a chapter's name; all when left out"
    )
    parser.add_argument(
        "--first-seed",
        type=int,
        default=0,
        metavar="N",
        help="move every seed of the book by N",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the results here"
    )
    return parser


def _chosen(names: list[str]) -> list[Path]:
    pages = {page.stem: page for page in sorted(book_folder().glob("*/*.md"))}
    unknown = [name for name in names if name not in pages]
    if unknown:
        sys.exit(
            f"there is no chapter {', '.join(unknown)}; there are {', '.join(pages)}"
        )
    return [pages[name] for name in names or pages]


def _print_table(results: list[Result]) -> None:
    width = max((len(result.check) for result in results), default=0)
    for chapter in dict.fromkeys(result.chapter for result in results):
        print(f"\n{chapter}")
        for result in (result for result in results if result.chapter == chapter):
            verdict = "holds" if result.holds else "DIFFERS"
            line = f"  {result.check:{width}}  {verdict:7}  {result.seconds:6.2f} s  by {result.by}"
            print(f"{line}  {result.message}".rstrip())
    wrong = sum(not result.holds for result in results)
    print(f"\n{len(results)} checks: {len(results) - wrong} hold, {wrong} differ.")


def _report(results: list[Result]) -> dict[str, Any]:
    libraries = {name: version(name) for name in ("torch", "numpy", "matplotlib")}
    versions = {"python": platform.python_version(), **libraries}
    return {"versions": versions, "results": [asdict(result) for result in results]}
