"""The sidebar: all parts of the book with their pages, for the template `sbt-sidebar-nav.html`.

The theme would copy the table of contents of the whole book anew for each page.
"""

from functools import cache, partial
from html import escape
from typing import Any

from sphinx import addnodes
from sphinx.application import Sphinx

from .places import number, title


def listed(app: Sphinx, docname: str, label: str | None) -> str | None:
    """Return what the sidebar calls a page, or nothing for one that the book does not have."""
    if docname == "genindex":
        return label or "Index"
    if docname not in app.env.titles:
        return None
    counted = number(app.env, docname)
    return f"{counted}. {title(app.env, docname)}" if counted else title(app.env, docname)


def parts(app: Sphinx) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the name of each part, with the document and the title of each of its pages."""
    found = []
    for tree in app.env.get_doctree(app.env.config.root_doc).findall(addnodes.toctree):
        pages = [(doc, listed(app, doc, label)) for label, doc in tree["entries"]]
        found.append((escape(tree["caption"] or ""), [(doc, name) for doc, name in pages if name]))
    return found


def setup(app: Sphinx) -> None:
    found_once = cache(partial(parts, app))  # when the first page is written

    def hand_over(
        app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
    ) -> None:
        context["book_parts"] = found_once

    app.connect("html-page-context", hand_over)
