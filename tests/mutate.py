"""Mutation testing: change the package in small ways, and report the changes that no test notices.

Doctests and tests are collected and run once, to note how long each takes and which functions of the
package it calls. Then each changed function, a *mutant*, takes the place of its original in a forked
process, which runs the tests that call it until one fails: those of its module first.

Run as: python tests/mutate.py [MODULE ...] [--processes N] [--killed FILE], with modules such as masks,
or folders such as measure; by default, all modules at the top of the package. Only their tests are run.
Mutants in FILE are left out, and those that are killed are added to it.
"""

import argparse
import ast
import gc
import os
import signal
import sys
import time
from collections import Counter, defaultdict, namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import accumulate, chain, zip_longest
from pathlib import Path
from types import CodeType, FunctionType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "selfattn_book"
# Not mutated: drawing, one-off figures, exercises, and the command.
NOT_MUTATED = {"draw", "exercises", "figures", "verify", "__init__", "__main__"}
PATHS = [file.relative_to(PACKAGE).with_suffix("") for file in sorted(PACKAGE.rglob("*.py"))]
MODULES = [".".join(path.parts) for path in PATHS if not NOT_MUTATED & set(path.parts)]
FORKED = "-Wignore:This process:DeprecationWarning"
OPTIONS = ["-qs", "-mnot weekly", "-pno:cacheprovider", "-pno:xdist", FORKED]

# A mutant that takes this many times as long as the package, and this long, is an endless loop.
# Processor time is measured, which does not grow when other programs use the machine.
TIMES, SECONDS = 5, 20
PATIENCE = 900  # wall seconds, for a mutant that waits
BUDGET = 60  # seconds of tests for a mutant, the fastest first
FAILED = 255  # the exit code of a process that fails otherwise than by a test

SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.MatMult: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
UNTOUCHED = {"annotation", "returns", "decorator_list", "msg", "exc"}  # nor texts

Key = tuple[str, int]  # the file and the first line of a function
# The line, a name without it, which lasts as lines move, the function, and the code of the module.
Mutant = namedtuple("Mutant", ["line", "name", "key", "code"])


def path_of(module: str) -> str:
    """Return the path of a module in the package."""
    return f"{module.replace('.', '/')}.py"


@cache
def files_of(module: str) -> list[Path]:
    """Return the file of a module, for its doctests, and the tests named after it or importing it."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    name = f"test_{module.rpartition('.')[2].lstrip('_')}"
    named = [test for test in tests if test.stem.startswith(name)]
    importing = (t for t in tests if f"selfattn_book.{module} import" in t.read_text("utf-8"))
    return [PACKAGE / path_of(module), *(named or importing)]


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the small changes of one node, each with a description."""

    def with_(**new: object) -> ast.AST:
        return type(node)(**{**vars(node), **new})

    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            yield "operator", with_(op=SWAPS[type(op)]())
        case ast.Compare(ops=[op, *others]) if type(op) in SWAPS:
            yield "comparison", with_(ops=[SWAPS[type(op)](), *others])
        case ast.UnaryOp(operand=operand):
            yield "sign or negation dropped", operand
        case ast.Constant(value=bool() as value):
            yield "flipped", ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield "one more", ast.Constant(value + 1)
        case ast.If(body=[ast.Raise()]):  # never is to leave out the error
            yield "always", with_(test=ast.Constant(True))
        case ast.If() | ast.IfExp():
            yield "always", with_(test=ast.Constant(True))
            yield "never", with_(test=ast.Constant(False))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "left out", ast.Pass()


def places(parent: ast.AST) -> Iterator[tuple[Callable[[ast.AST], None], ast.AST]]:
    """Yield every node inside a function that is no text, and what puts another in its place."""
    for name, value in ast.iter_fields(parent):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            is_text = name in UNTOUCHED or isinstance(child, ast.JoinedStr)
            if isinstance(child, ast.AST) and not is_text:
                one, many = partial(setattr, parent, name), partial(list.__setitem__, value, index)
                yield one if index is None else many, child
                yield from places(child)


def mutants(module: str) -> Iterator[Mutant]:
    """Yield every mutant of a module; docstrings, annotations and messages are not changed."""
    path, seen = PACKAGE / path_of(module), Counter[str]()
    lines = path.read_text("utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    inner = [node.body if isinstance(node, ast.ClassDef) else [node] for node in tree.body]
    for function in chain(*inner):
        if not isinstance(function, ast.FunctionDef) or function.name == "extra_repr":
            continue
        key = str(path), min(node.lineno for node in (function, *function.decorator_list))
        for put, node in places(function):
            for change, new in changes(node):
                put(ast.copy_location(new, node))
                code = compile(ast.fix_missing_locations(tree), path, "exec")
                put(node)
                before, text = ast.unparse(node).split("\n")[0], lines[node.lineno - 1].strip()
                name = f"{module}: {change}: {before}, in: {text}"
                seen[name] += 1
                count = f" ({seen[name]})" if seen[name] > 1 else ""
                yield Mutant(node.lineno, name + count, key, code)


def key_of(code: CodeType) -> Key:
    return code.co_filename, code.co_firstlineno


def loaded() -> dict[Key, list[FunctionType]]:
    """Return the functions of the package that are in memory and not frozen."""
    found = defaultdict(list)
    for value in gc.get_objects():
        if type(value) is FunctionType and value.__code__.co_filename.startswith(str(PACKAGE)):
            found[key_of(value.__code__)].append(value)
    return found


def replace(originals: list[FunctionType], mutant: Mutant) -> None:
    """Give a function the code and defaults of its mutant, wherever it was imported."""
    exec(mutant.code, {"__name__": originals[0].__module__, "__file__": mutant.key[0]})
    (new,) = loaded()[mutant.key]
    for old in originals:
        old.__code__ = new.__code__
        for name in ("__defaults__", "__kwdefaults__"):
            if repr(getattr(old, name)) != repr(getattr(new, name)):
                setattr(old, name, getattr(new, name))


def in_process(work: Callable[[], int]) -> int:
    """Return the exit code of work, done in a forked process that prints nothing."""
    if (process := os.fork()) == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            os._exit(work())
        finally:
            os._exit(FAILED)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def passes(item: pytest.Item, following: pytest.Item | None = None) -> bool:
    """Run a test, and return whether it passes; fixtures that the following one needs are kept."""
    doctest = getattr(item, "dtest", None)
    names = doctest and doctest.globs.copy()  # a doctest clears them when it ends
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    if doctest:
        doctest.globs = names
    return not item.session.testsfailed


class Mutation:
    """A plugin that runs the tests collected on each mutant, in place of running them once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.seconds, self.callers, self.kills = {}, defaultdict(list), Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:
            self.survey(item)
        print()  # after the line of dots
        gc.collect()
        gc.unfreeze()
        self.originals = loaded()
        gc.freeze()  # forked processes then share this memory
        for module in self.options.modules:
            self.report(module)
        return True

    def survey(self, item: pytest.Item) -> None:
        """Run a test on the package itself, and note its time and what it calls."""
        calls, start = set(), time.process_time()
        sys.settrace(lambda frame, *_: calls.add(key_of(frame.f_code)))
        if not passes(item):
            raise RuntimeError(f"every test must pass on the unchanged package; got {item.nodeid}")
        sys.settrace(None)
        self.seconds[item] = time.process_time() - start
        for key in calls:
            self.callers[key].append(item)

    def survives(self, module: str, mutant: Mutant) -> bool:
        """Run the tests that call a function on its mutant; return whether all pass."""

        def cost(item: pytest.Item) -> float:
            likely = 10 * (item.path in files_of(module)) + self.kills[item]
            return self.seconds[item] / (1 + likely)

        suite = sorted(self.callers[mutant.key], key=cost)
        until = accumulate(map(self.seconds.get, suite))
        suite = [item for item, seconds in zip(suite, until, strict=True) if seconds < BUDGET]
        failed = in_process(partial(self.first_failure, mutant, suite))
        if 0 < failed < FAILED:
            self.kills[suite[failed - 1]] += 1
        return failed == 0

    def first_failure(self, mutant: Mutant, suite: list[pytest.Item]) -> int:
        """Run tests on a mutant until one fails; return its number, from 1, or 0."""
        signal.setitimer(signal.ITIMER_PROF, TIMES * sum(map(self.seconds.get, suite)) + SECONDS)
        signal.alarm(PATIENCE)
        replace(self.originals[mutant.key], mutant)
        for number, (item, following) in enumerate(zip_longest(suite, suite[1:]), 1):
            if not passes(item, following):
                return min(number, FAILED)
        return 0

    def report(self, module: str) -> None:
        """Run the mutants of a module; print those that survive, and the number of the killed."""
        every, known = list(mutants(module)), self.options.known
        for name in sorted(known.difference(mutant.name for mutant in every)):
            if name.startswith(f"{module}: "):
                print(f"no longer a mutant: {name}")
        todo = [mutant for mutant in every if mutant.name not in known]
        survives, killed, path = partial(self.survives, module), 0, PACKAGE / path_of(module)
        same = compile(path.read_text("utf-8"), path, "exec")
        if todo and not survives(todo[-1]._replace(code=same)):
            raise RuntimeError(
                f"tests must pass on a function replaced by itself; got {todo[-1].name}"
            )
        with ThreadPoolExecutor(self.options.processes) as pool:
            for mutant, lives in zip(todo, pool.map(survives, todo), strict=True):
                killed += not lives
                if lives:
                    print(f"{path_of(module)}:{mutant.line}: survives: {mutant.name}", flush=True)
                elif self.options.killed:
                    with self.options.killed.open("a", encoding="utf-8") as file:
                        print(mutant.name, file=file)
        print(f"{module}: {killed} of {len(todo)} mutants killed", flush=True)


def main() -> int:
    """Run the mutants of all modules, and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=[name for name in MODULES if "." not in name])
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--killed", type=Path)
    options = parser.parse_args()
    left_out = [ROOT / "tests" / "equivalent.txt", options.killed]
    texts = [file.read_text("utf-8") for file in left_out if file and file.exists()]
    options.known = {line for text in texts for line in text.splitlines()}
    if unknown := {*options.modules} - {*MODULES} - {name.partition(".")[0] for name in MODULES}:
        parser.error(f"a module must be one of {', '.join(MODULES)}; got {', '.join(unknown)}")
    asked = {*options.modules}
    options.modules = [name for name in MODULES if {name, name.partition(".")[0]} & asked]
    files = dict.fromkeys(str(file) for name in options.modules for file in files_of(name))
    return pytest.main([*OPTIONS, *files], plugins=[Mutation(options)])


if __name__ == "__main__":
    sys.exit(main())
