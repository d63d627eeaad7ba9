"""Tell search engines and link previews what a page is, and where it is, by `html_baseurl`."""

import json
import posixpath
import re
from html import escape, unescape
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from ..translations import original
from .figures import picture
from .opening import Opening, description, opening
from .places import is_written, on_a_site

NOWHERE = "404"
UNLISTED = {NOWHERE, "editions", "search"}  # no pages of the book
RELATIVE = re.compile(r'\b(href|src|action|data-content_root)( ?= ?)"(?!#|/|\w+:)(?:\./)?')
# Of panels as a wide page shows them.
WORDS = re.compile(r'<svg\b(?![^>]*class="narrow")[^>]*\baria-label="([^"]*)"')
Facts = dict[str, Any]


def address(app: Sphinx, pagename: str) -> str:
    """Return the address of a page, or an empty string as long as that of the site is not known."""
    site = app.config.html_baseurl
    if not site or pagename == NOWHERE:
        return ""
    here = "" if pagename == app.config.root_doc else app.builder.get_target_uri(pagename)
    folder = app.srcdir.name if original(app.srcdir) else ""
    return posixpath.join(site, folder, here)


def known(facts: Facts) -> Facts:
    return {name: fact for name, fact in facts.items() if fact}


def book_facts(app: Sphinx) -> Facts:
    config, site = app.config, app.config.html_baseurl
    image = config.bookproof_book.get("image", "")
    facts = {
        "@type": "Book",
        "name": config.project,
        "author": {"@type": "Organization", "name": config.author},
        "inLanguage": config.language,
        "version": config.release,
        "url": address(app, config.root_doc),
    }
    where = {"image": posixpath.join(site, image) if site and image else ""}
    return known(facts | config.bookproof_book | where)


def chapter_facts(app: Sphinx, pagename: str, begun: Opening) -> Facts:
    book = book_facts(app)
    shared = ("author", "inLanguage", "version", "license", "educationalLevel", "datePublished")
    facts = {
        "@type": "LearningResource",
        "learningResourceType": "chapter",
        "name": app.env.titles[pagename].astext(),
        "description": begun.promise,
        "teaches": begun.objectives,
        "timeRequired": f"PT{begun.minutes}M" if begun.minutes else "",
        "url": address(app, pagename),
        "isPartOf": known({name: book.get(name) for name in ("@type", "name", "url")}),
    }
    return known(facts | {name: book.get(name) for name in shared})


def card(app: Sphinx, pagename: str, doctree: nodes.document) -> Facts:
    """Return the picture that is shown where others link to a page: its own, or the book's."""
    config, title = app.config, app.env.titles[pagename].astext()
    # Cards are made of the pages of the original.
    has_own = config.bookproof_cards and is_written(config, pagename) and not original(app.srcdir)
    if not (config.html_baseurl and has_own):
        return {"og:image": book_facts(app).get("image", "")}
    place = config.bookproof_cards.format(page=pagename.rpartition("/")[2])
    drawn = next((node["markup"] for node in doctree.findall(picture)), "")
    words = unescape(" ".join(WORDS.findall(drawn)))
    return {
        "og:image": posixpath.join(config.html_baseurl, place),
        "og:image:alt": words or f"{title}. {description(doctree)}".strip(),
    }


def head(app: Sphinx, pagename: str, doctree: nodes.document) -> str:
    """Return the lines of a page's head for machines: Open Graph, and schema.org for a chapter."""
    is_cover, said = pagename == app.config.root_doc, description(doctree)
    shown = card(app, pagename, doctree)
    meta = {
        "description": said,
        "og:title": app.env.titles[pagename].astext(),
        "og:description": said,
        "og:type": "book" if is_cover else "article",
        "og:site_name": app.config.project,
        "og:url": address(app, pagename),
        **shown,
        "twitter:card": "summary_large_image" if shown["og:image"] else "",
    }
    lines = []
    for name, value in known(meta).items():
        key = "property" if name.startswith("og:") else "name"
        lines.append(f'<meta {key}="{name}" content="{escape(value)}" />')
    begun = opening(doctree)
    facts = chapter_facts(app, pagename, begun) if begun else {}
    if is_cover:
        facts = book_facts(app) | {"description": said}
    if facts:
        data = json.dumps({"@context": "https://schema.org"} | facts, ensure_ascii=False)
        safe = data.replace("</", "<\\/")
        lines.append(f'<script type="application/ld+json">{safe}</script>')
    return "\n".join(["", *lines])


def add_head(app: Sphinx, pagename: str, template: str, context: Any, doctree: Any) -> None:
    context["pageurl"] = address(app, pagename)
    if pagename in UNLISTED:
        context["metatags"] = '\n<meta name="robots" content="noindex" />'
    elif doctree is not None:
        context["metatags"] = context.get("metatags", "") + head(app, pagename, doctree)


def page_of_nowhere(app: Sphinx) -> list[tuple[str, dict[str, str], str]]:
    """Make the page that a server shows where there is none, if it is known where the site lives."""
    if not app.config.html_baseurl or original(app.srcdir):
        return []
    body = (
        "<h1>There is no such page</h1>\n"
        "<p>It may have moved, or the address has a slip of the pen in it.\n"
        f'<a href="{app.builder.get_target_uri(app.config.root_doc)}">The cover</a> lists all chapters,'
        ' and the <a href="search.html">search</a> knows every page.</p>'
    )
    return [(NOWHERE, {"title": "There is no such page", "body": body}, "page.html")]


@on_a_site
def finish(app: Sphinx) -> None:
    """Write the sitemap, and make the page of nowhere work at any depth."""
    if not app.config.html_baseurl or original(app.srcdir):
        return
    pages = sorted(app.env.found_docs)
    places = "".join(f"<url><loc>{escape(address(app, page))}</loc></url>\n" for page in pages)
    start = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns='
    sitemap = f'{start}"http://www.sitemaps.org/schemas/sitemap/0.9">\n{places}</urlset>\n'
    (app.outdir / "sitemap.xml").write_text(sitemap, "utf-8")
    nowhere, root = app.outdir / f"{NOWHERE}.html", urlsplit(app.config.html_baseurl).path
    html = RELATIVE.sub(rf'\1\2"{root}', nowhere.read_text("utf-8"))
    nowhere.write_text(html, "utf-8")


def with_slash(app: Sphinx, config: Config) -> None:
    if config.html_baseurl:
        config.html_baseurl = config.html_baseurl.rstrip("/") + "/"


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_book", {}, "html")
    app.add_config_value("bookproof_cards", "", "html")
    app.connect("config-inited", with_slash)
    app.connect("html-page-context", add_head)
    app.connect("html-collect-pages", page_of_nowhere)
    app.connect("build-finished", finish)
