"""``{syllabus}``: a table of weeks, made of what the chapters say of themselves.

Each line of its content is a week and names the pages to be read, as in ``chapters/one chapters/two``.
Without content, every chapter has a week.
"""

from collections.abc import Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .facts import Facts, chapters, facts_of, number
from .objectives import link

LOGGER = logging.getLogger(__name__)
HEADS = ("Week", "Read", "Afterwards you can", "Minutes", "Exercises", "Builds on")
WIDTHS = (6, 18, 34, 14, 20, 8)
SAID = {"main": "to read", "deeper": "deeper", "exercises": "for exercises"}


class Syllabus(SphinxDirective):
    """Leave the place for a table, which is made when all pages are read."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["shows_chapters"] = True
        place = nodes.container(syllabus=[line.split() for line in self.content if line])
        self.set_source_info(place)
        return [place]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in [node for node in doctree.findall(nodes.container) if "syllabus" in node]:
        weeks = place["syllabus"] or [[doc] for doc in chapters(app.env)]
        unknown = {doc for week in weeks for doc in week} - set(chapters(app.env))
        for doc in sorted(unknown):
            LOGGER.warning("syllabus: %r must be a chapter", doc, location=place)
        kept = [[doc for doc in week if doc not in unknown] for week in weeks]
        place.replace_self(table(app, docname, kept))


def table(app: Sphinx, here: str, weeks: list[list[str]]) -> nodes.table:
    """Return a table with a row for each chapter; a week's first row names the week."""
    body = nodes.tbody()
    for count, week in enumerate(weeks, 1):
        for place, doc in enumerate(week):
            if facts := facts_of(app.env, doc):
                body += row(app, here, doc, facts, "" if place else str(count))
    columns = [nodes.colspec(colwidth=width) for width in WIDTHS]
    head = nodes.thead("", nodes.row("", *[entry(nodes.Text(head)) for head in HEADS]))
    group = nodes.tgroup("", *columns, head, body, cols=len(HEADS))
    return nodes.table("", group, classes=["syllabus"])


def row(app: Sphinx, here: str, doc: str, facts: Facts, week: str) -> nodes.row:
    title = f"{number(app.env, doc)} {app.env.titles[doc].astext()}".strip()
    told = facts.objectives[:1].upper() + facts.objectives[1:]
    takes = [nodes.Text(f"{count} {SAID[part]}") for part, count in facts.minutes.items()]
    tasks = [link(app, here, doc, each.title, each.label) for each in facts.exercises]
    needed = [
        link(app, here, other, number(app.env, other) or app.env.titles[other].astext())
        for other in facts.needs
        if other in app.env.titles
    ]
    read, can = entry(link(app, here, doc, title)), entry(nodes.Text(told))
    parts = [entry(nodes.Text(week)), read, can, lines(takes), lines(tasks)]
    return nodes.row("", *parts, entry(*between(needed)))


def entry(*words: nodes.Node) -> nodes.entry:
    return nodes.entry("", nodes.paragraph("", "", *words))


def lines(words: Sequence[nodes.Node]) -> nodes.entry:
    return nodes.entry("", *[nodes.paragraph("", "", word) for word in words])


def between(words: list[nodes.reference]) -> list[nodes.Node]:
    parts = [part for word in words for part in (nodes.Text(", "), word)]
    return parts[1:]


def setup(app: Sphinx) -> None:
    app.add_directive("syllabus", Syllabus)
    app.connect("doctree-resolved", fill)
