"""Change the package in small ways, one at a time, and see who notices.

For each change, a *mutant*, first the docs are asked: doctests and the checks of the chapters.
What they let pass is shown to all other tests. Survivors are listed by place.
Each mutant runs in a process forked from this one, which has the heavy libraries loaded.

Run as: python tests/mutate.py [MODULE ...] [--docs-only], the modules without `.py`
"""

import argparse
import ast
import copy
import io
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot
import numpy  # noqa: F401 (loaded here, so that no fork loads it again)
import pytest
import torch
import torch._dynamo
import torch.export

ROOT = Path(__file__).resolve().parent.parent  # `book` would import the package
sys.path.insert(0, str(ROOT / "_config" / "extensions"))
from chapter_keys import imports, modules_reached  # noqa: E402

# Who takes longer than this over a mutant is in its endless loop: noticed.
SECONDS = 600

MODULES = [
    "masks", "attention", "positional", "symmetry", "sharpness", "lookup", "words",
    "ablation", "training", "conversion", "properties",
    "sequence_properties",
]  # fmt: skip

SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Mod: ast.Mult,
}  # fmt: skip


@dataclass
class Mutant:
    """One change of one module."""

    module: str
    line: int
    change: str
    source: str


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Give the small changes that can be made to one node, each with a description."""
    if isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        new = copy.copy(node)
        new.op = SWAPS[type(node.op)]()
        yield "operator", new
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        new = copy.copy(node)
        new.ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
        yield "comparison", new
    if isinstance(node, ast.BoolOp):
        new = copy.copy(node)
        new.op = SWAPS[type(node.op)]()
        yield "and/or", new
    if isinstance(node, ast.UnaryOp):
        yield "sign or negation dropped", node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "flipped", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "one more", ast.Constant(node.value + 1)
    if isinstance(node, ast.IfExp):
        yield "always the first", node.body
        yield "always the second", node.orelse
    if isinstance(node, ast.If):
        for value in (True, False):
            new = copy.copy(node)
            new.test = ast.Constant(value)
            yield f"if {value}", new
    if isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield "left out", ast.Pass()


def mutants(path: Path) -> Iterator[Mutant]:
    """Give every mutant of a module; docstrings, annotations and messages are left alone."""
    tree = ast.parse(path.read_text("utf-8"))
    for parent, name, index, node in places(tree):
        for change, new in changes(node):
            put(parent, name, index, ast.copy_location(new, node))
            source = ast.unparse(ast.fix_missing_locations(tree))
            put(parent, name, index, node)
            before = ast.unparse(node).split("\n")[0]
            yield Mutant(path.stem, node.lineno, f"{change}: {before}", source)


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Give every node inside of functions, with where it hangs."""
    queue: list[ast.AST] = [
        f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)
    ]
    skipped = (ast.JoinedStr, ast.FunctionDef, ast.ClassDef)
    while queue:
        parent = queue.pop()
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "decorator_list", "msg"):
                continue
            children = value if isinstance(value, list) else [value]
            for index, child in enumerate(children):
                if isinstance(child, ast.AST) and not isinstance(child, skipped):
                    if hasattr(child, "lineno"):
                        yield (
                            parent,
                            name,
                            index if isinstance(value, list) else None,
                            child,
                        )
                    queue.append(child)


def put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    """Hang a node into its place."""
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def verdict(task: tuple[Mutant | None, bool]) -> str:
    """Run docs and tests on a mutant, in this process, and say who noticed."""
    mutant, docs_only = task
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "selfattn_book")
        shutil.copytree(
            ROOT / "selfattn_book",
            package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copytree(ROOT / "docs", package / "_book")
        if mutant:
            (package / f"{mutant.module}.py").write_text(mutant.source, "utf-8")
        sys.path.insert(0, folder)
        signal.signal(signal.SIGALRM, stop)
        module = mutant.module if mutant else None
        if notices(lambda package: docs_notice(package, module), package):
            return "docs"
        asked = not docs_only
        return "tests" if asked and notices(tests_notice, package) else "nobody"


def notices(ask: Callable[[Path], bool], package: Path) -> bool:
    """Ask in silence, and count an endless loop as noticed by who is in it."""
    signal.alarm(SECONDS)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return ask(package)
    except TimeoutError:
        return True
    finally:
        signal.alarm(0)


def stop(*_: object) -> None:
    """End a mutant that runs too long."""
    raise TimeoutError


PLAIN = ["-q", "-x", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]


def docs_notice(package: Path, module: str | None) -> bool:
    """Ask the doctests, then the checks of the chapters that reach a module."""
    # Its own doctests come first: they are quick, and mostly enough.
    own = [str(package / f"{module}.py")] if module else []
    if pytest.main([*PLAIN, f"--rootdir={package}", *own, str(package)]) != 0:
        return True
    from selfattn_book import verify

    matplotlib.pyplot.switch_backend("agg")
    pages = sorted((package / "_book").glob("*/*.md"))
    asked = (
        page for page in pages if module is None or reaches(page, package, module)
    )
    return not all(
        result.holds for page in asked for result in verify.verify_chapter(page)
    )


def reaches(page: Path, package: Path, module: str) -> bool:
    """Tell whether the cells of a page import a module, directly or through others."""
    from selfattn_book.cells import read_cells

    cells = read_cells(page.read_text("utf-8"))
    names = frozenset().union(*(imports(cell.code) for cell in cells))
    return package / f"{module}.py" in modules_reached(package, names)


def tests_notice(_: Path) -> bool:
    """Ask all other tests of the package."""
    tests = [str(test) for test in sorted((ROOT / "tests").glob("test_*.py"))]
    tests = [test for test in tests if "test_book" not in test]
    return pytest.main([*PLAIN, *tests]) != 0


def main() -> int:
    """Run all mutants, two or more at a time, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--docs-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    files = [ROOT / "selfattn_book" / f"{name}.py" for name in options.modules]
    todo = [mutant for file in files for mutant in mutants(file)]
    context = multiprocessing.get_context("fork")
    noticed: dict[str, Counter[str]] = defaultdict(Counter)
    with context.Pool(os.cpu_count(), maxtasksperchild=1) as pool:
        if pool.apply(verdict, ((None, options.docs_only),)) != "nobody":
            sys.exit(
                "The unchanged package does not pass; there is nothing to learn from mutants."
            )
        tasks = ((mutant, options.docs_only) for mutant in todo)
        for number, (mutant, who) in enumerate(
            zip(todo, pool.imap(verdict, tasks), strict=True), 1
        ):
            noticed[mutant.module][who] += 1
            if who != "docs":
                print(
                    f"{mutant.module}.py:{mutant.line}: noticed by {who}: {mutant.change}"
                )
            print(f"{number}/{len(todo)}", end="\r", file=sys.stderr)
    for name in options.modules:
        print(f"{name}: {figures(noticed[name], options.docs_only)}")
    print(f"all: {figures(sum(noticed.values(), Counter()), options.docs_only)}")
    return 0


def figures(noticed: Counter[str], docs_only: bool) -> str:
    """Say how many mutants were noticed, and by whom."""
    count = noticed.total()
    by_docs, by_all = noticed["docs"] / count, 1 - noticed["nobody"] / count
    told = f"{count} mutants: {by_docs:.1%} noticed by the docs alone"
    return told if docs_only else f"{told}, {by_all:.1%} by everything"


if __name__ == "__main__":
    sys.exit(main())
