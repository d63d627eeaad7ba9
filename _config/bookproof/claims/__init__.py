"""Bind every labelled equation and every claim to the cell that checks it.

A cell with the option `:check: ID` verifies the equation or the claim of that id, on its own page;
`:by:` says how. The page shows a small mark beside the target, which opens the folded check.
An id with no check, two checks, or a check with no target fails a strict build, with the place.

The ledger lists all. Beside each check that draws it says how many shifts of all seeds are on
record under which the check held, with the cells of its page as they are.
"""

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
