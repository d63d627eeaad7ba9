"""Bind every labeled equation and every claim to the cell that checks it, and list all in a ledger."""

from docutils import nodes
from sphinx.application import Sphinx

from .binding import Claim, collect, compare, forget
from .ledger import Ledger, fill_ledger, ledgers


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_reseeded", "", "", str)
    app.add_config_value("bookproof_versions", [], "", list)
    app.add_directive("claim", Claim)
    app.add_directive("ledger", Ledger)
    app.add_generic_role("given", nodes.inline)  # a number that no cell computes
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", forget)
    app.connect("env-get-updated", ledgers)
    app.connect("env-check-consistency", compare)
    app.connect("doctree-resolved", fill_ledger)
