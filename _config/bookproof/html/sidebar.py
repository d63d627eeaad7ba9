"""The sidebar: all parts of the book with their pages, for the template `sbt-sidebar-nav.html`.

The theme would copy the table of contents of the whole book anew for each page.
A page in the table of contents of a chapter goes deeper: the sidebar shows it beside its chapter, and
the way from chapter to chapter leads past it.
"""

from functools import cache, partial
from html import escape
from typing import Any, NamedTuple

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from ..words import _
from .cover import shown_of
from .places import number, title


class Listed(NamedTuple):
    """A page of the sidebar: document, title, and the pages that go deeper."""

    doc: str
    name: str
    deeper: tuple[tuple[str, str], ...] = ()


def listed(app: Sphinx, docname: str, label: str | None) -> Listed | None:
    """Return what the sidebar shows of a page, or nothing for one that the book does not have."""
    if docname == "genindex":
        return Listed(docname, label or _("Index"))
    if docname not in app.env.titles:
        return None
    name = ". ".join(filter(None, [number(app.env, docname), title(app.env, docname)]))
    return Listed(docname, name, tuple((d, title(app.env, d)) for d in deeper(app.env, docname)))


def deeper(env: BuildEnvironment, doc: str) -> list[str]:
    """Return the pages that go deeper than a chapter."""
    return env.toctree_includes.get(doc, []) if shown_of(env, doc).is_chapter else []


def parts(app: Sphinx) -> list[tuple[str, list[Listed]]]:
    """Return the name of each part, with what the sidebar shows of its pages."""
    found = []
    for tree in app.env.get_doctree(app.env.config.root_doc).findall(addnodes.toctree):
        pages = [listed(app, doc, label) for label, doc in tree["entries"]]
        found.append((escape(tree["caption"] or ""), [page for page in pages if page]))
    return found


def neighbor(app: Sphinx, page: str, place: int) -> dict[str, str] | None:
    """Return the link and the title of the page before or after one, past those that go deeper."""
    relations: dict[str, list[str | None]] = vars(app.builder)["relations"]
    skipped = {sub for doc in app.env.all_docs for sub in deeper(app.env, doc)}
    doc = relations.get(page, [None] * 3)[place]
    while doc in skipped:
        doc = relations[doc][place]
    if doc not in app.env.titles:  # the last page, or one that Sphinx writes itself
        return None
    return {"link": app.builder.get_relative_uri(page, doc), "title": title(app.env, doc)}


def setup(app: Sphinx) -> None:
    found_once = cache(partial(parts, app))  # when the first page is written

    def hand_over(
        app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
    ) -> None:
        context["book_parts"] = found_once
        context["prev"], context["next"] = neighbor(app, page, 1), neighbor(app, page, 2)

    app.connect("html-page-context", hand_over)
