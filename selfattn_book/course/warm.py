"""Processes for answers, forked from one that has loaded the libraries, so that a class loads them once.

Run as a program, this file is that one. For each answer it forks a keeper, which forks the answer and
tells how it ended. The rest is how the sandbox talks to it.
"""

import atexit
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from threading import Lock
from typing import IO, Any

# Apple's own libraries do not survive a fork.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
LARGEST = 2**20  # bytes of a message
HEAVY = "selfattn_book.course.student"  # what is loaded once, and not by who grades


class Fork:
    """What the sandbox asks of its ``Popen``, for a process that is somebody else's child."""

    returncode: int | None = None

    def __init__(self, keeper: socket.socket, stdout: IO[bytes]) -> None:
        self.stdout = stdout
        self._keeper = keeper
        if not (told := keeper.recv(LARGEST)):
            raise RuntimeError("the process that answers are forked from has ended")
        self.pid = int(told)

    def wait(self, timeout: float | None = None) -> int:
        """Return how the process ended, or raise ``TimeoutExpired``."""
        if self.returncode is None:
            self._keeper.settimeout(timeout)
            try:
                told = self._keeper.recv(LARGEST)
            except (BlockingIOError, TimeoutError):
                raise subprocess.TimeoutExpired("answer", timeout or 0) from None
            self._keeper.close()
            # Nothing is told by a keeper that an answer has killed.
            self.returncode = int(told or -signal.SIGKILL)
        return self.returncode

    def poll(self) -> int | None:
        """Return how the process ended, or ``None`` while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def kill(self) -> None:
        """End the process."""
        if self.poll() is None:  # else its number may be another's by now
            with suppress(ProcessLookupError):  # it ends at this very moment
                os.kill(self.pid, signal.SIGKILL)


class Server(subprocess.Popen[bytes]):
    """The process that answers are forked from; it ends with the sandbox's own."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self._door, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        with theirs:
            door = theirs.fileno()
            super().__init__(
                [sys.executable, "-P", "-m", __name__, str(door)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[door],
                start_new_session=True,  # Ctrl-C is for who grades
                env=environment,
            )
        atexit.register(self.close)

    def fork(self, folder: str, job: dict[str, Any]) -> Fork:
        """Start an answer in a folder; what it prints can be read."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        printed, prints = os.pipe()
        with theirs, open(prints, "wb"):
            message = json.dumps({"folder": folder, "job": job}).encode()
            socket.send_fds(self._door, [message], [theirs.fileno(), prints])
        return Fork(ours, open(printed, "rb"))

    def close(self) -> None:
        """Tell the process that nobody will ask any more."""
        self._door.close()
        self.wait()
        atexit.unregister(self.close)


_lock = Lock()
_running: list[Server] = []


def start(folder: str, job: dict[str, Any], environment: dict[str, str]) -> Fork:
    """Start an answer in a folder, with a job as :mod:`~selfattn_book.course.student` reads it.

    Args:
        folder: in which it stands.
        job: what it has to do.
        environment: what it learns of the machine.
    """
    with _lock:
        server = _running[0] if _running else None
        if server and (
            server.poll() is not None or server.environment != environment
        ):
            _running.pop().close()
        if not _running:
            _running.append(Server(environment))
        return _running[0].fork(folder, job)


def serve(door: socket.socket) -> None:
    """Fork a keeper for each message, until there is nobody who could send one."""
    importlib.import_module(HEAVY)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for a keeper
    while True:
        message, (*ends,), *_ = socket.recv_fds(door, LARGEST, 2)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            door.close()
            keep(json.loads(message), *ends)
        for end in ends:
            os.close(end)


def keep(what: dict[str, Any], tells: int, prints: int) -> None:
    """Start an answer, and tell its number and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with socket.socket(fileno=tells) as sandbox:
        if (pid := os.fork()) == 0:
            sandbox.close()
            os._exit(answer(what["folder"], what["job"], prints))
        os.close(prints)
        sandbox.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):
            sandbox.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def answer(folder: str, job: dict[str, Any], prints: int) -> int:
    """Check an answer in this process, and return its exit code."""
    os.setsid()  # an answer is killed together with the processes that it started
    for output in (1, 2):
        os.dup2(prints, output)
    os.close(prints)
    os.chdir(folder)
    student = importlib.import_module(HEAVY)
    try:
        student.main(student.Job(**job))
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
