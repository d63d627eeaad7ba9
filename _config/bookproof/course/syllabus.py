"""``{objectives}`` and ``{syllabus}``: what the chapters say of themselves, for a course.

``{objectives} One`` lists what the chapters promise of the part with that caption. Each line of a
``{syllabus}`` is a week and names its pages, as in ``chapters/one chapters/two``; without lines, every
chapter has a week. A place that knows lines of ``credit``, by page, has a column for them.
"""

from collections.abc import Iterable

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..html.places import containers, entry, number, table
from .facts import Facts, chapters

LOGGER = logging.getLogger(__name__)
HEADS = ("Week", "Read", "You will be able to", "Minutes", "Exercises", "Builds on")
WIDTHS = (6, 18, 34, 14, 20, 8)
CREDIT, CREDIT_WIDTH = "For credit", 16
SAID = {"main": "to read", "exercises": "for exercises"}


class Objectives(SphinxDirective):
    """Leave the place for a list, which is made when all pages are read."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return self.place(objectives=self.arguments[0])

    def place(self, **asked: object) -> list[nodes.Node]:
        self.env.metadata[self.env.docname]["shows_chapters"] = True
        place = nodes.container(**asked)
        self.set_source_info(place)
        return [place]


class Syllabus(Objectives):
    """Leave the place for a table, which is made when all pages are read."""

    required_arguments = 0
    has_content = True

    def run(self) -> list[nodes.Node]:
        return self.place(syllabus=[line.split() for line in self.content if line])


def showing(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages that show what others say; they are written at every build."""
    return [doc for doc, known in env.metadata.items() if "shows_chapters" in known]


def list_objectives(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in containers(doctree, "objectives"):
        docs = chapters(app.env, place["objectives"])
        if not docs:
            rule = "objectives: a part with chapters is named by its caption"
            LOGGER.warning("%s; got %r", rule, place["objectives"], location=place)
        items = []
        for doc, facts in docs.items():
            to_chapter = link(app, docname, doc, app.env.titles[doc].astext())
            promise = nodes.Text(f" you will be able to {facts.objectives}")
            said = nodes.paragraph("", "", nodes.Text("After "), to_chapter, promise)
            items.append(nodes.list_item("", said))
        place.replace_self(nodes.bullet_list("", *items))


def link(app: Sphinx, here: str, doc: str, words: str, anchor: str = "") -> nodes.reference:
    address = app.builder.get_relative_uri(here, doc) + (f"#{anchor}" if anchor else "")
    return nodes.reference("", words, refuri=address, internal=True)


def tabulate_weeks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in containers(doctree, "syllabus"):
        known, heads, widths, rows = chapters(app.env), [*HEADS], [*WIDTHS], []
        weeks = node["syllabus"] or [[doc] for doc in known]
        for doc in sorted({doc for week in weeks for doc in week} - set(known)):
            LOGGER.warning("syllabus: %r must be a chapter", doc, location=node)
        if credit := node.get("credit"):
            heads.append(CREDIT)
            widths.append(CREDIT_WIDTH)
        for count, week in enumerate(weeks, 1):
            for place, doc in enumerate(filter(known.__contains__, week)):
                cells = row(app, docname, doc, known[doc], "" if place else str(count))
                last = [lines(map(nodes.Text, credit.get(doc, ())))] if credit else []
                rows.append([*cells, *last])
        node.replace_self(table("syllabus", heads, rows, widths))


def row(app: Sphinx, here: str, doc: str, facts: Facts, week: str) -> list[nodes.entry]:
    titles, env = app.env.titles, app.env
    title = f"{number(env, doc)} {titles[doc].astext()}".strip()
    objectives = facts.objectives[:1].upper() + facts.objectives[1:]
    takes = [nodes.Text(f"{count} {SAID[part]}") for part, count in facts.minutes.items()]
    tasks = [link(app, here, doc, each.title, each.label) for each in facts.exercises]
    needed: list[nodes.Node] = []
    for other in filter(titles.__contains__, facts.needs):
        words = number(env, other) or titles[other].astext()
        needed += [nodes.Text(", "), link(app, here, other, words)]
    cells = [nodes.Text(week)], [link(app, here, doc, title)], [nodes.Text(objectives)]
    said = lines(takes), lines(tasks), entry(*needed[1:])
    return [*(entry(*cell) for cell in cells), *said]


def lines(words: Iterable[nodes.Text] | list[nodes.reference]) -> nodes.entry:
    """Return a cell with one thing a line."""
    return nodes.entry("", *[nodes.paragraph("", "", word) for word in words])


def setup(app: Sphinx) -> None:
    app.add_directive("objectives", Objectives)
    app.add_directive("syllabus", Syllabus)
    app.connect("env-updated", showing)
    app.connect("doctree-resolved", list_objectives)
    app.connect("doctree-resolved", tabulate_weeks)
