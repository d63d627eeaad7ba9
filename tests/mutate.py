"""Change the package in small ways, one at a time, and see who notices.

For each change, a *mutant*, first the docs are asked: doctests and the checks of the chapters.
What they let pass is shown to all other tests. Survivors are listed by place.
Each mutant runs in a process forked from this one, which has the heavy libraries loaded.
The unchanged package goes first: it shows who is quick, and how long anyone may take.

Run as: python tests/mutate.py [MODULE ...] [--part 1/12] [--docs-only] [--processes N]
[--at-most SECONDS], the modules as they are imported, such as draw.curves. With --part, each twelfth
of the modules has its turn. With --at-most, pages that take longer are
not asked, nor tests that do and do not import the module, so that more may seem to survive.
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

# Who takes so many times as long, and a while, over a mutant is in its endless loop: noticed.
# Counted is the processor's time, which does not grow when others use the machine.
TIMES, SECONDS = 5, 20
PATIENCE = 600  # seconds on the clock, for who waits for ever and computes nothing

# Matters of taste: a line may be thicker. What is given under these names is left alone.
LOOKS = {
    "alpha", "figsize", "fontsize", "frameon", "height", "labelrotation", "length", "linestyle",
    "linewidth", "markeredgewidth", "markersize", "shrinkA", "shrinkB", "width", "xytext", "zorder",
}  # fmt: skip

# Subpackages that are not changed: they draw one-off figures, run pages, or check exercises.
NOT_MUTATED = {"exercises", "figures", "pretrained", "verify"}
PACKAGE = ROOT / "selfattn_book"
PATHS = [file.relative_to(PACKAGE) for file in sorted(PACKAGE.rglob("[!_]*.py"))]
MODULES = [
    ".".join(path.with_suffix("").parts)
    for path in [*PATHS, Path("_arguments.py")]
    if path.parts[0] not in NOT_MUTATED
]

OTHERS = {"book", "bookproof", "browser"}  # tests of pages and of the build

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
    text: str
    source: str

    @property
    def name(self) -> str:
        """What was done where, without the number of the line, which moves."""
        return f"{self.module}: {self.change}, in: {self.text}"


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
    lines = path.read_text("utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    module = ".".join(path.relative_to(ROOT / "selfattn_book").with_suffix("").parts)
    for parent, name, index, node in places(tree):
        for change, new in changes(node):
            put(parent, name, index, ast.copy_location(new, node))
            source = ast.unparse(ast.fix_missing_locations(tree))
            put(parent, name, index, node)
            before = ast.unparse(node).split("\n")[0]
            text = lines[node.lineno - 1].strip()
            yield Mutant(module, node.lineno, f"{change}: {before}", text, source)


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Give every node inside of functions, with where it hangs."""
    queue: list[ast.AST] = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    skipped = (ast.JoinedStr, ast.FunctionDef, ast.ClassDef)
    while queue:
        parent = queue.pop()
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "decorator_list", "msg"):
                continue
            children = value if isinstance(value, list) else [value]
            for index, child in enumerate(children):
                if is_taste(parent, name, index):
                    continue
                if isinstance(child, ast.AST) and not isinstance(child, skipped):
                    if hasattr(child, "lineno"):
                        yield (
                            parent,
                            name,
                            index if isinstance(value, list) else None,
                            child,
                        )
                    queue.append(child)


def is_taste(parent: ast.AST, name: str, index: int) -> bool:
    """Tell whether a child of a node only says what a picture looks like."""
    if isinstance(parent, ast.keyword):
        return parent.arg in LOOKS
    key = parent.keys[index] if isinstance(parent, ast.Dict) and name == "values" else None
    return isinstance(key, ast.Constant) and key.value in LOOKS


def put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    """Hang a node into its place."""
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


@dataclass
class Witness:
    """Who is asked: one of the docs or of the tests, by its path, and the seconds it takes."""

    is_test: bool
    path: str
    seconds: float = 0.0
    is_slow: bool = False


def survey(
    pool: Pool, modules: list[str], docs_only: bool, at_most: float
) -> dict[str, list[Witness]]:
    """Ask everyone about the unchanged package, and tell whom to ask about each module."""
    found = pool.apply(candidates, (modules, docs_only))
    everyone = {w.path: w for known in found.values() for w in known}.values()
    own = [any(is_own(w, name) for name in modules) for w in everyone]
    limits = [PATIENCE if of_a_module else at_most for of_a_module in own]
    # One by one: each in a process of its own, which who is stopped may leave in disorder.
    tasks = zip(everyone, limits, strict=True)
    asked = {w.path: w for w in pool.starmap(measure, tasks, chunksize=1)}
    for witness in asked.values():
        if witness.is_slow:
            print(f"too slow to be asked: {witness.path}", flush=True)
    return {name: ordered(name, [asked[w.path] for w in found[name]]) for name in modules}


def path_of(module: str) -> str:
    """Return the path of a module inside of the package."""
    return f"{module.replace('.', '/')}.py"


def candidates(modules: list[str], docs_only: bool) -> dict[str, list[Witness]]:
    """List for each module who can be asked about it."""
    with package_copy() as package:
        return {name: list(witnesses(name, package, docs_only)) for name in modules}


def measure(witness: Witness, at_most: float) -> Witness:
    """Ask about the unchanged package, and take the time."""
    with package_copy() as package:
        start = time.process_time()
        failed = notices(witness, package, at_most)
        witness.seconds = time.process_time() - start
    witness.is_slow = witness.seconds >= at_most
    if failed and not witness.is_slow:
        raise RuntimeError(f"{witness.path} fails as it is")
    return witness


def witnesses(module: str, package: Path, docs_only: bool) -> Iterator[Witness]:
    """Give everyone who is asked about a module; paths are relative to the copy's folder."""
    yield Witness(False, f"selfattn_book/{path_of(module)}")
    yield Witness(False, "selfattn_book")  # all doctests, also of the pages
    for page in sorted((package / "_book").glob("*/*.md")):
        if reaches(page, package, module):
            yield Witness(False, str(page.relative_to(package.parent)))
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if not docs_only and test.parent.name not in OTHERS:
            yield Witness(True, str(test))


def reaches(page: Path, package: Path, module: str) -> bool:
    """Tell whether the cells of a page import a module, directly or through others."""
    # Not at the top: what is imported there would hide the copy from every fork.
    from bookproof.verify.cells import read_cells

    cells = read_cells(page.read_text("utf-8"))
    names = frozenset().union(*(imports(cell.code) for cell in cells))
    return package / path_of(module) in modules_reached([package], names)


def ordered(module: str, witnesses: list[Witness]) -> list[Witness]:
    """Order: the docs before the tests, a module's own before others, then by cost."""

    def rank(witness: Witness) -> tuple[bool, bool, float]:
        return witness.is_test, not is_own(witness, module), witness.seconds

    return sorted((w for w in witnesses if not w.is_slow), key=rank)


def is_own(witness: Witness, module: str) -> bool:
    """Tell whether these are the doctests of a module, or tests that import it."""
    if not witness.is_test:
        return witness.path == f"selfattn_book/{path_of(module)}"
    return f"selfattn_book.{module}" in imports(Path(witness.path).read_text("utf-8"))


def verdict(task: tuple[Mutant, list[Witness]]) -> str:
    """Show a mutant to one witness after another, in this process, and say who noticed."""
    mutant, asked = task
    with package_copy() as package:
        (package / path_of(mutant.module)).write_text(mutant.source, "utf-8")
        for witness in asked:
            if notices(witness, package, TIMES * witness.seconds + SECONDS):
                return "tests" if witness.is_test else "docs"
    return "nobody"


@contextmanager
def package_copy() -> Iterator[Path]:
    """Give a copy of the package, its pages inside, which is what is imported from now on."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder, "selfattn_book")
        shutil.copytree(
            ROOT / "selfattn_book",
            package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copytree(ROOT / "docs", package / "_book")
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # for who starts another Python
        yield package


def notices(witness: Witness, package: Path, limit: float) -> bool:
    """Ask in silence, and count an endless loop as noticed by who is in it."""
    for kind in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(kind, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.alarm(PATIENCE)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return fails(package.parent / witness.path, package)
    except Exception:  # it took too long, or the mutant is in what asks
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)


def stop(*_: object) -> None:
    """End a mutant that runs too long."""
    raise TimeoutError


def fails(path: Path, package: Path) -> bool:
    """Tell whether a check of a page, or a test or doctest of a file, fails."""
    if path.suffix == ".md":
        from bookproof.verify import chapter as verify

        matplotlib.pyplot.switch_backend("agg")
        return not all(result.holds for result in verify.verify_chapter(path))
    # Nobody reads why something fails, so assertions need not be rewritten to tell.
    options = ["-q", "-x", "-p", "no:cacheprovider", "--assert=plain"]
    setting = f"--config-file={ROOT / 'pyproject.toml'}", f"--rootdir={package}"
    return pytest.main([*options, *setting, str(path)]) != 0


def part(text: str) -> slice:
    """Return which modules belong to a part: of 2/12, the second, the fourteenth and so on."""
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise argparse.ArgumentTypeError(f"a part is one of so many, as 1/12; got {text!r}")
    return slice(int(number) - 1, None, int(of))


def main() -> int:
    """Run all mutants, as many at a time as there are processes, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES)
    parser.add_argument("--part", type=part, default=slice(None), metavar="N/OF")
    parser.add_argument("--docs-only", action="store_true")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--at-most", type=float, default=PATIENCE)
    options = parser.parse_args()
    options.modules = options.modules[options.part]
    torch.set_num_threads(1)
    gc.freeze()  # what is loaded here is not looked through in every fork
    files = [ROOT / "selfattn_book" / path_of(name) for name in options.modules]
    everyone = [mutant for file in files for mutant in mutants(file)]
    same, names = equivalent(), {mutant.name for mutant in everyone}
    for name in same:
        if name.split(":")[0] in options.modules and name not in names:
            print(f"no longer a change: {name}")
    todo = [mutant for mutant in everyone if mutant.name not in same]
    context = multiprocessing.get_context("fork")
    noticed: dict[str, Counter[str]] = defaultdict(Counter)
    with context.Pool(options.processes, maxtasksperchild=1) as pool:
        asked = survey(pool, options.modules, options.docs_only, options.at_most)
        tasks = ((mutant, asked[mutant.module]) for mutant in todo)
        for number, (mutant, who) in enumerate(
            zip(todo, pool.imap(verdict, tasks), strict=True), 1
        ):
            noticed[mutant.module][who] += 1
            if who != "docs":
                place = f"{path_of(mutant.module)}:{mutant.line}"
                print(f"{place}: noticed by {who}: {mutant.change}", flush=True)
            print(f"{number}/{len(todo)}", end="\r", file=sys.stderr)
    for name in options.modules:
        print(f"{name}: {figures(noticed[name], options.docs_only)}")
    print(f"all: {figures(sum(noticed.values(), Counter()), options.docs_only)}")
    for mutant in everyone:
        if mutant.name in same:
            print(f"left out: {mutant.name}: {same[mutant.name]}")
    return 0


def equivalent() -> dict[str, str]:
    """Read which changes change nothing, and for what reason."""
    same, reason = {}, ""
    text = (ROOT / "tests" / "equivalent.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif reason and line:
            same[line] = reason
    return same


def figures(noticed: Counter[str], docs_only: bool) -> str:
    """Say how many mutants were noticed, and by whom."""
    count = noticed.total()
    by_docs, by_all = noticed["docs"] / count, 1 - noticed["nobody"] / count
    message = f"{count} mutants: {by_docs:.1%} noticed by the docs alone"
    return message if docs_only else f"{message}, {by_all:.1%} by everything"


if __name__ == "__main__":
    sys.exit(main())
