"""Wait until the KaTeX server listens, and not only until its socket is there.

sphinxcontrib-katex 0.9.11 connects as soon as the file of the socket exists, a moment before the
server listens to it; on a busy machine every other build then fails with "Connection refused".
"""

import socket
import subprocess
import time
from pathlib import Path

from sphinx.application import Sphinx
from sphinxcontrib.katex import KaTeXServer


def start_server_process(
    rundir: Path, timeout: float
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start the server, and connect to it as often as it takes."""
    file = rundir / "katex.sock"
    command = KaTeXServer.build_command(socket=file)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=rundir)
    end = time.monotonic() + timeout
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(file))
        except OSError:
            connection.close()
            if time.monotonic() > end:
                process.kill()
                raise
            time.sleep(0.01)
        else:
            return process, connection


def setup(app: Sphinx) -> dict[str, bool]:
    """Take the place of the library's own way."""
    KaTeXServer.start_server_process = staticmethod(start_server_process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
