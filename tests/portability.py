"""Run the book's checks and the package's tests in the arithmetic of other machines.

A machine is an arithmetic of PyTorch and one of MKL, a number of threads, or disturbed rounding.
Failures are printed for each machine, then the smallest margin of each check over all machines.

Run as: python tests/portability.py [--quick] [--draws N]. With --quick: the oldest arithmetic and one
draw, on the pages that take seconds and the tests of the taught modules.
As a plugin of pytest, `-p portability`, it disturbs the rounding of each test.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from bookproof.fresh.keys import imports

from selfattn_book.properties.calls import LIBRARIES
from selfattn_book.verify import DisturbedRounding, book_folder, book_pages

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
# PyTorch's kernels and MKL's, from the oldest. Only these pairs: a processor that lacks
# instructions lacks them for both. What MKL lacks it replaces silently, so PyTorch is asked.
ARITHMETIC = {"default": "COMPATIBLE", "avx2": "AVX2", "avx512": "AVX512"}
# A page that trains many models takes more than ten seconds.
TRAINS = re.compile(r"selfattn_book\.experiments\.(many_seeds|fit_\w+)")
NUMBERS = re.compile(r"(selfattn_book|torch)\b")
# What a test of anything else imports: the engine, the pages, the site.
OTHERS = re.compile(r"(benchmarks|bookproof|editions|portability|small_books|tests\.browser)\b")
DRAW = "BOOK_DISTURBED"


@dataclass(frozen=True)
class Machine:
    """An arithmetic, a number of threads, or a draw of disturbed rounding."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    threads: int = 1
    draw: int | None = None


@dataclass
class Answers:
    """The failures on a machine, and the margins of its checks."""

    differs: list[str] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)


def arithmetic() -> dict[str, dict[str, str]]:
    """Return the environment of each arithmetic that this processor has, from the oldest."""
    ask = "import torch; print(torch.backends.cpu.get_cpu_capability())"
    found = {}
    for name, mkl in ARITHMETIC.items():
        variables = {"ATEN_CPU_CAPABILITY": name, "MKL_CBWR": mkl}
        has = subprocess.run(
            [sys.executable, "-c", ask],
            env=os.environ | variables,
            capture_output=True,
            text=True,
            check=True,
        )
        if has.stdout.strip() == name.upper():
            found[name] = variables
    return found


def machines(known: dict[str, dict[str, str]], draws: int, is_quick: bool) -> list[Machine]:
    """Return the machines: every arithmetic, the newest also with two threads, and the draws.

    In a hurry, the oldest arithmetic and the first draw.
    """
    found = [Machine(name, variables) for name, variables in known.items()]
    newest = list(known.values())[-1] if known else {}
    found.append(Machine("two threads", newest, threads=2))
    drawn = [Machine(f"draw {n}", draw=n) for n in range(1, draws + 1)]
    return [found[0], *drawn[:1]] if is_quick else found + drawn


def ask(machine: Machine, pages: list[str], tests: list[str]) -> Answers:
    """Verify the pages and run the tests, side by side, as a machine would."""
    threads, draw = str(machine.threads), str(machine.draw)
    is_drawn = machine.draw is not None
    paths = filter(None, [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH")])
    variables = {"OMP_NUM_THREADS": threads, DRAW: draw, "PYTHONPATH": os.pathsep.join(paths)}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        verify = ["selfattn_book", "verify", *pages, "--threads", threads, "--json", str(report)]
        verify += ["--disturbed", draw] if is_drawn else []
        tested = ["pytest", "-q", "--tb=no", "-rfE", *tests]
        tested += ["-p", "portability"] if is_drawn else []
        both = [
            subprocess.Popen(
                [sys.executable, "-m", *module],
                cwd=ROOT,
                env=os.environ | machine.variables | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for module, asked in ((verify, pages), (tested, tests))
            if asked
        ]
        lines = "".join(process.communicate()[0] for process in both).splitlines()
        answers = of_pages(report) if report.exists() else Answers()
    answers.differs += [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    codes = [process.returncode for process in both]
    if any(codes) and not answers.differs:
        answers.differs.append(f"the processes ended with the codes {codes}")
    return answers


def of_pages(report: Path) -> Answers:
    """Read what verify has found."""
    answers = Answers()
    for result in json.loads(report.read_text("utf-8"))["results"]:
        name = f"{result['chapter']}  {result['check']}"
        if not result["holds"]:
            answers.differs.append(f"{name}  {result['message']}")
        elif result["margin"] is not None:
            answers.margins[name] = result["margin"]
    return answers


def thinnest(answers: dict[str, Answers]) -> list[tuple[float, str, str]]:
    """Return the thinnest margin of each check, and on which machine, the thinnest first."""
    least: dict[str, tuple[float, str]] = {}
    for machine, answer in answers.items():
        for check, margin in answer.margins.items():
            least[check] = min(least.get(check, (2.0, "")), (margin, machine))
    return sorted((margin, check, name) for check, (margin, name) in least.items())


def is_numeric(file: Path) -> bool:
    """Return whether a test computes with the package, by what it and its folder import."""
    files = [f for f in (file, file.with_name("conftest.py")) if f.exists()]
    names = frozenset[str]().union(*(imports(f.read_text("utf-8")) for f in files))
    return any(map(NUMBERS.match, names)) and not any(map(OTHERS.match, names))


def is_taught(file: Path) -> bool:
    """Return whether a test is of a module that the book teaches, or of what it measures there."""
    name = file.stem.removeprefix("test_")
    modules = [module.stem for module in (ROOT / "selfattn_book").glob("[!_]*.py")]
    of_module = any(name == module or name.startswith(f"{module}_") for module in modules)
    return of_module if file.parent == TESTS else file.parent.name in ("measure", "properties")


def pages_and_tests(is_quick: bool) -> tuple[list[str], list[str]]:
    """Return the names of the pages and the paths of the tests to run."""
    pages, tests = book_pages(book_folder()), filter(is_numeric, sorted(TESTS.rglob("test_*.py")))
    if is_quick:
        pages = [page for page in pages if not TRAINS.search(page.read_text("utf-8"))]
        tests = filter(is_taught, tests)
    files = [str(test.relative_to(ROOT)) for test in tests]
    return sorted(page.stem for page in pages), [*files, "selfattn_book"]


def main(arguments: list[str]) -> int:
    """Ask each machine, print what differs and the margins; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="what takes minutes")
    parser.add_argument("--draws", type=int, default=3, help="of disturbed rounding")
    options = parser.parse_args(arguments)
    answers: dict[str, Answers] = {}
    for machine in machines(arithmetic(), options.draws, options.quick):
        start = time.perf_counter()
        answers[machine.name] = ask(machine, *pages_and_tests(options.quick))
        differs = answers[machine.name].differs
        seconds = time.perf_counter() - start
        print(f"{machine.name}: {len(differs)} differ ({seconds:.0f} s)", flush=True)
        for line in differs:
            print(f"  {line}", flush=True)
    print("\nThe margins, the thinnest first")
    for margin, check, name in thinnest(answers):
        print(f"  {margin:<8.2g}  {check}  ({name})")
    return 1 if any(answer.differs for answer in answers.values()) else 0


def pytest_configure() -> None:
    """Count the code that disturbs as a library's, and not as a reader's whose line is named."""
    LIBRARIES.append(ROOT / "_config" / "bookproof")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Disturb the rounding of a test, and of what it is given."""
    with DisturbedRounding(int(os.environ[DRAW])):
        return (yield)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
