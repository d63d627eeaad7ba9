"""Mutation testing: change the package in small ways, and report the changes that no test notices.

Each changed module, a *mutant*, is run through the docs first: doctests and the checks of the chapters.
Mutants that survive are run through the tests. Each one runs in a forked process, in which the
libraries are already loaded. The unchanged package is run first, to measure how long each file takes.

Run as: python tests/mutate.py [MODULE ...] [--part 1/12] [--processes N], with modules
such as masks or measure.floors. ``--part 1/12`` takes every twelfth module.
"""

import argparse
import ast
import copy
import gc
import io
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path

import hypothesis.strategies  # noqa: F401 (loaded here, so that no fork loads it again)
import matplotlib.pyplot
import numpy  # noqa: F401 (likewise)
import pytest
import torch
import torch._dynamo  # noqa: F401 (likewise)
import torch.export  # noqa: F401 (likewise)

ROOT = Path(__file__).resolve().parent.parent  # `book` would import the package
sys.path.insert(0, str(ROOT / "_config"))
from bookproof.fresh.keys import imports, modules_reached  # noqa: E402
from bookproof.verify.cells import book_pages, read_cells  # noqa: E402
from bookproof.verify.chapter import verify_chapter  # noqa: E402

# A mutant that takes this many times as long as the package, and this long, is an endless loop.
# Processor time is measured, which does not grow when other programs use the machine.
TIMES, SECONDS = 5, 20
PATIENCE = 600  # wall seconds, for a mutant that waits

# Not mutated: drawing, one-off figures, exercises, and the command.
NOT_MUTATED = {"draw", "exercises", "figures", "verify"}
PACKAGE = ROOT / "selfattn_book"
PATHS = [file.relative_to(PACKAGE) for file in sorted(PACKAGE.rglob("[!_]*.py"))]
MODULES = [
    ".".join(path.with_suffix("").parts)
    for path in [*PATHS, Path("_arguments.py")]
    if path.with_suffix("").parts[0] not in NOT_MUTATED
]
OTHERS = {"book", "bookproof", "browser", "verify"}  # tests of pages and of the build

SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Mod: ast.Mult,
}  # fmt: skip
UNTOUCHED = ("annotation", "returns", "decorator_list", "msg")


@dataclass
class Mutant:
    """One change of one module."""

    module: str
    line: int
    change: str
    text: str
    source: str

    @property
    def name(self) -> str:
        """The change and its line of code, without the line number, which moves."""
        return f"{self.module}: {self.change}, in: {self.text}"


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the small changes of one node, each with a description."""

    def with_(name: str, value: object) -> ast.AST:
        new = copy.copy(node)
        setattr(new, name, value)
        return new

    match node:
        case ast.BinOp(op=op) if type(op) in SWAPS:
            yield "operator", with_("op", SWAPS[type(op)]())
        case ast.Compare(ops=[op, *others]) if type(op) in SWAPS:
            yield "comparison", with_("ops", [SWAPS[type(op)](), *others])
        case ast.BoolOp(op=op):
            yield "and/or", with_("op", SWAPS[type(op)]())
        case ast.UnaryOp(operand=operand):
            yield "sign or negation dropped", operand
        case ast.Constant(value=bool() as value):
            yield "flipped", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "one more", ast.Constant(value + 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield "always the first", body
            yield "always the second", orelse
        case ast.If():
            yield "if True", with_("test", ast.Constant(True))
            yield "if False", with_("test", ast.Constant(False))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "left out", ast.Pass()


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module; docstrings, annotations and messages are not changed."""
    lines = path.read_text("utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    for parent, name, index, node in places(tree):
        for change, new in changes(node):
            put(parent, name, index, ast.copy_location(new, node))
            source = ast.unparse(ast.fix_missing_locations(tree))
            put(parent, name, index, node)
            before = ast.unparse(node).split("\n")[0]
            text = lines[node.lineno - 1].strip()
            yield Mutant(module, node.lineno, f"{change}: {before}", text, source)


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield every node inside functions, with its parent, field and index in the field."""
    queue: list[ast.AST] = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    while queue:
        parent = queue.pop()
        for name, value in ast.iter_fields(parent):
            if name in UNTOUCHED:
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                skipped = ast.JoinedStr | ast.FunctionDef | ast.ClassDef
                if not isinstance(child, ast.AST) or isinstance(child, skipped):
                    continue
                if hasattr(child, "lineno"):
                    yield parent, name, index, child
                queue.append(child)


def put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    """Replace a child of a node."""
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


@dataclass
class Check:
    """A file whose doctests, checks or tests are run, and the seconds that it takes."""

    path: Path  # relative to the folder with the package, or absolute for a test
    seconds: float = 0.0

    @property
    def is_test(self) -> bool:
        return self.path.is_absolute()

    def is_own(self, module: str) -> bool:
        """Return whether this is the doctests of a module, or a test that imports the module."""
        if self.is_test:
            return f"selfattn_book.{module}" in imports(self.path.read_text("utf-8"))
        return self.path == Path("selfattn_book", path_of(module))


def path_of(module: str) -> str:
    """Return the path of a module in the package."""
    return f"{module.replace('.', '/')}.py"


def checks_of(module: str) -> Iterator[Path]:
    """Yield the doctests, the pages whose cells reach a module, and the tests."""
    yield Path("selfattn_book", path_of(module))
    yield Path("selfattn_book")  # all doctests, those of the pages included
    for page in book_pages(ROOT / "docs"):
        cells = read_cells(page.read_text("utf-8"))
        names = frozenset[str]().union(*(imports(cell.code) for cell in cells))
        if PACKAGE / path_of(module) in modules_reached((PACKAGE,), names):
            yield Path("selfattn_book", "_book", page.relative_to(ROOT / "docs"))
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if test.parent.name not in OTHERS:
            yield test


def measure(path: Path) -> Check:
    """Run a check on the unchanged package, and measure its time."""
    with package_copy() as package:
        start = time.process_time()
        if kills(path, package, PATIENCE):
            raise RuntimeError(f"{path} fails on the unchanged package")
        return Check(path, time.process_time() - start)


def survey(pool: Pool, modules: list[str]) -> dict[str, list[Check]]:
    """Return the checks of each module: docs before tests, its own first, then by time."""
    paths = {name: list(checks_of(name)) for name in modules}
    every = dict.fromkeys(path for found in paths.values() for path in found)
    known = {check.path: check for check in pool.imap_unordered(measure, every)}

    def order(name: str, check: Check) -> tuple[bool, bool, float]:
        return check.is_test, not check.is_own(name), check.seconds

    return {
        name: sorted((known[path] for path in found), key=partial(order, name))
        for name, found in paths.items()
    }


def verdict(task: tuple[Mutant, list[Check]]) -> str:
    """Run checks on a mutant until one fails; return its kind, or that the mutant survives."""
    mutant, checks = task
    with package_copy() as package:
        (package / path_of(mutant.module)).write_text(mutant.source, "utf-8")
        for check in checks:
            if kills(check.path, package, TIMES * check.seconds + SECONDS):
                return "tests" if check.is_test else "docs"
    return "none"


@contextmanager
def package_copy() -> Iterator[Path]:
    """Copy the package, with the pages inside, and import from the copy from now on."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "selfattn_book")
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "docs", package / "_book")
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # for checks that start another Python
        yield package


def kills(path: Path, package: Path, limit: float) -> bool:
    """Return whether a check fails, raises or exceeds its time; its output is discarded."""

    def stop(*_: object) -> None:
        raise TimeoutError

    for kind in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(kind, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.alarm(PATIENCE)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return fails(package.parent / path, package)
    except Exception:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def fails(path: Path, package: Path) -> bool:
    """Return whether a check of a page, or a test or doctest of a file, fails."""
    if path.suffix == ".md":
        matplotlib.pyplot.switch_backend("agg")
        return not all(result.holds for result in verify_chapter(path))
    options = ["-q", "-x", "-p", "no:cacheprovider", "--assert=plain"]
    setting = f"--config-file={ROOT / 'pyproject.toml'}", f"--rootdir={package}"
    return pytest.main([*options, *setting, str(path)]) != 0


def part(text: str) -> slice:
    """Return the slice of a part such as 2/12: the second item, the fourteenth, and so on."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"a part must be written as 1/12; got {text!r}")
    return slice(int(number) - 1, None, int(of))


def main() -> None:
    """Run all mutants in parallel, and print those that the docs do not kill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--part", type=part, default=slice(None), metavar="N/OF")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    modules = options.modules[options.part]
    torch.set_num_threads(1)
    gc.freeze()  # forked processes then share the memory of the libraries
    every = [mutant for name in modules for mutant in mutants(PACKAGE / path_of(name))]
    same, names = equivalent(), {mutant.name for mutant in every}
    for name in same:
        if name.split(":")[0] in modules and name not in names:
            print(f"no longer a mutant: {name}")
    todo = [mutant for mutant in every if mutant.name not in same]
    killed: dict[str, Counter[str]] = defaultdict(Counter)
    with multiprocessing.get_context("fork").Pool(options.processes, maxtasksperchild=1) as pool:
        checks = survey(pool, modules)
        tasks = ((mutant, checks[mutant.module]) for mutant in todo)
        for number, (mutant, by) in enumerate(zip(todo, pool.imap(verdict, tasks), strict=True), 1):
            killed[mutant.module][by] += 1
            if by != "docs":
                place = f"{path_of(mutant.module)}:{mutant.line}"
                print(f"{place}: killed by {by}: {mutant.change}", flush=True)
            print(f"{number}/{len(todo)}", end="\r", file=sys.stderr)
    for name in modules:
        print(f"{name}: {rates(killed[name])}")
    print(f"all: {rates(sum(killed.values(), Counter()))}")


def equivalent() -> set[str]:
    """Return the mutants that are equivalent to the package; the file gives the reasons."""
    lines = (ROOT / "tests" / "equivalent.txt").read_text("utf-8").split("\n# ", 1)[1].splitlines()
    return {line for line in lines[1:] if line and not line.startswith("# ")}


def rates(killed: Counter[str]) -> str:
    """Return the number of mutants, and the rates at which they are killed."""
    count = killed.total()
    text = f"{count} mutants: {killed['docs'] / count:.1%} killed by the docs alone"
    return f"{text}, {1 - killed['none'] / count:.1%} by docs and tests"


if __name__ == "__main__":
    main()
