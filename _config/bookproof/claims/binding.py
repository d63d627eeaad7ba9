"""Note what a page states and what checks it, mark the one and fold the other."""

import re
from collections import Counter
from dataclasses import dataclass, field
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from ..html.places import containers
from ..words import N_, _

LOGGER = logging.getLogger(__name__)
WAYS = {
    "exact": N_("exactly, or to rounding"),
    "oracle": N_("against an independent implementation"),
    "property": N_("as a property, on random inputs"),
    "seeds": N_("over many seeds"),
    "run": N_("in one training run"),
}
ID = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
MARK = (
    '<a class="check-mark" href="#check-{name}" aria-label="{title}" title="{title}">'
    '<span aria-hidden="true">✓</span></a>'
)
# The name of a check is the label of its fold; right below its target, the fold is the mark.
FOLD = (
    '<details class="fold check{beside}"><summary><span class="tick" aria-hidden="true">✓</span>'
    '{label}: {words} <small>{way}</small></summary><div id="check-{name}">'
)


@dataclass
class Target:
    """An equation or a claim: its place, and its text in the ledger."""

    kind: str
    line: int
    text: nodes.inline


@dataclass
class Check:
    """A cell that checks a target: whose name it carries, how it does it, and how long it took."""

    name: str
    way: str
    line: int
    seconds: float


@dataclass
class Page:
    """What one page declares."""

    targets: dict[str, Target] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    has_ledger: bool = False
    cells: str = ""  # a digest of their code


class Claim(SphinxDirective):
    """Give a factual sentence the id that is the argument."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        name = self.arguments[0]
        node = nodes.container(classes=["claim"], ids=[f"claim-{name}"], claim=name)
        self.set_source_info(node)
        node += self.parse_content_to_nodes()
        return [node]


def pages(env: BuildEnvironment) -> dict[str, Page]:
    return vars(env).setdefault("bookproof_claims", {})


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note a page's targets and checks, mark the targets, and fold the checks."""
    page = pages(app.env)[app.env.docname] = Page()
    for equation in list(doctree.findall(nodes.math_block)):
        if name := equation.get("label"):
            add_target(page, name, "equation", equation, nodes.inline())
            box = nodes.container(classes=["checked"])
            equation.parent[equation.parent.index(equation)] = box
            box += [equation, html(MARK, name=name, title=_("How this equation is checked"))]
    metadata = app.env.metadata[app.env.docname]
    page.cells = metadata.get("cells_digest", "")
    page.has_ledger = bool(containers(doctree, "ledger"))
    for node in list(doctree.findall(nodes.container)):
        if name := node.get("claim"):
            add_target(page, name, "claim", node, in_the_ledger(node))
            node[-1] += html(MARK, name=name, title=_("How this claim is checked"))
        if "check" in node.get("cell_metadata", {}):
            add_check(page, node, metadata.get("cell_seconds", []))


def html(text: str, **names: str) -> nodes.raw:
    safe = {key: escape(name) for key, name in names.items()}
    return nodes.raw("", text.format(**safe), format="html")


def in_the_ledger(claim: nodes.Element) -> nodes.inline:
    """Return the words and formulas of a claim, without its links."""
    keep = (nodes.Text, nodes.math)
    found = claim.findall(lambda node: isinstance(node, keep))
    outer = (node for node in found if not isinstance(node.parent, nodes.math))
    return nodes.inline("", "", *(node.deepcopy() for node in outer))


def add_target(page: Page, name: str, kind: str, node: nodes.Element, text: nodes.inline) -> None:
    if not ID.fullmatch(name):
        rule = "letters and digits, with hyphens between them"
        LOGGER.warning("an id must be made of %s; got %r", rule, name, location=node)
    if name in page.targets:
        LOGGER.warning("two equations or claims are called %r", name, location=node)
    page.targets[name] = Target(kind, node.line or 0, text)


def add_check(page: Page, cell: nodes.Element, times: list[float]) -> None:
    """Note a check and fold its cell."""
    metadata, index = cell["cell_metadata"], cell["cell_index"]
    name, way = metadata["check"], metadata.get("by", "exact")
    if way not in WAYS:
        rule = f"it must be by one of {', '.join(WAYS)}"
        LOGGER.warning("check %r is by %r; %s", name, way, rule, location=cell)
    seconds = times[index] if index < len(times) else 0.0
    page.checks.append(Check(name, way, cell.line or 0, seconds))
    place = cell.parent.index(cell)
    beside = " beside" if place and unmark(cell.parent[place - 1], name) else ""
    words, way = name.replace("-", " "), _(WAYS.get(way, way))
    said = {"label": _("Check"), "words": words, "way": way}
    cell.parent.insert(place + 1, html("</div></details>"))
    cell.parent.insert(place, html(FOLD, name=name, beside=beside, **said))


def unmark(node: nodes.Node, name: str) -> bool:
    """Take the mark of a check off its target; tell whether this node was the target."""
    marks = [raw for raw in node.findall(nodes.raw) if f'href="#check-{name}"' in raw.astext()]
    for mark in marks:
        mark.parent.remove(mark)
    return bool(marks)


def compare(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of every target without its check, and of every check without its target."""
    homes = {name: doc for doc, page in pages(env).items() for name in page.targets}
    for doc, page in pages(env).items():
        counts = Counter(check.name for check in page.checks)
        for name, target in page.targets.items():
            if not counts[name]:
                warn(doc, target.line, f"nothing checks {name!r}")
        for name, line in {check.name: check.line for check in page.checks}.items():
            if counts[name] > 1:
                warn(doc, line, f"{counts[name]} cells check {name!r}; one must do it")
            if name not in homes:
                warn(doc, line, f"a cell checks {name!r}, and nothing has that id")
            elif homes[name] != doc:
                warn(doc, line, f"a cell checks {name!r}, which is on the page {homes[name]}")


def warn(docname: str, line: int, message: str) -> None:
    LOGGER.warning(message, location=(docname, line))


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    pages(env).pop(docname, None)
