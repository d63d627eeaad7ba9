"""Say at the foot of each page which edition it belongs to, and take reports of errors.

A report is a new issue at `bookproof_repository`, in which page, section and version are filled in.
While that is empty, there is none.
"""

import re
from datetime import date
from html import escape
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx

from .formulas import prose
from .outward import address

LINK_OF_HEADING = re.compile(r'<a class="headerlink" href="#([^"]+)"[^>]*>.*?</a>')


def edition(app: Sphinx) -> str:
    """Return the version, and its date where `bookproof_book` has one: never that of the build."""
    published = app.config.bookproof_book.get("datePublished", "")
    if not published:
        return f"Version {app.config.release}"
    day = date.fromisoformat(published)
    written = f'<time datetime="{published}">{day.day} {day:%B %Y}</time>'
    return f"Version {app.config.release}, {written}"


def report(app: Sphinx, pagename: str, page: str, anchor: str = "", section: str = "") -> str:
    """Return the address of a new issue about a page or one of its sections."""
    place = f"{page}, {section}" if section else page
    where = (address(app, pagename) or pagename) + (f"#{anchor}" if anchor else "")
    published = app.config.bookproof_book.get("datePublished", "")
    body = f"Where: {where}\nVersion: {app.config.release} {published}\n\nWhat is wrong:\n"
    asked = urlencode({"title": f"Error in: {place}", "body": body})
    return escape(f"{app.config.bookproof_repository}/issues/new?{asked}")


def sections(doctree: nodes.document) -> dict[str, str]:
    """Return the titles of a page's sections by their ids, but not that of the page itself."""
    found = [node for node in doctree.findall(nodes.section) if node["ids"]]
    return {node["ids"][0]: prose(node.next_node(nodes.title) or node) for node in found[1:]}


def add_reports(app: Sphinx, pagename: str, body: str, page: str, titles: dict[str, str]) -> str:
    """Return a page with a link beside the heading of each section."""

    def behind(link: re.Match[str]) -> str:
        title = titles.get(link[1])
        if title is None:  # an equation's, or a figure's
            return link[0]
        name = f"Report an error in the section {title}"
        target = report(app, pagename, page, link[1], title)
        attributes = f'class="report" href="{target}" aria-label="{escape(name)}"'
        return f"{link[0]}<a {attributes}>report an error</a>"

    return LINK_OF_HEADING.sub(behind, body)


def add_foot(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    """Add to a page its foot, and to its sections the links to report an error."""
    if doctree is None:
        return
    title, line = app.env.titles[pagename].astext(), edition(app)
    if app.config.bookproof_repository:
        titles = sections(doctree)
        context["body"] = add_reports(app, pagename, context["body"], title, titles)
        line += f'. <a href="{report(app, pagename, title)}">Report an error on this page</a>'
    context["body"] += f'\n<p class="edition">{line}</p>\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages as they are written."""
    app.setup_extension(f"{__package__}.outward")
    app.add_config_value("bookproof_repository", "", "html")
    app.connect("html-page-context", add_foot)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
