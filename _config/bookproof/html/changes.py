"""``{changes}``: show what has changed for readers, from one part of the change log.

In the log, a heading of the second level names a version, as in ``## 1.2.0 (2026-05-04)``, and one
of the third a part. Each version that has the part becomes a section.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .edition import written

VERSION = re.compile(r"(?ms)^## (\S+) \((\d{4}-\d\d-\d\d)\)$(.*?)(?=^## |\Z)")
PART = re.compile(r"(?ms)^### ([^\n]+)$(.*?)(?=^### |\Z)")


class Changes(SphinxDirective):
    """Show one part of each version of a change log."""

    required_arguments = 1
    option_spec: ClassVar = {"part": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        _, name = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(name)
        if not Path(name).is_file():
            raise self.error(f"There must be a change log; got {self.arguments[0]}")
        part = self.options.get("part", "For readers")
        found = list(changes(Path(name).read_text("utf-8"), part))
        if not found:
            raise self.error(f"A version must have a part called {part!r}; got none")
        return [self.section(*change) for change in found]

    def section(self, version: str, published: str, text: str) -> nodes.section:
        title = f"Version {version}, {written(published, self.config.language)}"
        name = nodes.make_id(f"version-{version}")
        section = nodes.section("", nodes.title("", title), ids=[name], names=[name])
        section += self.parse_text_to_nodes(text)
        return section


def changes(log: str, part: str) -> Iterator[tuple[str, str, str]]:
    r"""Yield version, date and text of those versions of a change log that have a part.

    Example:
        >>> log = "## 0.2 (2026-05-04)\n### The code\nFaster.\n### For readers\nClearer.\n"
        >>> list(changes(log, "For readers"))
        [('0.2', '2026-05-04', 'Clearer.')]
    """
    for version, published, text in VERSION.findall(log):
        for name, said in PART.findall(text):
            if name == part:
                yield version, published, said.strip()


def setup(app: Sphinx) -> None:
    app.add_directive("changes", Changes)
