"""The command ``python -m bookproof verify``: its options and its report.

A line is printed as soon as its check has run; after an interruption, the results so far are kept.
"""

import argparse
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from . import reseeded
from .cells import book_pages, read_cells
from .chapter import Result
from .pages import Setting, verified

# Least value, largest value, default and help text of each number.
_NUMBERS: dict[str, tuple[int, int, int | None, str]] = {
    # PyTorch's generator reads 32 bits of a seed, and the pages add to this one.
    "--first-seed": (0, 2**31, 0, "move every seed of the book by N"),
    "--disturbed": (0, 2**31, None, "round as another machine might, the N-th"),
    "--threads": (1, 1024, 1, "how many threads a page may use"),
    "--jobs": (1, 1024, 1, "how many pages run at a time"),
}
_FILES = {
    "--json": "also write the results here",
    "--record": "write to this file which checks hold at this --first-seed",
    "--not-in": "leave out the pages that this record already has for this --first-seed",
}
LIBRARIES = ("torch", "numpy", "matplotlib")
INTERRUPTED, BROKEN_PIPE = 130, 141  # as a shell reports the two signals


def main(
    arguments: list[str] | None = None,
    folder: Path = Path("docs"),
    seed_hook: str = "",
    program: str = "python -m bookproof verify",
) -> int:
    """Verify pages, print the results, and return 0 if all hold, 1 if one differs.

    After Ctrl-C the exit code is 130; after a broken pipe, 141.

    Args:
        arguments: words of the command line; those of this process when left out.
        folder: folder of the pages, unless ``--docs`` names another one.
        seed_hook: context manager that moves all seeds by a number, as ``module:name``.
        program: name of the command in its help.
    """
    if not __debug__:
        sys.exit("verify must run with assertions; Python's -O has removed them")
    options = _options(arguments, program, docs=folder, seed_hook=seed_hook)
    report = Report(options)
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
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.pages = options, _chosen(options)
        setting = options.first_seed, options.threads, options.disturbed, options.seed_hook
        self.setting = Setting(*setting)
        self.results: list[Result] = []
        self.finished = 0

    def run(self) -> int:
        """Verify the pages, and return the exit code."""
        for page, results in verified(self.pages, self.setting, self.options.jobs):
            print(f"\n[{self.finished + 1}/{len(self.pages)}] {page.stem}", flush=True)
            width, before = max(map(len, _checks(page)), default=0), len(self.results)
            for result in results:
                self.results.append(result)
                print(_line(result, width), flush=True)
            of_page = self.results[before:]
            if not of_page:
                print("  This page has no checks.", flush=True)
            self.finished += 1
            if self.options.record:
                held = [result.check for result in of_page if result.holds]
                reseeded.record(self.options.record, page, self.setting.first_seed, held)
        return 0 if all(result.holds for result in self.results) else 1

    def end(self, *, cut_short: bool) -> None:
        """Print the counts, and write the report."""
        if self.options.json:
            self.write_json(self.options.json)
        if self.options.margins:
            known = [(r.margin, r.chapter, r.check) for r in self.results if r.margin is not None]
            print("\nThe margins, the thinnest first")
            print(*(f"  {m:<8.2g}  {page}  {check}" for m, page, check in sorted(known)), sep="\n")
        if cut_short:
            print(f"\nInterrupted after {self.finished} of {len(self.pages)} pages.")
        count, wrong = len(self.results), sum(not result.holds for result in self.results)
        checks = "1 check" if count == 1 else f"{count} checks"
        print(f"\n{checks}: {count - wrong} hold, {wrong} differ.")

    def write_json(self, file: Path) -> None:
        """Write the results with the versions and the setting."""
        setting = asdict(self.setting)
        del setting["seed_hook"]
        libraries = {name: version(name) for name in LIBRARIES if find_spec(name)}
        data = {
            "versions": {"python": platform.python_version(), **libraries},
            "arithmetic": torch.backends.cpu.get_cpu_capability(),
            "setting": setting,
            "pages": {"finished": self.finished, "asked": len(self.pages)},
            "results": [asdict(result) for result in self.results],
        }
        reseeded.write_json(file, data)


def _line(result: Result, width: int) -> str:
    verdict = "holds" if result.holds else "DIFFERS"
    margin = "" if result.margin is None else f"margin {result.margin:.2g}"
    line = f"  {result.check:{width}}  {verdict:7}  {result.seconds:6.2f} s  by {result.by:8}"
    return f"{line}  {margin:14}  {result.message}".rstrip()


def _checks(page: Path) -> list[str]:
    cells = read_cells(page.read_text("utf-8"))
    return [cell.options["check"] for cell in cells if "check" in cell.options]


def _options(arguments: list[str] | None, program: str, **preset: Any) -> argparse.Namespace:
    about = "Run the checks of every equation and claim of the book on this machine."
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.set_defaults(**preset)
    parser.add_argument("chapter", nargs="*", help="a chapter's name; all when left out")
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="the folder of the pages")
    about = "moves all seeds of the pages by a number: a context manager, as module:name"
    parser.add_argument("--seed-hook", metavar="NAME", help=about)
    for name, (least, most, usual, about) in _NUMBERS.items():
        kind = _whole(least, most)
        parser.add_argument(name, type=kind, default=usual, metavar="N", help=about)
    about = "also print what each check has left of its tolerance, the thinnest first"
    parser.add_argument("--margins", action="store_true", help=about)
    for name, about in _FILES.items():
        parser.add_argument(name, type=Path, metavar="FILE", help=about)
    options = parser.parse_args(arguments)
    for file in filter(None, (options.json, options.record)):
        if not file.absolute().parent.is_dir():
            parser.error(f"there is no folder {file.absolute().parent}")
    for record in filter(None, (options.record, options.not_in)):
        if options.first_seed == 0:
            parser.error("a record is of moved seeds; give a --first-seed")
        try:
            reseeded.read(record)
        except ValueError as error:
            parser.error(str(error))
    return options


def _whole(least: int, most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers on the command line."""

    def read(text: str) -> int:
        if not text.strip().isdecimal() or not least <= int(text) <= most:
            rule = f"must be a whole number from {least} to {most}"
            raise argparse.ArgumentTypeError(f"{rule}; got {text!r}")
        return int(text)

    return read


def _chosen(options: argparse.Namespace) -> list[Path]:
    """Return the named pages, or all, without those whose checks are on record with these seeds."""
    pages = {page.stem: page for page in book_pages(options.docs)}
    if unknown := [name for name in options.chapter if name not in pages]:
        sys.exit(f"there is no chapter {', '.join(unknown)}; there are {', '.join(pages)}")
    chosen = [pages[name] for name in options.chapter or pages]
    if not options.not_in:
        return chosen
    known, seed = reseeded.read(options.not_in), options.first_seed
    left = [page for page in chosen if _checks(page) and not reseeded.holds(known, page, seed)]
    print(f"On record, or without checks: {len(chosen) - len(left)} of {len(chosen)}.")
    return left
