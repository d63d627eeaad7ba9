"""Keep a full stop or a comma on the line of the formula that it follows.

Rendered mathematics is a box, and a browser may break the line behind any box.
"""

from docutils import nodes
from sphinx.application import Sphinx

MARKS = ".,;:!?)"
LONGEST = 24  # a longer formula may have to break by itself on a narrow screen


def glue_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put each short formula and the mark behind it into one unbreakable span."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        # By identity: to docutils, two full stops are the same node.
        place = next(i for i, child in enumerate(parent) if child is formula)
        text = parent[place + 1] if place + 1 < len(parent) else None
        if not isinstance(text, nodes.Text) or len(formula.astext()) > LONGEST:
            continue
        mark = text[: len(text) - len(text.lstrip(MARKS))]
        if mark:
            span = nodes.inline("", "", formula.deepcopy(), nodes.Text(mark), classes=["nobr"])
            parent[place : place + 2] = [span, nodes.Text(text[len(mark) :])]


def setup(app: Sphinx) -> None:
    app.connect("doctree-resolved", glue_punctuation)
