"""Say of each header of a table whether it is one of a column or of a row; an empty one is none."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def open_entry(self: HTML5Translator, node: nodes.entry) -> None:
    """Begin a cell; of a header, name what it is the header of."""
    place = len(self.body)
    HTML5Translator.visit_entry(self, node)
    if not node.astext().strip():
        self.body[place] = self.body[place].replace("<th", "<td", 1)
        self.context[-1] = self.context[-1].replace("</th", "</td")
    scope = "col" if isinstance(node.parent.parent, nodes.thead) else "row"
    self.body[place] = self.body[place].replace("<th", f'<th scope="{scope}"', 1)


def close_entry(self: HTML5Translator, node: nodes.entry) -> None:
    HTML5Translator.depart_entry(self, node)


def setup(app: Sphinx) -> None:
    app.add_node(nodes.entry, override=True, html=(open_entry, close_entry))
