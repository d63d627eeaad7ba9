"""Keep every page as new as what it was made from, and run no cell without need.

Results are kept under a key: code cells, the meaning of the modules that they reach, data files,
Python, and the libraries. Chapters without results run before Sphinx reads pages; myst-nb then finds all
in the cache of jupyter-cache. A page is read again if its text, what it shows, its key or the tools have
changed: by their contents, never by the times of files.
"""

import sys
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.parallel import ParallelTasks

from .execution import CORES
from .freshness import Freshness, check_executed
from .session import Session

MANY = 20  # pages, for which it pays to start processes


def write_side_by_side(app: Sphinx, env: Any) -> None:
    """Let as many processes write pages as there are cores, after one has read them all."""
    if len(env.found_docs) > MANY:
        app.parallel = CORES + 1  # Sphinx counts the one that hands pages over


end_tasks = ParallelTasks.terminate


def end_tasks_loudly(self: ParallelTasks) -> None:
    """End the processes that write pages, and raise the error for which they are ended.

    Sphinx drops the error of a page while other pages wait to be written, and the page is missing.
    """
    end_tasks(self)
    if error := sys.exc_info()[1]:
        raise error


def adopt(app: Sphinx, doctree: nodes.document) -> None:
    """Let every node of a page that was just read belong to the page.

    The nodes of a directive of reStructuredText belong to a document of their own, with which the
    whole environment would be kept, and read back, with the page.
    """
    for node in doctree.findall():
        node.document = doctree


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_fresh", False, "", bool)
    app.add_config_value("bookproof_package", "", "", str)
    app.add_config_value("bookproof_line_readers", [], "", list)
    app.add_config_value("bookproof_libraries", [], "", list)
    app.add_config_value("bookproof_preload", [], "", list)
    ParallelTasks.terminate = end_tasks_loudly  # type: ignore[method-assign]
    session = Session()
    freshness = Freshness(session)
    app.connect("config-inited", session.begin)
    app.connect("config-inited", freshness.begin)
    app.connect("env-get-outdated", freshness.outdated)
    app.connect("env-before-read-docs", freshness.run)
    app.connect("source-read", freshness.read)
    app.connect("doctree-read", check_executed)
    app.connect("doctree-read", freshness.note_shown, priority=900)
    app.connect("doctree-read", adopt, priority=999)
    app.connect("env-get-updated", freshness.also_written)
    app.connect("env-check-consistency", write_side_by_side)
    app.connect("build-finished", freshness.end, priority=100)
    app.connect("build-finished", session.end, priority=999)
