"""Build a book with solutions, for students without them, or for instructors with their notes.

Cells run in every edition, and numbers and addresses are the same in all.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import solution_node

EDITIONS = ("", "students", "instructors")


class Instructors(SphinxDirective):
    """Hold a note for who teaches this."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        note = nodes.admonition(classes=["instructors", "no-search"], teaches=True)
        note += nodes.title("", "For instructors")
        note += self.parse_content_to_nodes()
        return [note]


def take_out(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take out of a page what its edition does not have."""
    edition = app.config.bookproof_edition
    for node in list(doctree.findall(nodes.Element)):
        is_solution = isinstance(node, solution_node) and edition == "students"
        is_note = node.get("teaches", False) and edition != "instructors"
        if (is_solution or is_note) and node.parent is not None:
            node.parent.remove(node)


def check(app: Sphinx, config: Config) -> None:
    if config.bookproof_edition not in EDITIONS:
        rule = f"bookproof_edition must be one of {EDITIONS}"
        raise ConfigError(f"{rule}; got {config.bookproof_edition!r}")


def setup(app: Sphinx) -> None:
    app.add_config_value("bookproof_edition", "", "env")
    app.add_directive("instructors", Instructors)
    app.connect("config-inited", check)
    app.connect("doctree-resolved", take_out, priority=100)
