"""``{objectives}``: what the chapters of a part promise, each in its own words.

The directive names a part by the caption of its table of contents, as in ``{objectives} One``.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .facts import chapters, facts_of

LOGGER = logging.getLogger(__name__)


class Objectives(SphinxDirective):
    """Leave the place for a list, which is made when all pages are read."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["shows_chapters"] = True
        place = nodes.container(objectives=self.arguments[0])
        self.set_source_info(place)
        return [place]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in [node for node in doctree.findall(nodes.container) if "objectives" in node]:
        docs = chapters(app.env, place["objectives"])
        if not docs:
            rule = "objectives: a part with chapters is named by its caption"
            LOGGER.warning("%s; got %r", rule, place["objectives"], location=place)
        place.replace_self(nodes.bullet_list("", *[item(app, docname, doc) for doc in docs]))


def item(app: Sphinx, here: str, doc: str) -> nodes.list_item:
    facts = facts_of(app.env, doc)
    promise = nodes.Text(f" you can {facts.objectives if facts else ''}")
    after = nodes.Text("After ")
    return nodes.list_item("", nodes.paragraph("", "", after, link(app, here, doc), promise))


def link(app: Sphinx, here: str, doc: str, words: str = "", anchor: str = "") -> nodes.reference:
    address = app.builder.get_relative_uri(here, doc) + (f"#{anchor}" if anchor else "")
    words = words or app.env.titles[doc].astext()
    return nodes.reference("", words, refuri=address, internal=True)


def showing(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that show what others say; they are written at every build."""
    return [doc for doc, known in env.metadata.items() if "shows_chapters" in known]


def setup(app: Sphinx) -> None:
    app.add_directive("objectives", Objectives)
    app.connect("env-updated", showing)
    app.connect("doctree-resolved", fill)
