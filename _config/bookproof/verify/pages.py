"""Verify pages one by one, or side by side, each in a process of its own."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from tqdm import tqdm

from .chapter import Result, verify_chapter

Page = tuple[Path, Iterable[Result]]


@dataclass(frozen=True)
class Setting:
    """The seeds, threads and rounding with which pages are verified.

    ``seed_hook`` names a context manager, as ``module:name``, that moves all seeds by a number.
    """

    first_seed: int = 0
    threads: int = 1
    disturbed: int | None = None
    seed_hook: str = ""

    def moved_seeds(self) -> AbstractContextManager[None]:
        if not self.seed_hook:
            return nullcontext()
        moved: AbstractContextManager[None] = resolve_name(self.seed_hook)(self.first_seed)
        return moved


def verified(pages: list[Path], setting: Setting, jobs: int) -> Iterator[Page]:
    """Yield each page with its results: as they come, if pages are verified one by one."""
    if jobs > 1:
        return _side_by_side(pages, setting, jobs)
    return ((page, _results(page, setting)) for page in pages)


def _side_by_side(pages: list[Path], setting: Setting, jobs: int) -> Iterator[Page]:
    """Yield each page with its results as it finishes, from ``jobs`` processes, the longest first.

    A page that ends its process has one more result, which reports the exit code.
    """
    waiting = sorted(pages, key=lambda page: page.stat().st_size)
    running: dict[Connection, tuple[Path, BaseProcess, float]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            page = waiting.pop()
            pipe, process = _start(page, setting)
            running[pipe] = page, process, time.perf_counter()
        ready = wait(list(running))
        for pipe in [pipe for pipe in running if pipe in ready]:
            yield _received(pipe, *running.pop(pipe))


def _results(page: Path, setting: Setting) -> Iterator[Result]:
    os.environ["MPLBACKEND"] = "agg"  # figures without windows
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].use("agg")
    with setting.moved_seeds():
        yield from verify_chapter(page, threads=setting.threads, disturbed=setting.disturbed)


def _start(page: Path, setting: Setting) -> tuple[Connection, BaseProcess]:
    """Verify a page in a process, forked from one that has loaded the libraries where that works."""
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
    if forks:
        context.set_forkserver_preload([__name__])
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(send, page, setting), daemon=True)
    process.start()
    send.close()  # so that the pipe ends when the process does
    return receive, process


def _work(send: Connection, page: Path, setting: Setting) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    # The lock of a progress bar is shared by processes, and outlives a killed one.
    tqdm.set_lock(threading.RLock())
    send.send(list(_results(page, setting)))


def _received(pipe: Connection, page: Path, process: BaseProcess, start: float) -> Page:
    """Return a page with the results of its process, or one that reports its early end."""
    try:
        results: list[Result] = pipe.recv()
    except EOFError:
        process.join()
        message = f"the page ended its process, with exit code {process.exitcode}"
        seconds = time.perf_counter() - start
        results = [Result(page.stem, "the page", "exact", False, seconds, message)]
    process.kill()
    process.join()
    return page, results
