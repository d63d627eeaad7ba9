"""Bind every labelled equation and every claim to the cell that checks it.

A cell with the option `:check: ID` verifies the equation or the claim of that id, on its own page;
`:by:` says how. The page shows a small mark beside the target, which opens the folded check.
An id with no check, two checks, or a check with no target fails a strict build, with the place.
"""

import platform
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode
from sphinx.writers.html5 import HTML5Translator

LOGGER = logging.getLogger(__name__)
WAYS = {
    "exact": "exactly, or to rounding",
    "oracle": "against an independent implementation",
    "property": "as a property, on random inputs",
    "seeds": "over many seeds",
}


@dataclass
class Check:
    """A cell that checks a target: whose name it carries, how it does it, and how long it took."""

    name: str
    way: str
    line: int
    seconds: float


@dataclass
class Page:
    """What one page declares: its targets with their texts and lines, and its checks."""

    targets: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    has_ledger: bool = False


class claim(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """A factual sentence with an id."""


class check_mark(nodes.General, nodes.Element):  # noqa: N801
    """The small mark that opens a check."""


class check_fold(nodes.General, nodes.Element):  # noqa: N801
    """A check cell, folded."""


class ledger(nodes.General, nodes.Element):  # noqa: N801
    """The place of the table of all checks."""


class Claim(SphinxDirective):
    """Give a factual sentence the id that is the argument."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make a paragraph that can carry a mark."""
        self.assert_has_content()
        node = claim(
            self.block_text,
            ids=[f"claim-{self.arguments[0]}"],
            name=self.arguments[0],
        )
        self.set_source_info(node)
        node += self.parse_content_to_nodes()
        return [node]


class Ledger(SphinxDirective):
    """Show the table of every equation and claim of the book with its check."""

    def run(self) -> list[nodes.Node]:
        """Leave the place, to be filled when all pages are read."""
        return [ledger()]


def pages(env: BuildEnvironment) -> dict[str, Page]:
    """Return what all pages declare, kept in Sphinx's environment."""
    if not hasattr(env, "book_checks"):
        env.book_checks = {}  # type: ignore[attr-defined]
    return env.book_checks  # type: ignore[attr-defined]


def is_check(node: nodes.Node) -> bool:
    """Tell whether a node is a code cell that carries the id of a target."""
    return isinstance(node, nodes.container) and "check" in node.get("cell_metadata", {})


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Note a page's targets and checks, mark the targets, and fold the checks."""
    page = pages(app.env)[app.env.docname] = Page()
    for node in list(doctree.findall(nodes.math_block)):
        if node.get("label"):
            add_target(page, node, node["label"], "equation")
            mark = check_mark(name=node["label"], what="equation")
            wrap(node, nodes.container(classes=["checked"])).append(mark)
    for node in doctree.findall(claim):
        add_target(page, node, node["name"], node.astext())
        node[-1] += check_mark(name=node["name"], what="claim")
    page.has_ledger = any(True for _ in doctree.findall(ledger))
    for cell in list(doctree.findall(is_check)):
        times = app.env.metadata[app.env.docname].get("cell_seconds", [])
        add_check(page, cell, times)


def add_target(page: Page, node: nodes.Element, name: str, text: str) -> None:
    """Note an equation or a claim."""
    if name in page.targets:
        LOGGER.warning("two equations or claims are called %r", name, location=node)
    page.targets[name] = text
    page.lines[name] = node.line or 0


def add_check(page: Page, cell: nodes.Element, times: list[float]) -> None:
    """Note a check and fold its cell."""
    metadata, index = cell["cell_metadata"], cell["cell_index"]
    name, way = metadata["check"], metadata.get("by", "exact")
    if way not in WAYS:
        rule = f"it must be by one of {', '.join(WAYS)}"
        LOGGER.warning("check %r is by %r; %s", name, way, rule, location=cell)
    seconds = times[index] if index < len(times) else 0.0
    page.checks.append(Check(name, way, cell.line or 0, seconds))
    wrap(cell, check_fold(name=name))


def wrap(node: nodes.Element, wrapper: nodes.Element) -> nodes.Element:
    """Put a node into a wrapper, at the node's place."""
    # Not by `replace_self`, which would give the node's id to the wrapper as well.
    node.parent[node.parent.index(node)] = wrapper
    wrapper += node
    return wrapper


def compare(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of every target without its check, and of every check without its target."""
    homes = {name: doc for doc, page in pages(env).items() for name in page.targets}
    for doc, page in pages(env).items():
        counts = Counter(check.name for check in page.checks)
        for name in page.targets.keys() - counts.keys():
            warn(doc, page.lines[name], f"nothing checks {name!r}")
        for check in {check.name: check for check in page.checks}.values():
            name, home = check.name, homes.get(check.name)
            if counts[name] > 1:
                times = f"{counts[name]} cells check {name!r}; one must do it"
                warn(doc, check.line, times)
            if home is None:
                warn(
                    doc,
                    check.line,
                    f"a cell checks {name!r}, and nothing has that id",
                )
            elif home != doc:
                warn(
                    doc,
                    check.line,
                    f"a cell checks {name!r}, which is on the page {home}",
                )


def ledgers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages with a ledger, to be written anew, if any check has changed."""
    before = getattr(env, "book_checks_shown", None)
    env.book_checks_shown = shown = repr(pages(env))  # type: ignore[attr-defined]
    homes = [doc for doc, page in pages(env).items() if page.has_ledger]
    return [] if shown == before else homes


def warn(docname: str, line: int, message: str) -> None:
    """Warn at a place."""
    LOGGER.warning(message, location=(docname, line))


def fill_ledger(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the table of all checks, and the versions, where a page asks for it."""
    for place in list(doctree.findall(ledger)):
        rows = [
            ledger_row(app, docname, doc, check)
            for doc in reading_order(app.env)
            for check in pages(app.env).get(doc, Page()).checks
        ]
        heads = ["what", "chapter", "verified", "seconds", "check"]
        libraries = [f"{name} {version(name)}" for name in ("torch", "numpy", "matplotlib")]
        made = f"Python {platform.python_version()}, {', '.join(libraries)}."
        made = f"{len(rows)} checks, run with {made}"
        place.replace_self([table(heads, rows), nodes.paragraph("", made)])


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
    name, title = check.name, app.env.titles[doc].astext()
    text = pages(app.env)[doc].targets.get(name, "")
    numbers = app.env.toc_fignumbers.get(doc, {}).get("displaymath", {})
    number = ".".join(map(str, numbers.get(f"equation-{name}", ())))
    is_equation = text == "equation"
    label = f"equation ({number})" if is_equation else text
    target = f"equation-{name}" if is_equation else f"claim-{name}"

    def link(anchor: str, text: nodes.Node) -> nodes.Node:
        return make_refnode(app.builder, here, doc, anchor, text)

    return [
        link(target, nodes.inline("", label)),
        link("", nodes.inline("", title)),
        nodes.inline("", WAYS.get(check.way, check.way)),
        nodes.inline("", f"{check.seconds:.2f}"),
        link(f"check-{name}", nodes.literal("", name)),
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


def write_mark(self: HTML5Translator, node: check_mark) -> None:
    """Write the mark as a link into the fold, which a browser then opens."""
    label = f"How this {node['what']} is checked"
    self.body.append(
        f'<a class="check-mark" href="#check-{node["name"]}" aria-label="{label}" '
        f'title="{label}"><span aria-hidden="true">✓</span></a>'
    )
    raise nodes.SkipNode


def open_fold(self: HTML5Translator, node: check_fold) -> None:
    """Begin a folded check."""
    self.body.append('<details class="fold check"><summary>Check</summary>\n')
    self.body.append(f'<div id="check-{node["name"]}">\n')


def close_fold(self: HTML5Translator, node: check_fold) -> None:
    """End a folded check."""
    self.body.append("</div></details>\n")


def open_claim(self: HTML5Translator, node: claim) -> None:
    """Begin a claim."""
    self.body.append(self.starttag(node, "div", CLASS="claim"))


def close_claim(self: HTML5Translator, node: claim) -> None:
    """End a claim."""
    self.body.append("</div>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register directives, nodes and listeners."""
    app.add_directive("claim", Claim)
    app.add_directive("ledger", Ledger)
    app.add_generic_role("given", nodes.inline)  # a number that no cell computes
    app.add_node(claim, html=(open_claim, close_claim))
    app.add_node(check_mark, html=(write_mark, None))
    app.add_node(check_fold, html=(open_fold, close_fold))
    app.add_node(ledger)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-get-updated", ledgers)
    app.connect("env-check-consistency", compare)
    app.connect("doctree-resolved", fill_ledger)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
