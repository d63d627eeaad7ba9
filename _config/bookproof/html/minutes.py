"""``{minutes}`main```: count how long a page takes.

A reader takes a minute for so many words, one for each figure, and one for each cell whose code is
visible; an exercise says its minutes itself.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from ..words import _
from . import places
from .places import is_cell

LOGGER = logging.getLogger(__name__)
WORDS = 200  # in a minute
END = "summary"  # the address of a section
WORD = re.compile(r"[^\W\d_]{2,}")
NOT_READ = (nodes.literal_block, nodes.literal, nodes.math, nodes.math_block, nodes.caption)
FOLDED = ("all", "input")
BEFORE_FOLDS = 50  # of cells and boxes are made


class Minutes(SphinxRole):
    """Stand for the minutes of a part of the page, ``main`` or ``exercises``."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if self.text not in PARTS:
            rule = f"minutes are of {', '.join(PARTS)}"
            LOGGER.warning("%s; got %r", rule, self.text, location=self.get_location())
            return [], []
        return [nodes.inline(minutes=self.text)], []


def fill(app: Sphinx, doctree: nodes.document) -> None:
    for place in [node for node in doctree.findall(nodes.inline) if "minutes" in node]:
        place.replace_self(nodes.Text(str(PARTS[place["minutes"]](doctree))))


def main(doctree: nodes.document) -> int:
    return minutes([*takewhile(lambda part: not is_end(part), parts_of(doctree))])


def exercises(doctree: nodes.document) -> int:
    """Return the sum of the minutes that exercises say, each as its first."""
    said = re.compile(r"(\d+) " + _("minutes"))
    texts = (exercise.astext() for exercise in places.exercises(doctree))
    return sum(int(minutes) for text in texts for minutes in said.findall(text)[:1])


PARTS = {"main": main, "exercises": exercises}


def parts_of(doctree: nodes.document) -> list[nodes.Node]:
    return next(iter(doctree.findall(nodes.section)), nodes.section()).children


def is_end(part: nodes.Node) -> bool:
    return isinstance(part, nodes.section) and END in part["ids"]


def minutes(parts: list[nodes.Node]) -> int:
    """Return how many minutes parts of a page take, at least one."""
    words = sum(len(WORD.findall(text)) for part in parts for text in read_in(part))
    figures = sum(len(list(part.findall(nodes.figure))) for part in parts)
    cells = sum(is_open(cell) for part in parts for cell in part.findall(nodes.container))
    return max(1, round(words / WORDS + figures + cells))


def read_in(node: nodes.Node) -> Iterator[str]:
    """Yield the texts that one reads in a part of a page; cells and formulas count otherwise."""
    if isinstance(node, nodes.Text):
        yield str(node)
    elif not isinstance(node, NOT_READ) and "nb_element" not in getattr(node, "attributes", {}):
        for child in node.children:
            yield from read_in(child)


def is_open(cell: nodes.Element) -> bool:
    if not is_cell(cell) or "check" in cell["cell_metadata"]:
        return False
    has_code = any(is_cell(part, "cell_code_source") for part in cell)
    return has_code and cell.get("hide_mode") not in FOLDED


def setup(app: Sphinx) -> None:
    app.add_role("minutes", Minutes())
    app.connect("doctree-read", fill, priority=BEFORE_FOLDS)
