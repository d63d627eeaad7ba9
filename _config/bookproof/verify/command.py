"""The command ``python -m bookproof verify``: its options and its report.

A line is printed as soon as its check has run; after an interruption, the results so far are kept.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from bookproof.verify.cells import book_pages, read_cells
from bookproof.verify.chapter import Result
from bookproof.verify.pages import Page, Setting, one_by_one, side_by_side

from . import reseeded

# Least value, largest value, default and help text of each number.
_NUMBERS: dict[str, tuple[int, int, int | None, str]] = {
    # PyTorch's generator reads 32 bits of a seed, and the pages add to this one.
    "--first-seed": (0, 2**31, 0, "move every seed of the book by N"),
    "--disturbed": (0, 2**31, None, "round as another machine might, the N-th"),
    "--threads": (1, 1024, 1, "how many threads a page may use"),
    "--jobs": (1, 1024, 1, "how many pages run at a time"),
}
_MARGINS = "also print what each check has left of its tolerance, the thinnest first"
_FILES = {
    "--json": "also write the results here",
    "--record": "note here which checks held with the seeds moved by --first-seed",
    "--not-in": "leave out the pages of which this record knows that",
}
LIBRARIES = ("torch", "numpy", "matplotlib")
INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell reports the two signals


@dataclass(frozen=True)
class Book:
    """The book to verify.

    Args:
        folder: folder of its pages.
        seed_hook: context manager that moves all seeds by a number, as ``module:name``.
        program: name of the command in its help.
    """

    folder: Path
    seed_hook: str = ""
    program: str = "python -m bookproof verify"


def main(arguments: list[str]) -> int:
    """Verify the pages of the book in a folder, ``docs`` unless ``--docs`` names another one."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--seed-hook", default="")
    found, rest = parser.parse_known_args(arguments)
    return run(rest, Book(found.docs, found.seed_hook))


def run(arguments: list[str], book: Book) -> int:
    """Verify pages, print the results, and return 0 if all hold, 1 if one differs.

    After Ctrl-C the exit code is 130; after a broken pipe, 141.
    """
    if not __debug__:
        sys.exit("verify must run with assertions; Python's -O has removed them")
    options = _options(arguments, book)
    report = Report(options, _not_recorded(options, _chosen(options.chapter, book.folder)), book)
    try:
        code = report.run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = BROKEN_PIPE
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    report.end(cut_short=code == INTERRUPTED)
    return code


class Report:
    """The results so far, printed as they come.

    Args:
        options: options of the command line.
        pages: pages to verify, in order.
        book: book of the pages.
    """

    def __init__(self, options: argparse.Namespace, pages: list[Path], book: Book) -> None:
        self.options, self.pages, self.book = options, pages, book
        self.results: list[Result] = []
        self.finished = 0

    def run(self) -> int:
        """Verify the pages, and return the exit code."""
        for page, results in self._verified():
            print(f"\n[{self.finished + 1}/{len(self.pages)}] {page.stem}", flush=True)
            width = max(map(len, _checks(page)), default=0)
            of_page = []
            for result in results:
                self.results.append(result)
                of_page.append(result)
                print(_line(result, width), flush=True)
            if not of_page:
                print("  This page has no checks.", flush=True)
            self.finished += 1
            self._record(page, of_page)
        return 0 if all(result.holds for result in self.results) else 1

    def end(self, *, cut_short: bool) -> None:
        """Print the counts, and write the report."""
        if self.options.json:
            reseeded.write_json(self.options.json, self.as_data())
        if self.options.margins:
            print(_thinnest_first(self.results))
        wrong = sum(not result.holds for result in self.results)
        holding = len(self.results) - wrong
        if cut_short:
            print(f"\nInterrupted after {self.finished} of {len(self.pages)} pages.")
        print(f"\n{len(self.results)} checks: {holding} hold, {wrong} differ.")

    def as_data(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        setting = asdict(self._setting())
        del setting["seed_hook"]
        libraries = {name: version(name) for name in LIBRARIES if find_spec(name)}
        return {
            "versions": {"python": platform.python_version(), **libraries},
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
            "setting": setting,
            "pages": {"finished": self.finished, "asked": len(self.pages)},
            "results": [asdict(result) for result in self.results],
        }

    def _setting(self) -> Setting:
        options = self.options
        hook = self.book.seed_hook
        return Setting(options.first_seed, options.threads, options.disturbed, hook)

    def _verified(self) -> Iterator[Page]:
        if self.options.jobs == 1:
            return one_by_one(self.pages, self._setting())
        return side_by_side(self.pages, self._setting(), self.options.jobs)

    def _record(self, page: Path, results: list[Result]) -> None:
        if self.options.record:
            held = [result.check for result in results if result.holds]
            reseeded.record(self.options.record, page, self.options.first_seed, held)


def _line(result: Result, width: int) -> str:
    verdict = "holds" if result.holds else "DIFFERS"
    margin = "" if result.margin is None else f"margin {result.margin:.2g}"
    line = f"  {result.check:{width}}  {verdict:7}  {result.seconds:6.2f} s  by {result.by:8}"
    return f"{line}  {margin:14}  {result.message}".rstrip()


def _thinnest_first(results: list[Result]) -> str:
    known = [(r.margin, f"{r.chapter}  {r.check}") for r in results if r.margin is not None]
    lines = [f"  {margin:<8.2g}  {name}" for margin, name in sorted(known)]
    return "\n".join(["\nThe margins, the thinnest first", *lines])


def _checks(page: Path) -> list[str]:
    cells = read_cells(page.read_text("utf-8"))
    return [cell.options["check"] for cell in cells if "check" in cell.options]


def _options(arguments: list[str], book: Book) -> argparse.Namespace:
    parser = _parser(book.program)
    options = parser.parse_args(arguments)
    for name in ("json", "record"):
        file = getattr(options, name)
        if file and not file.absolute().parent.is_dir():
            parser.error(f"--{name}: there is no folder {file.absolute().parent}")
    for name in ("record", "not_in"):
        if wrong := _wrong_with(getattr(options, name), options.first_seed):
            parser.error(f"--{name.replace('_', '-')}: {wrong}")
    return options


def _wrong_with(record: Path | None, first_seed: int) -> str:
    """Return the fault of a record, or an empty string."""
    if record and first_seed == 0:
        return "a record is of moved seeds; give a --first-seed"
    try:
        if record:
            reseeded.read(record)
    except ValueError as error:
        return str(error)
    return ""


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Run the checks of every equation and claim of the book on this machine.",
    )
    parser.add_argument("chapter", nargs="*", help="a chapter's name; all when left out")
    for name, (least, most, usual, about) in _NUMBERS.items():
        kind = _whole(least, most)
        parser.add_argument(name, type=kind, default=usual, metavar="N", help=about)
    parser.add_argument("--margins", action="store_true", help=_MARGINS)
    for name, about in _FILES.items():
        parser.add_argument(name, type=Path, metavar="FILE", help=about)
    return parser


def _whole(least: int, most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers on the command line."""

    def read(text: str) -> int:
        if not text.strip().isdecimal() or not least <= int(text) <= most:
            rule = f"must be a whole number from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{rule}; got {text!r}")
        return int(text)

    return read


def _not_recorded(options: argparse.Namespace, pages: list[Path]) -> list[Path]:
    """Leave out the pages whose checks are on record with these seeds, and print their number."""
    if not options.not_in:
        return pages
    record, first = reseeded.read(options.not_in), options.first_seed
    left = [page for page in pages if _checks(page) and not reseeded.holds(record, page, first)]
    print(f"On record, or without checks: {len(pages) - len(left)} of {len(pages)}.")
    return left


def _chosen(names: list[str], folder: Path) -> list[Path]:
    pages = {page.stem: page for page in book_pages(folder)}
    unknown = [name for name in names if name not in pages]
    if unknown:
        sys.exit(f"there is no chapter {', '.join(unknown)}; there are {', '.join(pages)}")
    return [pages[name] for name in names or pages]
