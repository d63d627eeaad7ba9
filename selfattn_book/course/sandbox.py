"""Run an answer file in a process of its own, with limits of time, memory and output.

This keeps accidents from doing harm: endless loops, floods, crashes, ``sys.exit``. A graded answer is
also confined: it can open no files but its own, start no programs, write no result of its own, and is
found out if it exchanges a function that the checks rely on. It is no prison. Who knows Python well
enough to search the memory of its own process can still read the checks and forge a result; run an
examination in a container without a network, and look at a few of the best answers yourself.
"""

import json
import os
import secrets
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

from selfattn_book.course import warm

KEPT = 500  # letters of what an answer prints; the rest is dropped
STARTS_WITHIN = (
    120  # seconds, in which Python has loaded its libraries on a slow machine
)
# What an answer learns of the machine: no passwords or tokens that may stand in the environment.
KNOWN = (
    *("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONUTF8", "ATEN_CPU_CAPABILITY"),
)


@dataclass(frozen=True)
class Limits:
    """What an answer may use: seconds for all of it, and bytes of memory beyond those at its start."""

    seconds: float = 60
    memory: int = 2 * 2**30


@dataclass(frozen=True)
class Outcome:
    """What came of an answer file: the results of its exercises, or why there are none.

    Args:
        results: of each exercise, as :mod:`~selfattn_book.course.student` writes them.
        stopped: why there are none.
        printed: the beginning of what the answer printed.
        student: the id that the answer gives itself, if any.
    """

    results: list[dict[str, Any]]
    stopped: str = ""
    printed: str = ""
    student: str = ""


def run(chapter: str, file: Path, limits: Limits = Limits()) -> Outcome:
    """Check an answer file of a chapter.

    Args:
        chapter: the name of a chapter that has exercises in code.
        file: an existing file, or a notebook.
        limits: what it may use.
    """
    return _run({"chapter": chapter, "checks": "", "numbers": {}}, file, limits)


def grade(
    checks: Path, numbers: dict[str, Any], file: Path, limits: Limits = Limits()
) -> Outcome:
    """Check an answer to exercises for credit, confined.

    Args:
        checks: a file with ``exercises(numbers)``.
        numbers: those of the student.
        file: an existing file, or a notebook, in a folder that its author may read.
        limits: what it may use.
    """
    what = {"chapter": "", "checks": str(checks.resolve()), "numbers": numbers}
    return _run(what | {"confined": True}, file, limits)


def _run(what: dict[str, Any], file: Path, limits: Limits) -> Outcome:
    """Run an answer in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        result, seal = Path(folder, "result.json"), secrets.token_hex()
        own = {"file": str(file.resolve()), "result": str(result), "seal": seal}
        job = {"confined": False, "memory": limits.memory, **own, **what}
        process = _start(folder, job)
        assert process.stdout is not None
        printed = _Printed(process.stdout)
        late = _wait(process, result.with_suffix(".started"), limits.seconds)
        told = printed.text()
        if late:
            return Outcome(
                [], f"it ran longer than {limits.seconds:g} seconds", told
            )
        return _outcome(process.wait(), result, seal, told)


def _start(
    folder: str, job: dict[str, Any]
) -> "subprocess.Popen[bytes] | warm.Fork":
    """Start an answer in a folder, in a process that knows no more than it needs."""
    known = {name: os.environ[name] for name in KNOWN if name in os.environ}
    paths = os.pathsep.join(sys.path)
    environment = known | {"OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    if warm.CAN_FORK:
        return warm.start(folder, job, environment)
    process = subprocess.Popen(
        [sys.executable, "-m", "selfattn_book.course.student"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=os.name == "posix",
        env=environment,
    )
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as pipe:
        pipe.write(json.dumps(job).encode())
    return process


def _wait(
    process: "subprocess.Popen[bytes] | warm.Fork", started: Path, seconds: float
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


def _outcome(code: int, result: Path, seal: str, printed: str) -> Outcome:
    """Read the result, or say how a process ended that left none."""
    with suppress(
        OSError, ValueError, KeyError, TypeError, AttributeError
    ):  # it may have written none
        found = json.loads(result.read_text("utf-8"))
        if found.get("seal") != seal:
            return Outcome([], "it wrote a result of its own", printed)
        return Outcome(
            found["results"], found["stopped"], printed, found["student"]
        )
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
