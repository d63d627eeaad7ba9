"""Run the cells of chapters, as many chapters at once as there are cores, one thread each."""

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from warm_kernels import CAN_FORK, Server, kernel_manager

CORES = (
    len(os.sched_getaffinity(0))
    if hasattr(os, "sched_getaffinity")
    else os.cpu_count() or 1
)
# One thread, because the order of a sum, and so its last digits, depends on their number;
# one seed for the order of sets; and figures that a forked kernel finds its backend for.
ENVIRONMENT = {
    **dict.fromkeys(
        (
            "OMP_NUM_THREADS",
            "MKL_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS",
        ),
        "1",
    ),
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


@dataclass
class Chapter:
    """A chapter to run: its name in messages, its file, its cells; and what came of it."""

    file: Path
    notebook: NotebookNode
    seconds: float = 0.0  # that the kernel was at work
    failure: str = ""
    cell: int | None = None  # the last that was begun

    @property
    def name(self) -> str:
        """Return the path of the file as one would type it."""
        return os.path.relpath(self.file)


def not_executed(notebook: NotebookNode) -> list[int]:
    """Return the indices of code cells that have not been executed."""
    return [
        index
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == "code"
        and cell.source.strip()
        and not cell.execution_count
    ]


def place(chapter: Chapter, index: int) -> str:
    """Say where a cell stands."""
    line = chapter.notebook.metadata["source_map"][index] + 1
    code = [
        i
        for i, cell in enumerate(chapter.notebook.cells)
        if cell.cell_type == "code"
    ]
    return f"{chapter.name}:{line}: cell {code.index(index) + 1} of {len(code)}"


def explain(chapter: Chapter, error: Exception) -> str:
    """Say which cell failed, and how."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip() or repr(error)
    lines = text.splitlines()
    # A traceback ends with what matters; the other messages begin with it.
    lines = lines[-12:] if isinstance(error, CellExecutionError) else lines[:1]
    where = (
        f"{chapter.name}: the kernel"
        if chapter.cell is None
        else place(chapter, chapter.cell)
    )
    return "\n    ".join([f"{where} failed", *lines])


def take_seconds(cell: NotebookNode) -> float:
    """Return how long the kernel was busy with a cell, and remove the record of it."""
    # The record would be part of the key under which jupyter-cache looks for the results.
    times: dict[str, str] = cell.metadata.pop("execution", {})
    if not {"iopub.status.busy", "shell.execute_reply"} <= times.keys():
        return 0.0
    start, end = (
        datetime.fromisoformat(times[key])
        for key in ("iopub.status.busy", "shell.execute_reply")
    )
    return (end - start).total_seconds()


async def run_chapter(
    chapter: Chapter, timeout: int, folder: Path, server: Server | None
) -> None:
    """Run the cells of one chapter in a kernel of its own; note the failure, if any."""

    def begin(cell: NotebookNode, cell_index: int) -> None:
        chapter.cell = cell_index

    name = chapter.notebook.metadata["kernelspec"]["name"]
    client = NotebookClient(
        chapter.notebook,
        kernel_manager(name, folder, server),
        timeout=timeout,
        resources={"metadata": {"path": str(chapter.file.parent)}},
        shutdown_kernel="immediate",
        on_cell_execute=begin,
    )
    try:
        await client.async_execute(cleanup_kc=True)
    except Exception as error:
        chapter.failure = explain(chapter, error)
    chapter.seconds = sum(take_seconds(cell) for cell in chapter.notebook.cells)
    if not chapter.failure and (left := not_executed(chapter.notebook)):
        chapter.failure = f"{place(chapter, left[0])} was not executed"


class Loop(asyncio.SelectorEventLoop):
    """A loop that keeps Ctrl-C for the whole build; nbclient wants it for each notebook."""

    def add_signal_handler(self, *_: Any) -> None:  # type: ignore[override]
        """Refuse, in the way that nbclient is prepared for."""
        raise RuntimeError("signals are not for single chapters")


def run_chapters(
    chapters: Sequence[Chapter],
    done: Callable[[Chapter], None],
    *,
    timeout: int,
    preload: list[str],
) -> None:
    """Run chapters in parallel, each to its end, whatever becomes of the others.

    Args:
        chapters: to be run.
        done: called with each as soon as it has ended.
        timeout: seconds that a cell may take.
        preload: modules that warm kernels have loaded already; none for cold kernels.
    """

    async def run_all(folder: Path, server: Server | None) -> None:
        free = asyncio.Semaphore(CORES)

        async def one(chapter: Chapter) -> None:
            async with free:
                await run_chapter(chapter, timeout, folder, server)
            done(chapter)

        await asyncio.gather(*map(one, chapters))

    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory(prefix="book") as folder:
        server = Server(preload) if preload and CAN_FORK else None
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(run_all(Path(folder), server))
