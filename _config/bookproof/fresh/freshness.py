"""Keep every page as new as what it was made from: a key, what is missing, run it."""

import os
import time
from collections.abc import Iterable
from compileall import compile_dir
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from pprint import pformat
from py_compile import PycInvalidationMode
from typing import Any

from docutils import nodes
from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook
from myst_nb.ext.glue.utils import PendingGlueReference
from sphinx.application import Sphinx
from sphinx.config import Config

from ..verify.cells import code_digest
from .cell_rules import refusals
from .execution import CORES, Chapter, run_chapters
from .keys import (
    code_of,
    digest,
    module_name,
    modules_reached,
    names_in_cells,
    put_key,
    with_key,
)
from .messages import fail, report
from .parts import Needs, Parts, Sources, cell_parts, keep, key_of
from .results import Results
from .session import ENGINE, Session

# Modules of the engine that ask tracebacks for lines of cells, and nothing else.
LINE_READERS = ("bookproof.verify.chapter", "bookproof.verify.recorder")


@dataclass(frozen=True)
class MadeFrom:
    """What a page was made from, or would be made from now: its needs, and digests of the rest."""

    needs: Needs
    text: str
    parts: Parts  # of the key of its results
    tools: Parts
    shown: str


class Freshness:
    """What a build does at the events of Sphinx, and knows from one to the next."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def begin(self, app: Sphinx, config: Config) -> None:
        package = config.bookproof_package
        spec = find_spec(package) if package else None
        if package and not (spec and spec.origin):
            rule = "bookproof_package must name a package that can be imported"
            fail(f"{rule}; got {package!r}")
        roots = [Path(spec.origin).parent] if spec and spec.origin else []
        for root in roots:
            # Python takes compiled code for that of a source of the same time and size,
            # unless it reads the source.
            mode = PycInvalidationMode.CHECKED_HASH
            compile_dir(root, quiet=2, force=True, invalidation_mode=mode)
        libraries = tuple(config.bookproof_libraries)
        line_readers = (*config.bookproof_line_readers, *LINE_READERS)
        self.sources = Sources((*roots, ENGINE), libraries, line_readers)
        self.modules = [*filter(None, [package]), *libraries]

    # -- Which pages are read again ----------------------------------------------

    def outdated(
        self, app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]
    ) -> set[str]:
        """Return the pages that were made from something else than what is there now.

        Those whose source is gone leave the site.
        """

        def tree(docname: str) -> Path:
            return app.doctreedir / f"{docname}.doctree"

        def is_as_made(docname: str) -> bool:
            made: MadeFrom | None = env.metadata[docname].get("made_from")
            if not made or not self.session.trusted:
                return False
            text = Path(env.doc2path(docname)).read_text("utf-8")
            now = self.made_from(env, docname, text, made.needs)
            return made == now and tree(docname).is_file()

        for docname in removed:
            for file in (tree(docname), app.outdir / f"{docname}.html"):
                file.unlink(missing_ok=True)
        known = env.found_docs & env.all_docs.keys()
        stale = {docname for docname in known if not is_as_made(docname)}
        # What Sphinx takes for changed, by its time, and is not.
        changed &= stale | env.reread_always
        return stale

    def made_from(self, env: Any, docname: str, text: str, needs: Needs) -> MadeFrom:
        """Return what a page with this text and these needs is made from."""
        parts = self.sources.parts(Path(env.doc2path(docname)), needs)
        return MadeFrom(needs, digest([text]), parts, self.session.tools, self.shown(env, docname))

    def shown(self, env: Any, docname: str) -> str:
        """Return a digest of what a page shows: files, and the modules behind those it lists."""
        files = set(env.dependencies.get(docname, ()))
        roots = self.sources.roots
        inside = [f for f in files if f.suffix == ".py" and any(map(f.is_relative_to, roots))]
        files |= set(modules_reached(roots, [module_name(roots, file) for file in inside]))
        return digest([], sorted(files))

    def note_shown(self, app: Sphinx, page: nodes.document) -> None:
        noted = app.env.metadata[app.env.docname]
        noted["made_from"] = replace(noted["made_from"], shown=self.shown(app.env, app.env.docname))

    def also_written(self, app: Sphinx, env: Any) -> Iterable[str]:
        """Return all pages if a title, number or label has changed, since any may show it."""
        titles = {name: title.astext() for name, title in env.titles.items()}
        labels = env.domaindata["std"], env.domaindata["py"]
        numbers = env.toctree_includes, env.toc_secnumbers, env.toc_fignumbers
        before = vars(env).get("bookproof_titles")
        env.bookproof_titles = digest([pformat([titles, labels, numbers])])
        return [] if before == env.bookproof_titles else env.found_docs

    # -- Which chapters run ------------------------------------------------------

    def prepare(self, env: Any, docname: str, text: str) -> tuple[str, Chapter | None]:
        """Return a page with its key in it, the chapter that it is; note what it is made from."""
        file, needs = Path(env.doc2path(docname)), Needs()
        if is_chapter := is_myst_markdown_notebook(text):
            # As myst-nb will read it, so that the cells are the same to the letter.
            notebook = read_myst_markdown_notebook(
                text, env.myst_config, add_source_map=True, path=file
            )
            data = tuple(notebook.metadata.get("data_files", []))
            needs = Needs(names_in_cells(notebook), data)
        for missing in (file.parent / name for name in needs.data):
            if not missing.is_file():
                fail(f"{file}: data_files names {missing}, which is not there")
        made = env.metadata[docname]["made_from"] = self.made_from(env, docname, text, needs)
        if not is_chapter:
            return text, None
        key = key_of(made.parts)
        put_key(notebook.metadata, key)
        env.metadata[docname]["cell_parts"] = cell_parts(code_of(notebook))
        reached = set(modules_reached(self.sources.roots, needs.names))
        inside = tuple(f"{root}{os.sep}" for root in self.sources.roots[:-1])  # not the engine
        return with_key(text, key), Chapter(
            file,
            notebook,
            unchanged=lambda: self.sources.parts(file, needs) == made.parts,
            unseen=lambda name: name.startswith(inside) and Path(name) not in reached,
            libraries=self.sources.libraries,
        )

    def run(self, app: Sphinx, env: Any, docnames: list[str]) -> None:
        """Run the chapters among the pages to be read whose results are not there."""
        self.results = Results(env.mystnb_config.execution_cache_path)
        texts = {name: Path(env.doc2path(name)).read_text("utf-8") for name in docnames}
        prepared = [self.prepare(env, name, text)[1] for name, text in texts.items()]
        chapters = [chapter for chapter in prepared if chapter]
        if faults := [fault for c in chapters for fault in refusals(c, self.modules)]:
            fail("\n".join(faults))
        missing = [c for c in chapters if not self.results.has(c.notebook)]
        if not missing:
            return report("No chapter has to run.")
        count = "1 chapter" if len(missing) == 1 else f"{len(missing)} chapters"
        report(f"Running {count}, {CORES} at once ...")
        cold, start = os.environ.get("BOOK_KERNELS") == "cold", time.perf_counter()
        run_chapters(
            missing,
            self.results.keep,
            timeout=app.config.nb_execution_timeout,
            preload=None if cold else app.config.bookproof_preload,
        )
        wall, cells = time.perf_counter() - start, sum(chapter.seconds for chapter in missing)
        report(f"{count} ran in {wall:.1f} s; the cells alone take {cells / CORES:.1f} s.")
        if failures := [chapter.failure for chapter in missing if chapter.failure]:
            fail("\n\n".join(failures))

    def end(self, app: Sphinx, error: Exception | None) -> None:
        """Keep the parts of all keys after a good build."""
        if error is None:
            pages = {
                os.path.relpath(app.env.doc2path(name)): noted["cell_parts"]
                | noted["made_from"].parts
                for name, noted in sorted(app.env.metadata.items())
                if "cell_parts" in noted
            }
            record = {"config": os.path.relpath(app.confdir), "tools": self.session.tools}
            keep(Path(app.doctreedir), {**record, "pages": pages}, self.sources)

    def read(self, app: Sphinx, docname: str, content: list[str]) -> None:
        """Give myst-nb the page with the key under which its results are kept."""
        content[0], chapter = self.prepare(app.env, docname, content[0])
        if not chapter:
            return
        # Else myst-nb would run it; it is being edited.
        if not self.results.has(chapter.notebook):
            fail(f"{chapter} or what it reaches was changed during the build")
        noted = app.env.metadata[docname]
        noted["cell_seconds"] = self.results.seconds(chapter.notebook)
        noted["cells_digest"] = code_digest(code_of(chapter.notebook))


def check_executed(app: Sphinx, page: nodes.document) -> None:
    """Fail if a cell that the page shows was not executed, or a number is another page's."""
    for cell in page.findall(nodes.container):
        is_code = cell.get("nb_element") == "cell_code" and cell.astext()
        if is_code and not cell["exec_count"]:
            fail(f"{page['source']}:{cell.line}: this cell was not executed")
    for node in page.findall(PendingGlueReference):
        # It would stay as it is when that page is made anew.
        fail(f"{page['source']}: {node.key!r} is glued on the page {node.refdoc}; glue it here")
