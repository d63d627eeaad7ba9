"""The edition that a page belongs to: its foot, the list of all editions, and for whom it is.

With solutions, for students without them, or for instructors with their notes, cells run and numbers and
addresses are the same. A report of an error is a new issue at `bookproof_repository`. Where the address
of the site is known, an edition stays at `v1.0/` below it, and `editions.html` lists them all. A build
knows only its own edition, written to `edition.json`; `list_editions` makes the list of several.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import date
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from babel.dates import format_date
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import solution_node

from ..words import _
from .formulas import prose
from .outward import address
from .places import is_written, on_a_site

LOGGER = logging.getLogger(__name__)
LINK_OF_HEADING = re.compile(r'<a class="headerlink" href="#([^"]+)"[^>]*>.*?</a>')
LIST = "editions"
CARD = "edition.json"
READERS = ("", "students", "instructors")


def folder(version: str) -> str:
    """Return the folder of an edition, below the site."""
    return f"v{version}/"


def lasting(app: Sphinx, address: str) -> str:
    """Return the address of a page in its edition, or an empty string where it has none."""
    site = app.config.html_baseurl
    return f"{site}{folder(app.config.release)}{address.removeprefix(site)}" if address else ""


def written(day: str, language: str = "en") -> str:
    """Return a date in words of the book's language, whatever that of the machine.

    Example:
        >>> written("2026-05-04")
        '4 May 2026'
    """
    return format_date(date.fromisoformat(day), "d MMMM yyyy", locale=language)


def published(app: Sphinx) -> str:
    return app.config.bookproof_book.get("datePublished", "")


def edition(app: Sphinx) -> str:
    """Return the version, and its date where `bookproof_book` has one: never that of the build."""
    version = _("Version") + f" {app.config.release}"
    if not (day := published(app)):
        return version
    words = written(day, app.config.language)
    return f'{version}, <time datetime="{day}">{words}</time>'


# -- The foot of a page -----------------------------------------------------------


def report(app: Sphinx, pagename: str, anchor: str = "", section: str = "") -> str:
    """Return the address of a new issue about a page or one of its sections."""
    place = ", ".join(filter(None, [app.env.titles[pagename].astext(), section]))
    where = (address(app, pagename) or pagename) + (f"#{anchor}" if anchor else "")
    version = f"{app.config.release} {published(app)}"
    body = f"Where: {where}\nVersion: {version}\n\nWhat is wrong:\n"
    asked = urlencode({"title": f"Error in: {place}", "body": body})
    return escape(f"{app.config.bookproof_repository}/issues/new?{asked}")


def add_reports(app: Sphinx, pagename: str, body: str, doctree: nodes.document) -> str:
    """Return a page with a link beside the heading of each section but the page's own."""
    found = [node for node in doctree.findall(nodes.section) if node["ids"]][1:]
    titles = {node["ids"][0]: prose(node.next_node(nodes.title) or node) for node in found}

    def behind(link: re.Match[str]) -> str:
        title = titles.get(link[1])
        if title is None:  # an equation's, or a figure's
            return link[0]
        name = escape(_("Report an error in the section {title}").format(title=title))
        target = report(app, pagename, link[1], title)
        words = _("report an error")
        return f'{link[0]}<a class="report" href="{target}" aria-label="{name}">{words}</a>'

    return LINK_OF_HEADING.sub(behind, body)


def add_foot(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    if doctree is None:
        return
    if app.config.bookproof_repository:
        context["body"] = add_reports(app, pagename, context["body"], doctree)
    context["body"] += f'\n<p class="edition">{". ".join(foot(app, pagename))}</p>\n'


def foot(app: Sphinx, pagename: str) -> Iterator[str]:
    yield edition(app)
    if app.config.bookproof_repository:
        yield link(report(app, pagename), _("Report an error on this page"))
    changes = app.config.bookproof_changes
    if changes in app.env.found_docs and pagename != changes:
        href = app.builder.get_relative_uri(pagename, changes)
        yield link(href, _("What changed for readers"))
    for words, file in app.config.bookproof_files.items():
        if "{page}" in file and not is_written(app.config, pagename):
            continue
        place = "../" * pagename.count("/") + file.format(page=pagename.rpartition("/")[2])
        yield link(place, words)
    if site := app.config.html_baseurl:
        yield link(f"{site}{LIST}.html", _("All editions"))


def link(address: str, words: str) -> str:
    return f'<a href="{address}">{words}</a>'


def check(app: Sphinx, env: BuildEnvironment) -> None:
    changes = app.config.bookproof_changes
    if changes and changes not in env.found_docs:
        LOGGER.warning("bookproof_changes must name a page of the book; got %r", changes)


# -- All editions -----------------------------------------------------------------


def this_edition(app: Sphinx) -> dict[str, str]:
    return {"version": app.config.release, "date": published(app)}


def list_editions(editions: Iterable[dict[str, str]], language: str = "en", root: str = "") -> str:
    """Return a list of editions, in their order, with links to their folders below the root.

    Example:
        >>> print(list_editions([{"version": "1.0", "date": ""}]))
        <ul class="editions">
        <li><a href="v1.0/index.html">Version 1.0</a></li>
        </ul>
    """
    lines = []
    for one in editions:
        version, day = escape(one["version"]), one["date"]
        when = f", {written(day, language)}" if day else ""
        link = f"{root}{folder(version)}index.html"
        lines.append(f'<li><a href="{link}">Version {version}</a>{when}</li>')
    return "\n".join(['<ul class="editions">', *lines, "</ul>"])


def page_of_editions(app: Sphinx) -> list[tuple[str, dict[str, str], str]]:
    if not app.config.html_baseurl:
        return []
    root = app.builder.get_target_uri(app.config.root_doc)
    body = (
        "<h1>All editions</h1>\n"
        f'<p><a href="{root}">The newest edition</a> is the one to read.\n'
        "Older ones stay where they were, so that what was cited or assigned can be found again.</p>\n"
        f"{list_editions([this_edition(app)], app.config.language)}"
    )
    return [(LIST, {"title": "All editions", "body": body}, "page.html")]


@on_a_site
def write_card(app: Sphinx) -> None:
    Path(app.outdir, CARD).write_text(json.dumps(this_edition(app)) + "\n", "utf-8")


# -- For whom a book is -------------------------------------------------------------


class Instructors(SphinxDirective):
    """Hold a note for who teaches this."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        note = nodes.admonition(classes=["instructors", "no-search"], teaches=True)
        note += nodes.title("", _("For instructors"))
        note += self.parse_content_to_nodes()
        return [note]


def take_out(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take out of a page what its edition does not have."""
    edition = app.config.bookproof_edition
    for node in list(doctree.findall(nodes.Element)):
        is_solution = isinstance(node, solution_node) and edition == "students"
        is_note = node.get("teaches", False) and edition != "instructors"
        if (is_solution or is_note) and node.parent is not None:
            node.parent.remove(node)


def check_readers(app: Sphinx, config: Config) -> None:
    if config.bookproof_edition not in READERS:
        rule = f"bookproof_edition must be one of {READERS}"
        raise ConfigError(f"{rule}; got {config.bookproof_edition!r}")


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.outward")
    app.add_config_value("bookproof_repository", "", "html")
    app.add_config_value("bookproof_changes", "", "html", str)
    # Words of a link at the foot of each page, and the file that is made after the build.
    app.add_config_value("bookproof_files", {}, "html", dict)
    app.add_config_value("bookproof_edition", "", "env")
    app.add_directive("instructors", Instructors)
    app.connect("config-inited", check_readers)
    app.connect("doctree-resolved", take_out, priority=100)
    app.connect("env-check-consistency", check)
    app.connect("html-page-context", add_foot)
    app.connect("html-collect-pages", page_of_editions)
    app.connect("build-finished", write_card)
