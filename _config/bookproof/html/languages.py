"""A book in several languages: a switch on each page, links to the original, and its changes.

The site of a translation is a folder in the site of its original, named for its language. Links to pages
that are not translated lead to the original, which is built first.
"""

import json
import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple

from babel import Locale
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.locale import _ as of_sphinx
from sphinx.util import logging

from ..translations import FOLDER, is_current, original, translations
from ..words import _, known, speak
from .elements import Anchor
from .places import on_a_site, pages_as_written

LOGGER = logging.getLogger(__name__)
ENGLISH = "en"  # the language of each original
SCRIPT = "words.js"
OWN = ("addresses", "changes", "files", "lettered", "redirects", "reference", "run", "sheet_card")
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


class Tongue(NamedTuple):
    """A language in which there is a page: its code, its name in itself, the page's address."""

    code: str
    name: str
    address: str


def settle(app: Sphinx, config: Config) -> None:
    """Speak the language of the book; leave to the original what only that has."""
    speak(config.language)
    if not original(app.srcdir):
        config.exclude_patterns = [*config.exclude_patterns, f"{FOLDER}/**"]
        return
    for name in (f"bookproof_{name}" for name in OWN):
        if name in config:
            config[name] = type(config[name])()
    kinds = {"figure": _("Figure"), "table": _("Table"), "code-block": _("Listing")}
    config.numfig_format = {kind: f"{word} %s" for kind, word in kinds.items()}
    config.nb_code_prompt_show = _("Show the {type}")
    # The cells are those of the original, and so are their results.
    config.nb_execution_cache_path = str(app.outdir.parents[1] / ".jupyter_cache")
    config.intersphinx_mapping = {ENGLISH: ("..", str(app.outdir.parent / "objects.inv"))}
    # Sphinx's own would make a function of a text, which no page allows.
    config.bookproof_only_with = {**config.bookproof_only_with, "translations.js": ""}


# -- The switch -------------------------------------------------------------------


def tongues(app: Sphinx, page: str) -> list[Tongue]:
    """Return the languages of a page, if there are several; of a translation once it is on the site."""
    source = original(app.srcdir) or app.srcdir
    found = {file.relative_to(source).parts[1] for file, _of in translations(source, page)}
    if source == app.srcdir:
        found = {code for code in found if (app.outdir / code / f"{page}.html").is_file()}
    if not found or not (source / f"{page}.md").is_file():
        return []
    return [tongue(app, page, code) for code in (ENGLISH, *sorted(found))]


def tongue(app: Sphinx, page: str, code: str) -> Tongue:
    locale = Locale.parse(code, sep="-")
    name = str(locale.get_display_name())
    folder = "" if code == ENGLISH else f"{code}/"
    lasting = str(locale).replace("_", "-")
    return Tongue(lasting, name[:1].upper() + name[1:], f"{root(app, page)}{folder}{page}.html")


def root(app: Sphinx, page: str) -> str:
    """Return the way from a page to the site of the original."""
    return "../" * (page.count("/") + bool(original(app.srcdir)))


def hand_over(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Give templates the words and the languages; say of each link to the original that it is one."""
    context["_"] = lambda text: known.get(text) or of_sphinx(text)
    context["languages"] = tongues(app, page) if doctree is not None else []
    if original(app.srcdir) and doctree is not None:
        link = re.compile(rf'<a (?=[^>]*href="{re.escape(root(app, page))})')
        context["body"] = link.sub(f'<a hreflang="{ENGLISH}" ', context["body"])


def switched(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that are in other languages than when they were written."""
    now = {doc: tongues(app, doc) for doc in env.found_docs}
    before = vars(env).get("bookproof_tongues", {})
    vars(env)["bookproof_tongues"] = now
    return [doc for doc in now if now[doc] != before.get(doc, [])]


# -- On a page that was just read ---------------------------------------------------


def translate(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the addresses of the original, lead on to its pages, and say if it has changed."""
    if not (source := original(app.srcdir)):
        return
    page = app.env.docname
    for section in doctree.findall(nodes.section):
        own = nodes.make_id(section[0].astext())  # which comes of the translated title
        section["ids"].sort(key=lambda name, own=own: nodes.make_id(name) == own)
    for link in list(doctree.findall(pending_xref)):
        if link["reftype"] == "myst" and not link["refdomain"]:
            lead_on(app, link, source)
    if (file := source / f"{page}.md").is_file():
        app.env.note_dependency(file)
        title = doctree.next_node(nodes.title)
        if title and not is_current(Path(app.env.doc2path(page)), file):
            title.parent.insert(1, changed(f"{root(app, page)}{page}.html"))


def lead_on(app: Sphinx, link: nodes.Element, source: Path) -> None:
    """Let a link to a page that is not translated lead to the original."""
    page = app.env.docname
    path, _mark, anchor = link["reftarget"].partition("#")
    doc = normpath(join(dirname(page), path)).removesuffix(".md")
    if path.endswith(".md") and (file := source / f"{doc}.md").is_file():
        address = f"{root(app, page)}{doc}.html" + (f"#{anchor}" if anchor else "")
        title = TITLE.search(file.read_text("utf-8"))
        named = Anchor("", nodes.Text(title[1] if title else doc), open=f'span lang="{ENGLISH}"')
        words = link.children if link["refexplicit"] else [named]
        link.replace_self(nodes.reference("", "", *words, refuri=address))


def changed(address: str) -> nodes.Element:
    said = nodes.Text(_("The original has changed since this translation was made.") + " ")
    link = nodes.reference("", _("The original"), refuri=address)
    return nodes.note("", nodes.paragraph("", "", said, link), classes=["changed"])


# -- The site ---------------------------------------------------------------------


def write_words(app: Sphinx) -> None:
    """Write the words of the scripts, where Sphinx's own function finds them."""
    if original(app.srcdir):
        app.add_js_file(SCRIPT, priority=300)
        file = app.outdir / "_static" / SCRIPT
        file.parent.mkdir(parents=True, exist_ok=True)
        words = json.dumps(known, ensure_ascii=False)
        file.write_text(f"Object.assign(Documentation.TRANSLATIONS, {words});\n", "utf-8")


@on_a_site
def check(app: Sphinx) -> None:
    """Warn of each link to the original that leads nowhere."""
    if not original(app.srcdir):
        return
    siblings = set(app.srcdir.parent.iterdir())
    for page, html in pages_as_written(app).items():
        start = re.escape(root(app, page))
        for doc, anchor in set(re.findall(rf'href="{start}([^"#]+\.html)#?([^"]*)"', html)):
            file = app.outdir.parent / doc
            text = file.read_text("utf-8") if file.is_file() else ""
            is_there = bool(text) and (not anchor or f'id="{anchor}"' in text)
            if not is_there and app.srcdir.parent / doc.partition("/")[0] not in siblings:
                LOGGER.warning("the original has no %s#%s", doc, anchor, location=page)


def setup(app: Sphinx) -> None:
    app.setup_extension(f"{__package__}.elements")
    if original(app.srcdir):
        app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", settle, priority=1)
    app.connect("builder-inited", write_words)
    app.connect("doctree-read", translate, priority=90)
    app.connect("env-updated", switched)
    app.connect("html-page-context", hand_over, priority=960)
    app.connect("build-finished", check, priority=405)  # before the build counts its warnings
