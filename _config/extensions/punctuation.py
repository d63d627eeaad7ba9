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
        text = formula.next_node(descend=False, siblings=True)
        if not isinstance(text, nodes.Text) or len(formula.astext()) > LONGEST:
            continue
        mark = text[: len(text) - len(text.lstrip(MARKS))]
        if mark:
            parent = formula.parent
            parent.replace(text, nodes.Text(text[len(mark) :]))
            span = nodes.inline(
                "", "", formula.deepcopy(), nodes.Text(mark), classes=["nobr"]
            )
            parent.replace(formula, span)


def setup(app: Sphinx) -> dict[str, bool]:
    """Work on the finished page."""
    app.connect("doctree-resolved", glue_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
