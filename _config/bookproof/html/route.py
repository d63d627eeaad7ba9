"""``{route}``: a short way through marked passages of the book.

Each line of it names a section and its minutes, as in ``chapters/one.md#the-question 5``.
The list shows the sections' own titles; each passage says that it is one, and leads to the next.
"""

import re
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .places import containers

LOGGER = logging.getLogger(__name__)
STOP = re.compile(r"(?P<doc>\S+)\.md#(?P<anchor>\S+) (?P<minutes>\d+)")


class Stop(NamedTuple):
    """A passage: the page, the section, and how long it takes."""

    doc: str
    anchor: str
    minutes: int


class Route(NamedTuple):
    """The stops in their order, and the page that lists them."""

    home: str = ""
    stops: tuple[Stop, ...] = ()


class RouteDirective(SphinxDirective):
    """Note the stops of the route, which are the lines of the content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = {line: STOP.fullmatch(line) for line in self.content if line}
        for line in [line for line, found in lines.items() if not found]:
            LOGGER.warning("route: a line is PAGE.md#SECTION MINUTES; got %r", line)
        stops = (Stop(m["doc"], m["anchor"], int(m["minutes"])) for m in lines.values() if m)
        vars(self.env)["bookproof_route"] = Route(self.env.docname, tuple(stops))
        return [nodes.container(route=True)]


def route_of(env: BuildEnvironment) -> Route:
    return vars(env).get("bookproof_route", Route())


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    if route_of(env).home == docname:
        vars(env)["bookproof_route"] = Route()


def marked(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """Return the pages on the old route and on the new one, to be written anew if it has changed."""
    before, now = vars(env).get("bookproof_route_before", Route()), route_of(env)
    vars(env)["bookproof_route_before"] = now
    for stop in now.stops:
        if not title(env, stop):
            LOGGER.warning("route: there is no %s.md#%s", stop.doc, stop.anchor, location=now.home)
    docs = {stop.doc for stop in (*before.stops, *now.stops)}
    return docs & env.all_docs.keys() if before != now else set()


def title(env: BuildEnvironment, stop: Stop) -> str:
    """Return the title of a section, or nothing where there is no such section."""
    for entry in env.tocs.get(stop.doc, nodes.Element()).findall(nodes.reference):
        if entry["anchorname"] == f"#{stop.anchor}":
            return entry.astext()
    return ""


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the list of stops where it belongs, and mark the passages of a page."""
    route = route_of(app.env)
    for place in containers(doctree, "route"):
        stops = "".join(f"<li>{entry(app, docname, stop)}</li>" for stop in route.stops)
        text = f'<ol class="route" id="route">{stops}</ol>'
        place.replace_self(nodes.raw("", text, format="html"))
    for index, stop in enumerate(route.stops):
        if stop.doc == docname:
            mark(app, doctree, route, index)


def entry(app: Sphinx, here: str, stop: Stop) -> str:
    """Return the title of a passage as a link to it, its chapter and its minutes."""
    chapter = escape(app.env.titles[stop.doc].astext())
    address = f"{app.builder.get_relative_uri(here, stop.doc)}#{stop.anchor}"
    about = f"<small>{chapter}, {stop.minutes} minutes</small>"
    return f'<a href="{address}">{escape(title(app.env, stop))}</a> {about}'


def mark(app: Sphinx, doctree: nodes.document, route: Route, index: int) -> None:
    """Say above a passage which stop it is, and behind it where the next one is."""
    stop, following = route.stops[index], route.stops[index + 1 : index + 2]
    home = f"{app.builder.get_relative_uri(stop.doc, route.home)}#route"
    minutes = sum(stop.minutes for stop in route.stops)
    name = f'<a href="{home}">{minutes}-minute route</a>'
    for section in doctree.findall(nodes.section):
        if stop.anchor in section["ids"]:
            section.insert(1, line(f"Stop {index + 1} of {len(route.stops)} on the {name}"))
            for after in following:
                section += line(f"Next on the {name}: {entry(app, stop.doc, after)}")


def line(text: str) -> nodes.raw:
    return nodes.raw("", f'<p class="route-stop">{text}</p>', format="html")


def setup(app: Sphinx) -> None:
    app.add_directive("route", RouteDirective)
    app.connect("env-purge-doc", forget)
    app.connect("env-get-updated", marked)
    app.connect("doctree-resolved", fill)
