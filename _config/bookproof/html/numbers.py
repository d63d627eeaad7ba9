"""Count the chapters through all parts of a book, and the pages of one part with letters.

Sphinx begins anew at each numbered table of contents, and a part is one. It counts the figures of
all pages without a number through the book; here each page begins with its own Figure 1.
"""

from collections import Counter
from collections.abc import Iterator
from string import ascii_uppercase
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

from ..translations import numbers, original

count_each_part = TocTreeCollector.assign_section_numbers
count_through_pages = TocTreeCollector.assign_figure_numbers


def chapters(env: BuildEnvironment) -> Iterator[tuple[str, Any]]:
    """Yield each numbered page in reading order, with its number or its letter.

    A page that is translated has the number of its original.
    """
    source = original(env.srcdir)
    known = numbers(source) if source else {}
    counts: Counter[bool] = Counter()
    trees = env.get_doctree(env.config.root_doc).findall(addnodes.toctree)
    for tree in (tree for tree in trees if tree.get("numbered")):
        lettered = tree["caption"] is not None and tree["caption"] == env.config.bookproof_lettered
        for doc in filter(env.tocs.__contains__, tree["includefiles"]):
            yield (
                doc,
                ascii_uppercase[counts[lettered]]
                if lettered
                else known.get(doc, counts[lettered] + 1),
            )
            counts[lettered] += 1


def count_all_parts(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
    """Number the pages, and return those whose number has changed."""
    before = dict(env.toc_secnumbers)
    count_each_part(self, env)
    for doc, number in chapters(env):
        old = env.toc_secnumbers.get(doc, {})
        env.toc_secnumbers[doc] = {a: (number, *n[1:]) if n else n for a, n in old.items()}
        for node in [env.titles[doc], *env.tocs[doc].findall(nodes.reference)]:
            if counted := node.get("secnumber"):
                node["secnumber"] = (number, *counted[1:])
    return [doc for doc, numbers in env.toc_secnumbers.items() if numbers != before.get(doc)]


def count_on_each_page(self: TocTreeCollector, env: BuildEnvironment) -> list[str]:
    """Number the figures, and return the pages on which a number has changed."""
    before = dict(env.toc_fignumbers)
    count_through_pages(self, env)
    for kinds in env.toc_fignumbers.values():
        for kind, figures in kinds.items():
            if all(len(number) == 1 for number in figures.values()):  # the page has no number
                kinds[kind] = {figure: (i,) for i, figure in enumerate(figures, 1)}
    return [doc for doc, kinds in env.toc_fignumbers.items() if kinds != before.get(doc)]


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_lettered", None, "env")
    TocTreeCollector.assign_section_numbers = count_all_parts  # type: ignore[method-assign]
    TocTreeCollector.assign_figure_numbers = count_on_each_page  # type: ignore[method-assign]
