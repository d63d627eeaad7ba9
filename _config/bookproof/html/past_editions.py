"""Keep editions apart where a site has several: the newest at its root, each under its version.

Where the book lives is Sphinx's own `html_baseurl`; an edition stays at `v1.0/` below it, so that
what is cited does not change. `editions.html` lists them all. A build knows only its own edition;
who puts several side by side writes the list again, by `shelf`, from their files `edition.json`.
"""

import json
from collections.abc import Iterable
from datetime import date
from html import escape
from pathlib import Path

from babel.dates import format_date
from sphinx.application import Sphinx

SHELF = "editions"
CARD = "edition.json"
Editions = Iterable[dict[str, str]]


def folder(version: str) -> str:
    """Return where the edition of a version stays, below the site.

    Example:
        >>> folder("1.0")
        'v1.0/'
    """
    return f"v{version}/"


def lasting(app: Sphinx, address: str) -> str:
    """Return the address of a page in its edition, or an empty string where it has none."""
    site = app.config.html_baseurl
    return f"{site}{folder(app.config.release)}{address.removeprefix(site)}" if address else ""


def this_edition(app: Sphinx) -> dict[str, str]:
    return {
        "version": app.config.release,
        "date": app.config.bookproof_book.get("datePublished", ""),
    }


def written(day: date, language: str = "en") -> str:
    """Return a date in words of the book's language, whatever that of the machine.

    Example:
        >>> written(date(2026, 5, 4))
        '4 May 2026'
    """
    return format_date(day, "d MMMM yyyy", locale=language)


def shelf(editions: Editions, language: str = "en", root: str = "") -> str:
    """Return a list of editions, as they come, with links to where each stays below the root.

    Example:
        >>> print(shelf([{"version": "1.0", "date": ""}]))
        <ul class="editions">
        <li><a href="v1.0/index.html">Version 1.0</a></li>
        </ul>
    """
    lines = []
    for one in editions:
        version, day = escape(one["version"]), one["date"]
        when = f", {written(date.fromisoformat(day), language)}" if day else ""
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
        f"{shelf([this_edition(app)], app.config.language)}"
    )
    return [(SHELF, {"title": "All editions", "body": body}, "page.html")]


def write_card(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        told = json.dumps(this_edition(app)) + "\n"
        Path(app.outdir, CARD).write_text(told, "utf-8")


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.outward")
    app.connect("html-collect-pages", page_of_editions)
    app.connect("build-finished", write_card)
