"""Say at the foot of each page which edition it belongs to, and take reports of errors.

`bookproof_changes` names the page that tells readers what has changed, and the foot leads to it.
Where it is known where the site lives, the foot leads to all editions, too.
A report is a new issue at `bookproof_repository`, in which page, section and version are filled in.
While that is empty, there is none.
"""

import re
from collections.abc import Iterator
from datetime import date
from html import escape
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from .formulas import prose
from .outward import address
from .past_editions import SHELF, written

LOGGER = logging.getLogger(__name__)
LINK_OF_HEADING = re.compile(r'<a class="headerlink" href="#([^"]+)"[^>]*>.*?</a>')


def edition(app: Sphinx) -> str:
    """Return the version, and its date where `bookproof_book` has one: never that of the build."""
    published = app.config.bookproof_book.get("datePublished", "")
    if not published:
        return f"Version {app.config.release}"
    day = written(date.fromisoformat(published), app.config.language)
    return f'Version {app.config.release}, <time datetime="{published}">{day}</time>'


def report(app: Sphinx, pagename: str, page: str, anchor: str = "", section: str = "") -> str:
    """Return the address of a new issue about a page or one of its sections."""
    place = f"{page}, {section}" if section else page
    where = (address(app, pagename) or pagename) + (f"#{anchor}" if anchor else "")
    published = app.config.bookproof_book.get("datePublished", "")
    body = f"Where: {where}\nVersion: {app.config.release} {published}\n\nWhat is wrong:\n"
    asked = urlencode({"title": f"Error in: {place}", "body": body})
    return escape(f"{app.config.bookproof_repository}/issues/new?{asked}")


def sections(doctree: nodes.document) -> dict[str, str]:
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
    if doctree is None:
        return
    title, line = app.env.titles[pagename].astext(), edition(app)
    if app.config.bookproof_repository:
        titles = sections(doctree)
        context["body"] = add_reports(app, pagename, context["body"], title, titles)
        line += f'. <a href="{report(app, pagename, title)}">Report an error on this page</a>'
    line = ". ".join([line, *links(app, pagename)])
    context["body"] += f'\n<p class="edition">{line}</p>\n'


def links(app: Sphinx, pagename: str) -> Iterator[str]:
    changes = app.config.bookproof_changes
    if changes in app.env.found_docs and pagename != changes:
        href = app.builder.get_relative_uri(pagename, changes)
        yield f'<a href="{href}">What changed for readers</a>'
    if site := app.config.html_baseurl:
        yield f'<a href="{site}{SHELF}.html">All editions</a>'


def check(app: Sphinx, env: BuildEnvironment) -> None:
    changes = app.config.bookproof_changes
    if changes and changes not in env.found_docs:
        LOGGER.warning("bookproof_changes must name a page of the book; got %r", changes)


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.past_editions")
    app.add_config_value("bookproof_repository", "", "html")
    app.add_config_value("bookproof_changes", "", "html", str)
    app.connect("env-check-consistency", check)
    app.connect("html-page-context", add_foot)
