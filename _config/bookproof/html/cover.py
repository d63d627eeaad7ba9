"""The cover: ``{begin}`` leads to the first chapter, ``{chapters}`` shows them all.

Nothing is written twice: order, parts and numbers are those of the tables of contents of the page;
sentence, minutes and picture are what each chapter says and shows first. A chapter opens with an
admonition of the class ``opening``, in which **You will** and **Time** begin what is shown here.
Its picture is its first, or the one within the figure that its front matter calls ``key_figure``.
Another page in a part with chapters shows its first sentence, and minutes that are counted.
"""

import re
from dataclasses import dataclass
from html import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .minutes import minutes, parts_of
from .opening import description, opening
from .thumbnails import key_picture


@dataclass
class Shown:
    """What the cover shows of a page: a sentence, the minutes that it takes, a small picture."""

    promise: str = ""
    minutes: int = 0
    picture: str = ""
    is_chapter: bool = False


class Cover(SphinxDirective):
    """Show a part of the cover, which the name of the directive says."""

    def run(self) -> list[nodes.Node]:
        return [nodes.container(cover=self.name)]


# -- What a page says of itself ----------------------------------------------------


def look_inside(app: Sphinx, doctree: nodes.document) -> None:
    """Note what the cover shows of a page that was just read."""
    metadata = app.env.metadata[app.env.docname]
    picture = key_picture(app, doctree, metadata.get("key_figure", ""))
    if said := opening(doctree):
        shown = Shown(first_sentence(said.promise), said.minutes, picture, is_chapter=True)
    else:
        takes = minutes(parts_of(doctree))
        shown = Shown(first_sentence(description(doctree)), takes, picture)
    metadata["cover"] = shown


def first_sentence(promise: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", promise.removeprefix("You will "), maxsplit=1)[0]
    return sentence[:1].upper() + sentence[1:]


# -- The cover ---------------------------------------------------------------------


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in [node for node in doctree.findall(nodes.container) if "cover" in node]:
        trees = list(app.env.get_doctree(docname).findall(addnodes.toctree))
        write = {"begin": begin, "chapters": chapters}[place["cover"]]
        place.replace_self(nodes.raw("", write(app, docname, trees), format="html"))


def begin(app: Sphinx, here: str, trees: list[addnodes.toctree]) -> str:
    docs = (doc for tree in trees for doc in tree["includefiles"])
    first = next((doc for doc in docs if shown_of(app, doc).is_chapter), None)
    if first is None:
        return ""
    counted = number(app, first)
    label = f"<span>{f'Begin with chapter {counted}' if counted else 'Begin with'}</span>"
    address = app.builder.get_relative_uri(here, first)
    return f'<p class="begin"><a href="{address}">{label} {title(app, first)}</a></p>'


def chapters(app: Sphinx, here: str, trees: list[addnodes.toctree]) -> str:
    return f'<div class="chapters">{"".join(part(app, here, tree) for tree in trees)}</div>'


def part(app: Sphinx, here: str, tree: addnodes.toctree) -> str:
    """Return a part of the book: with all that its chapters promise, or a line of links."""
    docs = [doc for doc in tree["includefiles"] if doc in app.env.titles]
    has_chapters = any(shown_of(app, doc).is_chapter for doc in docs)
    kind, write = ("full", chapter) if has_chapters else ("plain", page)
    items = "".join(f'<li data-page="{doc}">{write(app, here, doc)}</li>' for doc in docs)
    heading = f"<h3>{escape(tree['caption'])}</h3>" if tree["caption"] else ""
    return f'<section class="part">{heading}<ol role="list" class="{kind}">{items}</ol></section>'


def chapter(app: Sphinx, here: str, doc: str) -> str:
    shown = shown_of(app, doc)
    takes = f"{shown.minutes} minutes" if shown.minutes else ""
    return (
        f'<span class="number">{number(app, doc)}</span>'
        f'<div><p class="title">{link(app, here, doc)}</p>'
        f'<p class="promise">{escape(shown.promise)}</p>'
        f'<p class="takes">{takes} <span class="seen"></span></p></div>'
        f'<span class="thumbnail" aria-hidden="true">{shown.picture}</span>'
    )


def page(app: Sphinx, here: str, doc: str) -> str:
    return f'<span class="number">{number(app, doc)}</span> {link(app, here, doc)}'


def shown_of(app: Sphinx, doc: str) -> Shown:
    return app.env.metadata[doc].get("cover", Shown())


def link(app: Sphinx, here: str, doc: str) -> str:
    return f'<a href="{app.builder.get_relative_uri(here, doc)}">{title(app, doc)}</a>'


def title(app: Sphinx, doc: str) -> str:
    return escape(app.env.titles[doc].astext())


def number(app: Sphinx, doc: str) -> str:
    return ".".join(map(str, app.env.toc_secnumbers.get(doc, {}).get("", ())))


def setup(app: Sphinx) -> None:
    app.add_directive("begin", Cover)
    app.add_directive("chapters", Cover)
    app.connect("doctree-read", look_inside, priority=900)  # figures are made by then
    app.connect("doctree-resolved", fill)
