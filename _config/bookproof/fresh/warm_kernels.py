"""Kernels forked from one server that has loaded the heavy libraries, so that loading is paid once.

Run as a program, this file is the server: it imports its arguments, then forks a kernel for each line
that it reads. Where a process cannot be forked, the same managers start ordinary kernels.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

# Apple's own libraries do not survive a fork.
CAN_FORK = hasattr(os, "fork") and sys.platform != "darwin"
KERNEL = ["ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger"]


def become_kernel(argv: list[str], cwd: str | None, env: dict[str, str]) -> None:
    """Go on, in a fresh fork, as the kernel that the command would have started."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()  # a kernel is killed together with the processes that it started
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the server's own output is for process ids
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd or ".")
    # A kernel ends with its parent, which is the server here and not the build.
    sys.argv = [*argv, f"--IPKernelApp.parent_handle={os.getppid()}"]
    del sys.path[0]  # the folder of this file; a chapter does not import from it
    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


def serve(preload: list[str]) -> None:
    """Import the modules, and answer each request with the process id of a new kernel."""
    for module in preload:
        importlib.import_module(module)
    gc.freeze()  # a kernel looks for garbage among its own objects only
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels are not waited for
    for request in sys.stdin:
        if (pid := os.fork()) == 0:
            return become_kernel(**json.loads(request))
        print(pid, flush=True)
    os._exit(0)  # heavy libraries take a second to leave in order


class Server(subprocess.Popen[str]):
    """The server as the build sees it; when the build ends, so do the server and its kernels."""

    def __init__(self, preload: list[str]) -> None:
        super().__init__(
            [sys.executable, __file__, *KERNEL, *preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the build
            # What the debugger, which every kernel loads, has to say is for who debugs.
            env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        )

    def fork(self, **request: Any) -> int:
        print(json.dumps(request), file=self.stdin, flush=True)
        if self.stdout and (answer := self.stdout.readline()):
            return int(answer)
        raise RuntimeError("the server of warm kernels has ended")


class Fork:
    """What a provisioner asks of its ``Popen``, for a process that is another one's child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def poll(self) -> int | None:
        """Return ``None`` while the process is there; how it ended is not known."""
        try:
            self.send_signal(0)
        except ProcessLookupError:
            return -1
        return None

    wait = poll


class ForkingProvisioner(LocalProvisioner):
    """Start a kernel by a fork of the server instead of by a command."""

    server: Server
    process: Any = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        request = {key: kwargs.get(key) for key in ("cwd", "env")}
        self.pid = self.pgid = self.server.fork(argv=cmd[2:], **request)
        self.process = Fork(self.pid)
        return self.connection_info


def kernel_manager(name: str, folder: Path, server: Server | None) -> AsyncKernelManager:
    """Return a manager that starts a warm kernel if there is a server, else a cold one.

    Args:
        name: of the kernel, as Jupyter knows it.
        folder: for the files of the connection; sockets want a short path.
        server: to fork from.
    """
    # Over the file system no kernel can take another's port, and none warns of eavesdroppers.
    transport = "ipc" if os.name == "posix" else "tcp"
    file = str(folder / f"{uuid4().hex[:8]}.json")
    manager = AsyncKernelManager(kernel_name=name, connection_file=file, transport=transport)
    spec = manager.kernel_spec
    if server and spec and "ipykernel_launcher" in spec.argv:
        # A manager makes itself a provisioner from an entry point, unless it has one already.
        manager.provisioner = ForkingProvisioner(kernel_spec=spec, parent=manager)
        manager.provisioner.server = server
    return manager


if __name__ == "__main__":
    serve(sys.argv[1:])
