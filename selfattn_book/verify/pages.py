"""Many pages verified in a row, or some of them at a time, each in a process of its own."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path

from tqdm import tqdm

from selfattn_book.draw.style import draw_without_windows
from selfattn_book.experiments.chance import first_seed
from selfattn_book.verify.chapter import Result, verify_chapter

Page = tuple[Path, Iterable[Result]]


@dataclass(frozen=True)
class Setting:
    """On which seeds a page is asked, with how many threads, and with whose rounding."""

    first_seed: int = 0
    threads: int = 1
    disturbed: int | None = None


def one_by_one(pages: list[Path], setting: Setting) -> Iterator[Page]:
    """Give each page with its results, which are made while they are asked for.

    Args:
        pages: the Markdown files, in order.
        setting: how they are asked.
    """
    for page in pages:
        yield page, _verified(page, setting)


def side_by_side(pages: list[Path], setting: Setting, jobs: int) -> Iterator[Page]:
    """Give each page with its results when it is done; those with the longest text begin.

    A page that ends its process has one more result, which says so.

    Args:
        pages: the Markdown files.
        setting: how they are asked.
        jobs: how many run at a time.
    """
    waiting = sorted(pages, key=lambda page: page.stat().st_size)
    context = _context()
    running: dict[Connection, tuple[Path, BaseProcess, float]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                page = waiting.pop()
                pipe, process = _start(context, page, setting)
                running[pipe] = page, process, time.perf_counter()
            ready = wait(list(running))
            for pipe in [pipe for pipe in running if pipe in ready]:
                page, process, start = running.pop(pipe)
                yield page, _results(pipe, page, process, start)
    finally:
        for _, process, _ in running.values():
            process.kill()


def _verified(page: Path, setting: Setting) -> Iterator[Result]:
    draw_without_windows()
    with first_seed(setting.first_seed):
        yield from verify_chapter(
            page, threads=setting.threads, disturbed=setting.disturbed
        )


def _context() -> ForkServerContext | SpawnContext:
    """Return how processes begin: forked from one that has loaded the libraries, where that is known."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _start(
    context: ForkServerContext | SpawnContext, page: Path, setting: Setting
) -> tuple[Connection, BaseProcess]:
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(send, page, setting), daemon=True)
    process.start()
    send.close()  # so that the pipe ends when the process does
    return receive, process


def _work(send: Connection, page: Path, setting: Setting) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this process ends it
    # A progress bar's own lock is one between processes, and outlives a process that is ended.
    tqdm.set_lock(threading.RLock())
    send.send(list(_verified(page, setting)))


def _results(
    pipe: Connection, page: Path, process: BaseProcess, start: float
) -> list[Result]:
    """Return what a process has found, or that it ended before it could tell."""
    try:
        results: list[Result] = pipe.recv()
    except EOFError:
        process.join()
        told = f"the page ended its process, with exit code {process.exitcode}"
        seconds = time.perf_counter() - start
        results = [Result(page.stem, "the page", "exact", False, seconds, told)]
    process.kill()
    process.join()
    return results
