"""Loaded by the process that builds are forked from: it builds once, so that no fork begins cold.

Nearly half of a small build is spent on patterns, templates and entry points that the next build of the
same process finds ready, with the server of formulas, to which each fork connects.
Of this one nothing else stays: no file, no path, no module of the book.
"""

import logging
import os
import shutil
import sys
import tempfile
from contextlib import chdir
from functools import partial
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from small_books import SMALL_BOOK, build_here
from sphinx import jinja2glue
from sphinxcontrib.katex import KaTeXServer


class Compiled(BytecodeCache):
    """Templates that an earlier build has compiled."""

    def __init__(self) -> None:
        self.known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := self.known.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.known[bucket.key] = bucket.bytecode_to_string()


jinja2glue.SandboxedEnvironment = partial(
    jinja2glue.SandboxedEnvironment, bytecode_cache=Compiled()
)
# Sphinx makes a thousand of these records a build, for nobody.
logging.disable(logging.DEBUG)


# What runs cells leaves threads, which no fork survives: that is done by a fork.
with tempfile.TemporaryDirectory() as folder, chdir(folder):
    shutil.copytree(SMALL_BOOK, folder, dirs_exist_ok=True)
    paths, environment, modules = sys.path[:], dict(os.environ), set(sys.modules)
    os.environ["PYTHONPATH"] = folder  # for kernels
    if not (child := os.fork()):
        build_here()
        KaTeXServer.get().terminate()  # one of its own, which nobody else would end
        os._exit(0)
    os.waitpid(child, 0)
    for made in ("html", "doctrees"):
        shutil.rmtree(Path("_build", made))
    assert build_here() == 0
    sys.path[:] = paths
    os.environ.clear()
    os.environ.update(environment)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]
