"""Keep every page as new as what it was made from, and run no cell without need.

The results of a chapter are kept under a key: its code cells, the modules of the package that
they reach, the data files that its front matter declares, Python, and the libraries.
Before Sphinx reads pages, chapters without results run; myst-nb then finds them all in the
cache of jupyter-cache, and runs nothing itself.

A page is read again if its text, anything that it shows, its key or the tools are not what
they were: by their contents. The times of files, by which Sphinx goes, decide nothing.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterable
from compileall import compile_dir
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path
from pprint import pformat
from py_compile import PycInvalidationMode
from typing import Any, NoReturn

from chapter_keys import (
    cells_digest,
    digest,
    module_name,
    modules_reached,
    names_in_cells,
    with_key,
)
from docutils import nodes
from execution import CORES, Chapter, circumstances, not_executed, run_chapters
from filelock import FileLock, Timeout
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_nb.ext.glue.utils import PendingGlueReference
from nbformat import NotebookNode
from refusals import refusals
from sphinx.application import Sphinx
from sphinx.config import Config
from sqlalchemy.exc import SQLAlchemyError
from written_pages import as_written, tidy

PATIENCE = 600  # seconds to wait for another build
TOOLS = {".py", ".bib", ".html", ".txt"}  # with a change in these, every page is read again


def stop(why: str) -> NoReturn:
    """End the build without a book."""
    # Any other exception would be buried under a report on Sphinx itself.
    sys.exit(f"\n{why}\n\nThe book is not built.")


def say(text: str) -> None:
    """Print at once, even when Sphinx is told to be quiet."""
    print(text, flush=True)


class Results:
    """The results that are kept, in the form in which myst-nb looks for them."""

    def __init__(self, folder: str) -> None:
        self.cache = get_cache(folder)
        try:
            self.cache.list_cache_records()
        except (RuntimeError, SQLAlchemyError):
            say(f"The results kept in {folder} are damaged, and not used.")
            self.cache.clear_cache()

    def has(self, notebook: NotebookNode) -> bool:
        """Tell whether there are results of all cells."""
        try:
            _, executed = self.cache.merge_match_into_notebook(notebook)
        # Not there, or half-written: no file, no JSON, not as many cells.
        except (KeyError, ValueError, IndexError, AttributeError):
            return False
        return not not_executed(executed)

    def seconds(self, notebook: NotebookNode) -> list[float]:
        """Return how long each cell took when it ran."""
        record = self.cache.match_cache_notebook(notebook)
        return (record.data or {}).get("cells", [])

    def keep(self, chapter: Chapter) -> None:
        """Keep the results of a chapter, if they are good."""
        data = {"execution_seconds": chapter.seconds, "cells": chapter.times}
        bundle = CacheBundleIn(chapter.notebook, str(chapter.file), data=data)
        try:
            if not chapter.failure:
                # The cache writes over a whole entry, but stumbles over a half-written one.
                _, name = self.cache.create_hashed_notebook(chapter.notebook)
                entry = self.cache.path / "executed" / name
                shutil.rmtree(entry, ignore_errors=True)
                self.cache.cache_notebook_bundle(bundle, False, overwrite=True)
        except (OSError, RuntimeError, SQLAlchemyError) as error:
            chapter.failure = f"{chapter}: its results cannot be kept: {error}"
        say(f"  {chapter}  {'failed' if chapter.failure else f'{chapter.seconds:.1f} s'}")


class Freshness:
    """What a build does at the events of Sphinx, and knows from one to the next."""

    def begin(self, app: Sphinx, config: Config) -> None:
        """Wait for any other build, and see whether the last one came to a good end."""
        kept = Path(config.nb_execution_cache_path or app.outdir.parent / ".jupyter_cache")
        self.wait(kept)
        if config.freshness_anew:
            if any(app.outdir.iterdir()) and not (app.outdir / ".buildinfo").exists():
                stop(f"{app.outdir} holds something else than a site; it is not emptied.")
            for folder in (kept, app.outdir, app.doctreedir):
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
        # After a build that was stopped, or that warned, no page is trusted: it may be
        # half made, and the warning has to come again.
        self.unfinished = app.doctreedir / "unfinished"
        self.trusted = not self.unfinished.exists()
        app.doctreedir.mkdir(parents=True, exist_ok=True)
        self.unfinished.touch()
        spec = find_spec(config.freshness_package)
        assert spec, f"there is no package {config.freshness_package!r}"
        self.root = Path(str(spec.origin)).parent
        # Python takes compiled code for that of a source of the same time and size,
        # unless it is told to look into the source.
        compile_dir(
            self.root, quiet=2, force=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
        installed = sorted(f"{found.name} {found.version}" for found in distributions())
        self.tools = digest(installed, self.tool_files(app))
        self.libraries = [f"{n} {version(n)}" for n in config.freshness_libraries]
        self.modules = [config.freshness_package, *config.freshness_libraries]

    def wait(self, kept: Path) -> None:
        """Wait for any other build that uses the same results."""
        kept.parent.mkdir(parents=True, exist_ok=True)
        self.lock = FileLock(kept.with_name(f"{kept.name}.lock"))
        try:
            self.lock.acquire(timeout=0)
        except Timeout:
            say(f"Another build is at work in {kept.parent}; waiting for it.")
            try:
                self.lock.acquire(timeout=PATIENCE)
            except Timeout:
                stop(f"After {PATIENCE} s, another build still holds {self.lock.lock_file}.")

    def tool_files(self, app: Sphinx) -> list[Path]:
        """Return the files that decide how pages are made, besides the installed ones."""
        files = [*Path(app.confdir).rglob("*"), *Path(__file__).parent.glob("*")]
        return [file for file in sorted(files) if file.suffix in TOOLS]

    def end(self, app: Sphinx, error: Exception | None) -> None:
        """Note that the build came to a good end, if it did."""
        if error is None:
            tidy(app)
        if error is None and not app._warncount:
            self.unfinished.unlink()
        self.lock.release()

    def key(self, page: Path, names: Iterable[str], data: Iterable[str]) -> str:
        """Return what the results of a page's cells depend on, as a short text."""
        files = [page.parent / name for name in data]
        for file in files:
            if not file.is_file():
                stop(f"{page}: data_files names {file}, which is not there")
        about = [sys.version, sys.platform, repr(circumstances()), *self.libraries, *data]
        return digest(about, [*modules_reached(self.root, names), *files])

    def outdated(
        self, app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]
    ) -> set[str]:
        """Return the pages that were made from something else than what is there now."""

        def as_noted(docname: str) -> bool:
            file = env.doc2path(docname)
            names, data, text, *noted = env.metadata[docname].get("freshness", ([], [], ""))
            if not self.trusted or text != digest([file.read_text("utf-8")], []):
                return False
            now = [self.key(file, names, data), self.tools, self.shown(env, docname)]
            return noted == now and as_written(app, docname)

        known = env.found_docs & env.all_docs.keys()
        stale = {docname for docname in known if not as_noted(docname)}
        # What Sphinx takes for changed, by its time, and is not.
        changed &= stale | env.reread_always
        return stale

    def shown(self, env: Any, docname: str) -> str:
        """Return a digest of what a page shows: files, and the modules behind those it lists."""
        files = set(env.dependencies.get(docname, ()))
        inside = [file for file in files if file.is_relative_to(self.root)]
        files |= set(modules_reached(self.root, [module_name(self.root, f) for f in inside]))
        return digest([], sorted(files))

    def note_shown(self, app: Sphinx, page: nodes.document) -> None:
        """Note what a page shows, after the last that can tell."""
        noted = app.env.metadata[app.env.docname]
        noted["freshness"] = *noted["freshness"][:5], self.shown(app.env, app.env.docname)

    def prepare(self, env: Any, docname: str, text: str) -> tuple[str, Chapter | None]:
        """Return a page with its key in it, the chapter that it is; note what the key is of."""
        file, data = Path(env.doc2path(docname)), list[str]()
        names: frozenset[str] = frozenset()
        if is_chapter := is_myst_markdown_notebook(text):
            notebook = read_myst_markdown_notebook(text, env.myst_config, path=file)
            names = names_in_cells(self.root, notebook)
            data = notebook.metadata.get("data_files", [])
        key = self.key(file, names, data)
        env.metadata[docname]["freshness"] = names, data, digest([text], []), key, self.tools
        if not is_chapter:
            return text, None
        text = with_key(text, key)
        # Read as myst-nb will read it, so that the cells are the same to the letter.
        notebook = read_myst_markdown_notebook(
            text, env.myst_config, add_source_map=True, path=file
        )
        reached = set(modules_reached(self.root, names))
        return text, Chapter(
            file,
            notebook,
            unchanged=lambda: self.key(file, names, data) == key,
            unseen=lambda name: self.root in Path(name).parents and Path(name) not in reached,
        )

    def run(self, app: Sphinx, env: Any, docnames: list[str]) -> None:
        """Run the chapters among the pages to be read whose results are not there."""
        self.results = Results(env.mystnb_config.execution_cache_path)
        texts = ((name, env.doc2path(name).read_text("utf-8")) for name in docnames)
        found = [self.prepare(env, name, text)[1] for name, text in texts]
        if faults := [fault for c in found if c for fault in refusals(c, self.modules)]:
            stop("\n".join(faults))
        chapters = [c for c in found if c and not self.results.has(c.notebook)]
        if not chapters:
            return say("No chapter has to run.")
        say(f"Running {len(chapters)} chapters, {CORES} at once ...")
        cold = os.environ.get("BOOK_KERNELS") == "cold"
        start = time.perf_counter()
        run_chapters(
            chapters,
            self.results.keep,
            timeout=app.config.nb_execution_timeout,
            preload=[] if cold else app.config.freshness_preload,
        )
        wall = time.perf_counter() - start
        floor = sum(chapter.seconds for chapter in chapters) / CORES
        say(
            f"{len(chapters)} chapters ran: wall {wall:.1f} s, floor {floor:.1f} s"
            f" (their cells, on {CORES} cores), ratio {wall / max(floor, 1e-3):.1f}"
        )
        if failures := [chapter.failure for chapter in chapters if chapter.failure]:
            stop("\n\n".join(failures))

    def read(self, app: Sphinx, docname: str, content: list[str]) -> None:
        """Give myst-nb the page with the key under which its results are kept."""
        content[0], chapter = self.prepare(app.env, docname, content[0])
        if chapter and (faults := list(refusals(chapter, self.modules))):
            stop("\n".join(faults))
        # Else myst-nb would run it; somebody works on it at this moment.
        if chapter and not self.results.has(chapter.notebook):
            stop(f"{chapter} or what it reaches was changed during the build")
        times = self.results.seconds(chapter.notebook) if chapter else []
        app.env.metadata[docname]["cell_seconds"] = times
        if chapter:
            app.env.metadata[docname]["cells_digest"] = cells_digest(chapter.notebook)

    def check(self, app: Sphinx, page: nodes.document) -> None:
        """Fail if a cell that the page shows was not executed."""
        for cell in page.findall(nodes.container):
            is_code = cell.get("nb_element") == "cell_code" and cell.astext()
            if is_code and not cell["exec_count"]:
                stop(f"{page['source']}:{cell.line}: this cell was not executed")
        for node in page.findall(PendingGlueReference):
            # It would stay as it is when that page is made anew.
            stop(f"{page['source']}: {node.key!r} is glued on the page {node.refdoc}; glue it here")

    def also_written(self, app: Sphinx, env: Any) -> Iterable[str]:
        """Return all pages if a title, number or label has changed, since any may show it."""
        titles = {name: title.astext() for name, title in env.titles.items()}
        labels = env.domaindata["std"], env.domaindata["py"]
        numbers = env.toctree_includes, env.toc_secnumbers, env.toc_fignumbers
        before = getattr(env, "freshness_shown", None)
        env.freshness_shown = digest([pformat([titles, labels, numbers])], [])
        return [] if before == env.freshness_shown else env.found_docs


def setup(app: Sphinx) -> dict[str, bool]:
    """Take part in the build, from its first event to its last."""
    app.add_config_value("freshness_anew", False, "", bool)
    app.add_config_value("freshness_package", "", "", str)
    app.add_config_value("freshness_libraries", [], "", list)
    app.add_config_value("freshness_preload", [], "", list)
    freshness = Freshness()
    app.connect("config-inited", freshness.begin)
    app.connect("env-get-outdated", freshness.outdated)
    app.connect("env-before-read-docs", freshness.run)
    app.connect("source-read", freshness.read)
    app.connect("doctree-read", freshness.check)
    app.connect("doctree-read", freshness.note_shown, priority=900)
    app.connect("env-get-updated", freshness.also_written)
    app.connect("build-finished", freshness.end)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
