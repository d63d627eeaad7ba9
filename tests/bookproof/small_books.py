"""Small books, each build of them in a process forked from one that has loaded Sphinx already."""

import faulthandler
import multiprocessing
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sphinx.application import builtin_extensions
from sphinx.cmd.build import main

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "_config"
SMALL_BOOK = ROOT / "tests" / "small_book"
SITE = "https://site.example/book"
HOST = "https://github.com/some/book"
STRICT = ["--quiet", "--nitpicky", "--fail-on-warning", "--keep-going"]
PATIENCE = 120  # seconds
# Where a process cannot be forked, each loads Sphinx itself.
PROCESSES = multiprocessing.get_context("forkserver" if os.name == "posix" else "spawn")
PRELOAD = [
    "installed_once",
    *(*builtin_extensions, "myst_nb.ext.execution_tables", "sqlalchemy.dialects.sqlite"),
    *("sphinx.ext.autodoc", "sphinx_exercise", "sphinxcontrib.bibtex"),
    *("bookproof.claims", "bookproof.fresh", "bookproof.listing"),
    *("bookproof.html.folds", "bookproof.html.mathematics", "small_books"),
]


@dataclass
class Built:
    """What came of a build: whether it was good, what it said, which chapters ran."""

    good: bool
    said: str

    @property
    def ran(self) -> set[str]:
        return set(re.findall(r"^  docs/([\w-]+)\.md  ", self.said, re.MULTILINE))


@dataclass
class Book:
    """A copy of the small book, beside which the large one's package cannot be imported."""

    root: Path

    @classmethod
    def copy(cls, folder: Path, root: Path) -> "Book":
        """Copy a book to a place where there may be another one."""
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(folder, root)
        why = "raise ImportError('the engine knows nothing of this package')\n"
        book = cls(root)
        book.write("selfattn_book.py", why)
        return book

    @property
    def kept(self) -> Path:
        return self.root / "_build" / ".jupyter_cache"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @contextmanager
    def start(self, *options: str, **environment: str) -> Iterator[multiprocessing.Process]:
        """Start a build, and see that it ends."""
        # The path is for kernels.
        environment = {**os.environ, "PYTHONPATH": str(self.root), **environment}
        process = PROCESSES.Process(target=build, args=(self.root, options, environment))
        process.start()
        try:
            yield process
            process.join(PATIENCE)
            assert process.exitcode is not None, self.stacks(process)
        finally:
            process.kill()
            with suppress(ProcessLookupError, AttributeError):  # what it has left running
                os.killpg(process.pid, signal.SIGKILL)

    def build(self, *options: str, **environment: str) -> Built:
        with self.start(*options, **environment) as process:
            pass
        said = self.log.read_text("utf-8")
        print(said)
        return Built(process.exitcode == 0, said)

    def stacks(self, process: multiprocessing.Process) -> str:
        """End a build that hangs, and return what it said, with where its threads stood."""
        os.kill(process.pid, signal.SIGABRT)
        process.join(PATIENCE)
        return self.log.read_text("utf-8")

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text, "utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text("utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def html(self, name: str) -> str:
        return self.made(f"{name}.html").read_text("utf-8")

    def page(self, name: str) -> str:
        """Return the text of a page of the site."""
        return re.sub(r"<[^>]*>", "", self.html(name))

    def made(self, name: str) -> Path:
        """Return a file of the site."""
        return self.root / "_build" / "html" / name

    def results(self) -> list[Path]:
        return sorted(self.kept.glob("executed/*/base.ipynb"))


def build(root: Path, options: list[str], environment: dict[str, str]) -> None:
    """Build, in a process of its own, as ``python -m sphinx`` would in the folder of the book."""
    if hasattr(os, "setsid"):
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(root)
    # What a shell starts in the background ignores Ctrl-C, and so does all that comes of it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable(2)  # a file that is open whatever becomes of standard error
    sys.path[:0] = [str(root), str(ENGINE)]
    loaded = [name for name in sys.modules if name.startswith("selfattn_book")]
    assert not loaded, "what this was forked from has loaded the large book's package"
    folders = "-c config -d _build/doctrees docs _build/html"
    sys.exit(main([*STRICT, *folders.split(), *options]))


def wait_until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
