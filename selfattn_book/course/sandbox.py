"""Run an answer file in a process of its own, with limits of time, memory and output.

This keeps accidents from doing harm: endless loops, floods, crashes, ``sys.exit``. It is no prison.
Code that means harm can read the disk and forge its result; run that of an examination in a container.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any

KEPT = 500  # letters of what an answer prints; the rest is dropped
STARTS_WITHIN = (
    120  # seconds, in which Python has loaded its libraries on a slow machine
)


@dataclass(frozen=True)
class Limits:
    """What an answer may use: seconds for all of it, and bytes of memory beyond those at its start."""

    seconds: float = 60
    memory: int = 2 * 2**30


@dataclass(frozen=True)
class Outcome:
    """What came of an answer file: the results of its exercises, or why there are none."""

    results: list[dict[str, Any]]
    stopped: str = ""
    printed: str = ""


def run(chapter: str, file: Path, limits: Limits = Limits()) -> Outcome:
    """Check an answer file of a chapter.

    Args:
        chapter: the name of a chapter that has exercises in code.
        file: an existing file.
        limits: what it may use.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        arguments = [chapter, str(file.resolve()), str(result), str(limits.memory)]
        process = subprocess.Popen(
            [sys.executable, "-m", "selfattn_book.course.student", *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=os.name == "posix",
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        printed = _Printed(process.stdout)
        late = _wait(process, result.with_suffix(".started"), limits.seconds)
        told = printed.text()
        if late:
            return Outcome(
                [], f"it ran longer than {limits.seconds:g} seconds", told
            )
        return _outcome(process.returncode, result, told)


def _wait(
    process: "subprocess.Popen[bytes]", started: Path, seconds: float
) -> bool:
    """Wait for a process, end it and its children, and tell whether it was late.

    Its time begins when the answer does, and not with the loading of libraries.
    """
    end = time.monotonic() + STARTS_WITHIN
    while (
        process.poll() is None and not started.exists() and time.monotonic() < end
    ):
        time.sleep(0.02)
    try:
        process.wait(seconds)
        late = False
    except subprocess.TimeoutExpired:
        late = True
    if os.name == "posix":
        with suppress(ProcessLookupError):  # nothing of it may be left
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    return late


def _outcome(code: int, result: Path, printed: str) -> Outcome:
    """Read the result, or say how a process ended that left none."""
    with suppress(
        OSError, ValueError, KeyError, TypeError
    ):  # it may have written none
        found = json.loads(result.read_text("utf-8"))
        return Outcome(found["results"], found["stopped"], printed)
    if code < 0:
        return Outcome(
            [], f"it crashed Python ({signal.Signals(-code).name})", printed
        )
    return Outcome(
        [],
        f"it ended the program before it could be asked (exit code {code})",
        printed,
    )


class _Printed:
    """Read all that a process prints, so that it never waits, and keep the beginning."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept = b""
        self._pipe = pipe
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), 65536):
            self._kept += chunk[: max(0, KEPT - len(self._kept))]

    def text(self) -> str:
        """Return the beginning of what was printed."""
        self._reader.join(timeout=1)
        self._pipe.close()
        return self._kept.decode("utf-8", "replace")
