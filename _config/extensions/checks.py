"""Bind every labelled equation and every claim to the cell that checks it.

A cell with the option `:check: ID` verifies the equation or the claim of that id, on its own page;
`:by:` says how. The page shows a small mark beside the target, which opens the folded check.
An id with no check, two checks, or a check with no target fails a strict build, with the place.

The ledger lists all. Beside each check that draws it says how many shifts of all seeds are on
record under which the check held, with the cells of its page as they are.
"""

import json
import platform
import re
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

LOGGER = logging.getLogger(__name__)
WAYS = {
    "exact": "exactly, or to rounding",
    "oracle": "against an independent implementation",
    "property": "as a property, on random inputs",
    "seeds": "over many seeds",
}
DRAWS = {"property", "seeds"}
ID = re.compile(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*")
MARK = (
    '<a class="check-mark" href="#check-{name}" aria-label="How this {kind} is checked"'
    ' title="How this {kind} is checked"><span aria-hidden="true">✓</span></a>'
)
FOLD = '<details class="fold check"><summary>Check</summary><div id="check-{name}">'


@dataclass
class Target:
    """An equation or a claim: where it stands, and what the ledger says of it."""

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
        """Make a paragraph that can carry a mark."""
        self.assert_has_content()
        name = self.arguments[0]
        node = nodes.container(classes=["claim"], ids=[f"claim-{name}"], claim=name)
        self.set_source_info(node)
        node += self.parse_content_to_nodes()
        return [node]


class Ledger(SphinxDirective):
    """Show the table of every equation and claim of the book with its check."""

    def run(self) -> list[nodes.Node]:
        """Leave the place, to be filled when all pages are read."""
        return [nodes.container(ledger=True)]


def pages(env: BuildEnvironment) -> dict[str, Page]:
    """Return what all pages declare, kept in Sphinx's environment."""
    if not hasattr(env, "book_checks"):
        env.book_checks = {}  # type: ignore[attr-defined]
    return env.book_checks  # type: ignore[attr-defined]


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note a page's targets and checks, mark the targets, and fold the checks."""
    page = pages(app.env)[app.env.docname] = Page()
    for equation in list(doctree.findall(nodes.math_block)):
        if name := equation.get("label"):
            add_target(page, name, "equation", equation, nodes.inline())
            box = nodes.container(classes=["checked"])
            equation.parent[equation.parent.index(equation)] = box
            box += [equation, html(MARK, name=name, kind="equation")]
    times = app.env.metadata[app.env.docname].get("cell_seconds", [])
    page.cells = app.env.metadata[app.env.docname].get("cells_digest", "")
    for node in list(doctree.findall(nodes.container)):
        page.has_ledger |= "ledger" in node
        if name := node.get("claim"):
            add_target(page, name, "claim", node, in_the_ledger(node))
            node[-1] += html(MARK, name=name, kind="claim")
        if "check" in node.get("cell_metadata", {}):
            add_check(page, node, times)


def html(text: str, **names: str) -> nodes.raw:
    """Make a node of HTML."""
    safe = {key: escape(name) for key, name in names.items()}
    return nodes.raw("", text.format(**safe), format="html")


def warn_of_id(name: str, node: nodes.Element) -> None:
    """Warn of an id that could not be part of an address as it is."""
    if not ID.fullmatch(name):
        rule = "letters and digits, with hyphens between them"
        LOGGER.warning("an id must be made of %s; got %r", rule, name, location=node)


def in_the_ledger(claim: nodes.Element) -> nodes.inline:
    """Return the words and formulas of a claim, without its links."""
    keep = (nodes.Text, nodes.math)
    found = claim.findall(lambda node: isinstance(node, keep))
    outer = (node for node in found if not isinstance(node.parent, nodes.math))
    return nodes.inline("", "", *(node.deepcopy() for node in outer))


def add_target(page: Page, name: str, kind: str, node: nodes.Element, text: nodes.inline) -> None:
    """Note an equation or a claim."""
    warn_of_id(name, node)
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
    cell.parent.insert(place + 1, html("</div></details>"))
    cell.parent.insert(place, html(FOLD, name=name))


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
                place = f"which is on the page {homes[name]}"
                warn(doc, line, f"a cell checks {name!r}, {place}")


def warn(docname: str, line: int, message: str) -> None:
    """Warn at a place."""
    LOGGER.warning(message, location=(docname, line))


def ledgers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages with a ledger, to be written anew, if any check has changed."""
    before = getattr(env, "book_checks_shown", None)
    texts = [str(t.text) for page in pages(env).values() for t in page.targets.values()]
    shown = repr([pages(env), texts, shifts(app)])
    env.book_checks_shown = shown  # type: ignore[attr-defined]
    homes = [doc for doc, page in pages(env).items() if page.has_ledger]
    return [] if shown == before else homes


def fill_ledger(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the versions, and a table of the checks of each page, where a page asks for it."""
    for place in [node for node in doctree.findall(nodes.container) if "ledger" in node]:
        declared = {doc: pages(app.env).get(doc, Page()) for doc in reading_order(app.env)}
        checked = {doc: by_place(page) for doc, page in declared.items() if page.checks}
        parts = [ledger_of(app, docname, doc, checks) for doc, checks in checked.items()]
        first = nodes.paragraph("", first_sentence(app, sum(map(len, checked.values()))))
        place.replace_self([first, *parts])


def first_sentence(app: Sphinx, checks: int) -> str:
    """Say how many checks there are, with what they ran, and how many shifts are on record."""
    libraries = [f"{name} {version(name)}" for name in ("torch", "numpy", "matplotlib")]
    made = f"{checks} checks, run with Python {platform.python_version()}, {', '.join(libraries)}"
    number = len({shift for page in shifts(app).values() for shift in page["shifts"]})
    seen = f"; for those that draw, {number} shifts of all seeds are on record" if number else ""
    return f"{made}{seen}."


def shifts(app: Sphinx) -> dict[str, Any]:
    """Return, for each page by its name, which checks held under which shifts of all seeds."""
    file = Path(app.confdir, app.config.checks_shifts or "nothing")
    return json.loads(file.read_text("utf-8")) if file.is_file() else {}


def unseen(app: Sphinx, doc: str, check: Check) -> str:
    """Say under how many shifts a check held, if its page is as it was then."""
    if check.way not in DRAWS:
        return ""
    record = shifts(app).get(doc.rpartition("/")[2], {"digest": "", "shifts": {}})
    held = [shift[check.name] for shift in record["shifts"].values() if check.name in shift]
    known = held and record["digest"] == pages(app.env)[doc].cells
    return f"{sum(held)} of {len(held)}" if known else "–"


def by_place(page: Page) -> list[Check]:
    """Return the checks of a page in the order of what they check."""
    place = {name: target.line for name, target in page.targets.items()}
    return sorted(page.checks, key=lambda check: place.get(check.name, check.line))


def ledger_of(app: Sphinx, here: str, doc: str, checks: list[Check]) -> nodes.section:
    """Make the part of the ledger that belongs to one page."""
    name = nodes.inline("", app.env.titles[doc].astext())
    title = nodes.title("", "", make_refnode(app.builder, here, doc, "", name))
    rows = [ledger_row(app, here, doc, check) for check in checks]
    heads = ["what", "verified", *(["unseen seeds"] if shifts(app) else []), "seconds", "check"]
    return nodes.section("", title, table(heads, rows), ids=[f"ledger-{nodes.make_id(doc)}"])


def reading_order(env: BuildEnvironment) -> list[str]:
    """Return all pages in the order of the table of contents."""
    order, queue = [], [env.config.root_doc]
    while queue:
        doc = queue.pop(0)
        order.append(doc)
        queue = env.toctree_includes.get(doc, []) + queue
    return order


def ledger_row(app: Sphinx, here: str, doc: str, check: Check) -> list[nodes.Node]:
    """Make the cells of one row of the ledger."""
    target = pages(app.env)[doc].targets.get(check.name) or Target("claim", 0, nodes.inline())
    text = target.text.deepcopy()
    if target.kind == "equation":
        numbers = app.env.toc_fignumbers.get(doc, {}).get("displaymath", {})
        number = ".".join(map(str, numbers.get(f"equation-{check.name}", ())))
        text += nodes.Text(f"equation ({number})")

    def link(anchor: str, text: nodes.Node) -> nodes.Node:
        return make_refnode(app.builder, here, doc, anchor, text)

    return [
        link(f"{target.kind}-{check.name}", text),
        nodes.inline("", WAYS.get(check.way, check.way)),
        *([nodes.inline("", unseen(app, doc, check))] if shifts(app) else []),
        nodes.inline("", f"{check.seconds:.2f}"),
        link(f"check-{check.name}", nodes.literal("", check.name)),
    ]


def table(heads: list[str], rows: list[list[nodes.Node]]) -> nodes.table:
    """Make a table node."""
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _ in heads]
    group += nodes.thead("", table_row([nodes.inline("", head) for head in heads]))
    group += nodes.tbody("", *(table_row(row) for row in rows))
    return nodes.table("", group, classes=["ledger"])


def table_row(cells: list[nodes.Node]) -> nodes.row:
    """Make a row of a table node."""
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Drop what a page declared that is read anew or gone."""
    pages(env).pop(docname, None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directives and listeners."""
    app.add_config_value("checks_shifts", "", "", str)
    app.add_directive("claim", Claim)
    app.add_directive("ledger", Ledger)
    app.add_generic_role("given", nodes.inline)  # a number that no cell computes
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-get-updated", ledgers)
    app.connect("env-check-consistency", compare)
    app.connect("doctree-resolved", fill_ledger)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
