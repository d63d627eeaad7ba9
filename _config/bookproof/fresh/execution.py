"""Run the cells of chapters, as many chapters at once as there are cores, one thread each."""

import ast
import asyncio
import atexit
import os
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from ..verify.recorder import VACUOUS
from ..verify.transform import NAME
from .parts import ENVIRONMENT
from .warm_kernels import CAN_FORK, Server, kernel_manager

AFFINITY = getattr(os, "sched_getaffinity", None)  # not on every platform
CORES = len(AFFINITY(0)) if AFFINITY else os.cpu_count() or 1

ENGINE = Path(__file__).parents[1]
# An expression, so that no name is left in the kernel.
RECORD = """exec('''
import sys
sys.path.insert(0, {0!r})
from bookproof.verify.recorder import install
del sys.path[0]
install(get_ipython(), {1!r})
''', dict(get_ipython=get_ipython))"""


def not_executed(notebook: NotebookNode) -> list[int]:
    """Return the indices of the code cells that have not been executed."""
    codes = ((i, c) for i, c in enumerate(notebook.cells) if c.cell_type == "code")
    return [index for index, cell in codes if cell.source.strip() and not cell.execution_count]


@dataclass
class Chapter:
    """A chapter that has to run, and what came of it."""

    file: Path
    notebook: NotebookNode
    unchanged: Callable[[], bool]  # tells whether its results would still be fresh
    unseen: Callable[[str], bool]  # tells whether its key should know of a file, and does not
    libraries: Sequence[str] = ()  # whose assertion functions are recorded
    seconds: float = 0.0  # that the kernel was busy
    failure: str = ""

    def __str__(self) -> str:
        return os.path.relpath(self.file)

    async def run(
        self, timeout: int, folder: Path, server: Server | None, free: asyncio.Semaphore
    ) -> None:
        """Run the cells in a kernel of their own; note the failure, if there is one."""
        begun, loaded, vacuous = -1, list[str](), list[str]()

        def begin(cell: NotebookNode, cell_index: int) -> None:
            nonlocal begun
            begun = cell_index

        async def end(cell: NotebookNode, execute_reply: Any, **_: Any) -> None:
            good = execute_reply["content"]["status"] == "ok"
            if good and "check" in cell.metadata:
                why = await ask(client.kc, f"{NAME}.verdict()", timeout)
                vacuous.extend([f"{self.place(begun)}: {VACUOUS}; {why}"] if why else [])
            if good and cell is self.last_cell():
                loaded.extend(await loaded_files(client.kc, timeout))

        try:
            client = NotebookClient(
                self.notebook,
                kernel_manager(self.notebook.metadata["kernelspec"]["name"], folder, server),
                timeout=timeout,
                resources={"metadata": {"path": str(self.file.parent)}},
                shutdown_kernel="immediate",
                # Whatever its tags say, a cell that fails fails the build. And a file that
                # happens to lie beside the page is no module.
                force_raise_errors=True,
                extra_arguments=["--InteractiveShellApp.ignore_cwd=True"],
                # A kernel that is kept waiting sends a printed line in pieces.
                coalesce_streams=True,
                on_cell_execute=begin,
                on_cell_executed=end,
            )
            try:
                # A kernel that starts or ends mostly waits, which takes no core from cells.
                async with client.async_setup_kernel(cleanup_kc=True), free:
                    await ask(client.kc, RECORD.format(str(ENGINE.parent), self.libraries), timeout)
                    await client.async_execute(cleanup_kc=False)
            finally:
                # After Ctrl-C, nbclient would clean up a second time, and stumble.
                atexit.unregister(client._cleanup_kernel)
        except Exception as error:
            self.failure = f"{self.place(begun)} failed{reason(error)}"
        self.times = [take_seconds(cell) for cell in self.notebook.cells]
        self.seconds = sum(self.times)
        self.failure = self.failure or "\n".join(vacuous) or self.trouble(loaded)

    def last_cell(self) -> NotebookNode:
        cells = self.notebook.cells
        return next(c for c in reversed(cells) if c.cell_type == "code" and c.source.strip())

    def trouble(self, loaded: list[str]) -> str:
        """Say why results are not to be kept though nothing failed; nothing, if they are."""
        if left := not_executed(self.notebook):
            return f"{self.place(left[0])} was not executed"
        if unseen := list(filter(self.unseen, loaded)):
            rule = "must be imported by an import statement that its cells reach"
            return f"{self}: {os.path.relpath(unseen[0])} {rule}; it was loaded otherwise"
        changed = f"{self} or what it reaches was changed while it ran"
        return "" if self.unchanged() else changed

    def place(self, index: int) -> str:
        if index < 0:
            return f"{self}: the kernel"
        line = self.notebook.metadata["source_map"][index] + 1
        code = [cell.cell_type == "code" for cell in self.notebook.cells]
        return f"{self}:{line}: cell {sum(code[: index + 1])} of {sum(code)}"


async def loaded_files(kernel: Any, timeout: int) -> list[str]:
    """Return the files of all modules that a kernel has loaded."""
    modules = "list(__import__('sys').modules.values())"
    files = f"[getattr(module, '__dict__', {{}}).get('__file__') or '' for module in {modules}]"
    return (await ask(kernel, f"'\\n'.join({files})", timeout)).splitlines()


async def ask(kernel: Any, expression: str, timeout: int) -> str:
    """Return the text that an expression gives in a kernel, without a trace in its session."""
    reply = await kernel.execute_interactive(
        "",
        silent=True,
        store_history=False,
        user_expressions={"text": expression},
        output_hook=lambda message: None,
        timeout=timeout,  # a cell may have ended the kernel
    )
    answer = reply["content"]["user_expressions"]["text"]
    if answer["status"] != "ok":
        raise RuntimeError(f"{answer['ename']}: {answer['evalue']}")
    return str(ast.literal_eval(answer["data"]["text/plain"]) or "")


def reason(error: Exception) -> str:
    """Return what matters of an error: the end of a traceback, or the first line."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error) or repr(error)).splitlines()
    lines = lines[-12:] if isinstance(error, CellExecutionError) else lines[:1]
    return "".join(f"\n    {line}".rstrip() for line in lines if line)


def take_seconds(cell: NotebookNode) -> float:
    """Return how long the kernel was busy with a cell, and remove the record of it."""
    # It would be part of the key under which the results are kept.
    record: dict[str, str] = cell.metadata.pop("execution", {})
    times = [record.get(key) for key in ("iopub.status.busy", "shell.execute_reply")]
    start, end = (datetime.fromisoformat(time) if time else None for time in times)
    return (end - start).total_seconds() if start and end else 0.0


class Loop(asyncio.SelectorEventLoop):
    """A loop that keeps Ctrl-C for the whole build; nbclient wants it for each notebook."""

    def add_signal_handler(self, *_: Any) -> None:  # type: ignore[override]
        """Refuse, in the way that nbclient is prepared for."""
        raise RuntimeError("a signal is not for a single chapter")


def run_chapters(
    chapters: Sequence[Chapter],
    done: Callable[[Chapter], None],
    *,
    timeout: int,
    preload: list[str] | None,
) -> None:
    """Run chapters in parallel, each to its end, whatever becomes of the others.

    Args:
        chapters: to be run.
        done: called with each as soon as it has ended.
        timeout: seconds that a cell may take.
        preload: libraries that warm kernels have loaded already; nothing for cold kernels.
    """

    async def run_all(folder: Path, server: Server | None) -> None:
        begun, free = asyncio.Semaphore(CORES + 1), asyncio.Semaphore(CORES)

        async def run_one(chapter: Chapter) -> None:
            async with begun:
                await chapter.run(timeout, folder, server, free)
            done(chapter)

        # What takes long is not left for the end, when other cores are idle.
        longest = sorted(chapters, key=lambda chapter: -chapter.file.stat().st_size)
        await asyncio.gather(*map(run_one, longest))

    os.environ.update(ENVIRONMENT)
    with (
        Server(preload) if preload is not None and CAN_FORK else nullcontext() as server,
        TemporaryDirectory(prefix="book") as folder,
        asyncio.Runner(loop_factory=Loop) as runner,
    ):
        os.environ["IPYTHONDIR"] = folder  # without a user's start-up files
        runner.run(run_all(Path(folder), server))
