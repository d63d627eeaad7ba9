"""The cover: ``{begin}`` leads to the first page and chapter, ``{chapters}`` shows all chapters.

Order, parts and numbers are those of the tables of contents of the page. A chapter shows the promise
and the minutes of its opening, and its first picture, made small. Another page in a part with chapters
shows the promise in its front matter, or else its first sentence, and its minutes.
"""

import re
from dataclasses import dataclass
from html import escape
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from ..translations import original
from ..words import _
from .minutes import minutes, parts_of
from .opening import description, opening
from .places import containers, link, number, title

SVG = "http://www.w3.org/2000/svg"
WORDS = {"text", "title", "desc", "metadata"}  # what cannot be read at this size
DRAWN = {"path", "use", "rect", "circle", "line", "polyline", "polygon", "ellipse", "image"}


@dataclass
class Shown:
    """What the cover shows of a page: a sentence, the minutes that it takes, a small picture."""

    promise: str = ""
    minutes: int = 0
    picture: str = ""
    is_chapter: bool = False


class Cover(SphinxDirective):
    """Show the part of the cover that the name of the directive names."""

    def run(self) -> list[nodes.Node]:
        return [nodes.container(cover=self.name)]


def note_shown(app: Sphinx, doctree: nodes.document) -> None:
    """Note what the cover shows of a page that was just read."""
    noted, said = app.env.metadata[app.env.docname], opening(doctree)
    promise = noted.get("promise") or description(doctree).removeprefix(_("You will") + " ")
    takes = said.minutes if said else minutes(parts_of(doctree))
    sentence = re.split(r"(?<=[.!?])\s", promise, maxsplit=1)[0]
    shown = Shown(
        sentence[:1].upper() + sentence[1:], takes, key_picture(doctree), said is not None
    )
    noted["cover"] = shown


# -- Small pictures ----------------------------------------------------------------


def key_picture(doctree: nodes.document) -> str:
    """Return the first picture of a page, made small."""
    found = (node.get("markup", "") for node in doctree.findall(nodes.Element))
    svgs = (svg for markup in found for svg in re.findall(r"<svg\b.*?</svg>", markup, re.DOTALL))
    return next(filter(None, map(small, svgs)), "")


def small(svg: str) -> str:
    """Return a picture without its words and its size; nothing, if it is made of words.

    Example:
        >>> small('<svg width="9pt" viewBox="0 0 9 9"><text>nine</text><path d="M0 0h9"/></svg>')
        '<svg viewBox="0 0 9 9"><path d="M0 0h9" /></svg>'
        >>> small('<svg><text>nine</text></svg>')
        ''
    """

    def kind(element: ElementTree.Element) -> str:
        return element.tag.rpartition("}")[2]

    ElementTree.register_namespace("", SVG)
    picture = ElementTree.fromstring(svg)
    for parent in list(picture.iter()):
        for child in [child for child in parent if kind(child) in WORDS]:
            parent.remove(child)
    for name in ("width", "height", "role", "aria-label", "class", "style"):
        picture.attrib.pop(name, None)
    drawn = any(kind(element) in DRAWN for element in picture.iter())
    return ElementTree.tostring(picture, encoding="unicode") if drawn else ""


# -- The cover ---------------------------------------------------------------------


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in containers(doctree, "cover"):
        trees = list(app.env.get_doctree(docname).findall(addnodes.toctree))
        write = {"begin": begin, "chapters": chapters}[place["cover"]]
        place.replace_self(nodes.raw("", write(app, docname, trees), format="html"))


def begin(app: Sphinx, here: str, trees: list[addnodes.toctree]) -> str:
    """Return a link to the first page and, if that is no chapter, a second one to the first chapter."""
    docs = [doc for tree in trees for doc in tree["includefiles"] if doc in app.env.titles]
    chapters = [doc for doc in docs if shown_of(app.env, doc).is_chapter]
    if not chapters:
        return ""
    first, chapter = docs[0], chapters[0]
    counted = number(app.env, chapter)
    words = _("Begin with")
    if first == chapter and counted:
        words = _("Begin with chapter {n}").format(n=counted)
    address = app.builder.get_relative_uri(here, first)
    ways = f'<a href="{address}"><span>{words}</span> {title(app.env, first)}</a>'
    if first != chapter:
        words = _("or with chapter {n}:").format(n=counted) if counted else _("or with")
        ways += f'<span class="or">{words} {link(app, here, chapter)}</span>'
    return f'<p class="begin">{ways}</p>'


def chapters(app: Sphinx, here: str, trees: list[addnodes.toctree]) -> str:
    parts = "".join(part(app, here, tree) for tree in trees)
    if original(app.srcdir):
        words = _("All chapters of the original")
        parts += f'<p class="original"><a href="../{app.config.root_doc}.html">{words}</a></p>'
    return f'<div class="chapters">{parts}</div>'


def part(app: Sphinx, here: str, tree: addnodes.toctree) -> str:
    """Return a part of the book: with all that its chapters promise, or a line of links."""
    docs = [doc for doc in tree["includefiles"] if doc in app.env.titles]
    has_chapters = any(shown_of(app.env, doc).is_chapter for doc in docs)
    kind, write = ("full", chapter) if has_chapters else ("plain", page)
    items = "".join(f'<li data-page="{doc}">{write(app, here, doc)}</li>' for doc in docs)
    heading = f"<h3>{escape(tree['caption'])}</h3>" if tree["caption"] else ""
    return f'<section class="part">{heading}<ol role="list" class="{kind}">{items}</ol></section>'


def chapter(app: Sphinx, here: str, doc: str) -> str:
    shown = shown_of(app.env, doc)
    takes = f"{shown.minutes} " + _("minutes") if shown.minutes else ""
    return (
        f'<span class="number">{number(app.env, doc)}</span>'
        f'<div><p class="title">{link(app, here, doc)}</p>'
        f'<p class="promise">{escape(shown.promise)}</p>'
        f'<p class="takes">{takes} <span class="seen"></span></p></div>'
        f'<span class="thumbnail" aria-hidden="true">{shown.picture}</span>'
    )


def page(app: Sphinx, here: str, doc: str) -> str:
    return f'<span class="number">{number(app.env, doc)}</span> {link(app, here, doc)}'


def shown_of(env: BuildEnvironment, doc: str) -> Shown:
    return env.metadata[doc].get("cover", Shown())


def setup(app: Sphinx) -> None:
    app.add_directive("begin", Cover)
    app.add_directive("chapters", Cover)
    app.connect("doctree-read", note_shown, priority=900)  # figures are made by then
    app.connect("doctree-resolved", fill)
