"""The ledger: the table of every equation and claim of the book with its check."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from ..html.places import containers, entry, reading_order, table
from ..verify.reseeded import read
from .binding import WAYS, Check, Page, Target, pages

DRAWS = {"property", "run", "seeds"}


class Ledger(SphinxDirective):
    """Show the table of every equation and claim of the book with its check."""

    def run(self) -> list[nodes.Node]:
        return [nodes.container(ledger=True)]


def ledgers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages with a ledger, to be written anew, if any check has changed."""
    texts = [str(t.text) for page in pages(env).values() for t in page.targets.values()]
    shown = repr([pages(env), texts, shifts(app)])
    if shown == vars(env).get("bookproof_ledger"):
        return []
    vars(env)["bookproof_ledger"] = shown
    return [doc for doc, page in pages(env).items() if page.has_ledger]


def fill_ledger(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in containers(doctree, "ledger"):
        declared = {doc: pages(app.env).get(doc, Page()) for doc in reading_order(app.env)}
        checked = {doc: in_order(page) for doc, page in declared.items() if page.checks}
        parts = [ledger_of(app, docname, doc, checks) for doc, checks in checked.items()]
        first = nodes.paragraph("", first_sentence(app, sum(map(len, checked.values()))))
        place.replace_self([first, *parts])


def first_sentence(app: Sphinx, checks: int) -> str:
    """Say how many checks there are, with what they ran, and how many shifts are on record."""
    ran = [f"{name} {version(name)}" for name in app.config.bookproof_versions]
    made = f"{checks} check{'s' * (checks != 1)}, run with "
    made += ", ".join([f"Python {platform.python_version()}", *ran])
    number = len({shift for page in shifts(app).values() for shift in page["shifts"]})
    seen = f"; for those that draw, {number} shifts of all seeds are on record" if number else ""
    return f"{made}{seen}."


def shifts(app: Sphinx) -> dict[str, Any]:
    name = app.config.bookproof_reseeded
    return read(Path(app.confdir, name)) if name else {}


def on_other_seeds(app: Sphinx, doc: str, check: Check) -> str:
    """Say under how many shifts a check held, if its page is as it was then."""
    if check.way not in DRAWS:
        return ""
    record = shifts(app).get(doc.rpartition("/")[2], {"digest": "", "shifts": {}})
    held = [shift[check.name] for shift in record["shifts"].values() if check.name in shift]
    known = held and record["digest"] == pages(app.env)[doc].cells
    return f"{sum(held)} of {len(held)}" if known else "–"


def in_order(page: Page) -> list[Check]:
    """Return the checks of a page in the order of what they check."""
    lines = {name: target.line for name, target in page.targets.items()}
    return sorted(page.checks, key=lambda check: lines.get(check.name, check.line))


def ledger_of(app: Sphinx, here: str, doc: str, checks: list[Check]) -> nodes.section:
    name = nodes.inline("", app.env.titles[doc].astext())
    title = nodes.title("", "", make_refnode(app.builder, here, doc, "", name))
    rows = [ledger_row(app, here, doc, check) for check in checks]
    heads = ["what", "verified", *(["other seeds"] if shifts(app) else []), "seconds", "check"]
    place = f"ledger-{nodes.make_id(doc)}"
    # Sphinx would give a heading that it has not counted the number of the page.
    app.env.toc_secnumbers.get(here, {})[f"#{place}"] = ()
    # A search leads to the claims themselves, on their pages.
    return nodes.section(
        "", title, table("ledger", heads, rows), ids=[place], classes=["no-search"]
    )


def ledger_row(app: Sphinx, here: str, doc: str, check: Check) -> list[nodes.entry]:
    target = pages(app.env)[doc].targets.get(check.name) or Target("claim", 0, nodes.inline())
    text = target.text.deepcopy()
    if target.kind == "equation":
        numbers = app.env.toc_fignumbers.get(doc, {}).get("displaymath", {})
        number = ".".join(map(str, numbers.get(f"equation-{check.name}", ())))
        text += nodes.Text(f"equation ({number})")

    def link(anchor: str, text: nodes.Node) -> nodes.Node:
        return make_refnode(app.builder, here, doc, anchor, text)

    words = [
        link(f"{target.kind}-{check.name}", text),
        nodes.inline("", WAYS.get(check.way, check.way)),
        *([nodes.inline("", on_other_seeds(app, doc, check))] if shifts(app) else []),
        nodes.inline("", f"{check.seconds:.2f}"),
        link(f"check-{check.name}", nodes.literal("", check.name)),
    ]
    return [entry(word) for word in words]
