"""Elements of HTML that docutils has no node for."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class Tag(nodes.General, nodes.Element):
    """An element of HTML that docutils has no node for; its attribute ``open`` is written as it is."""


class Anchor(nodes.Inline, nodes.Element):
    """A link within a line that shows nothing of its own; ``open`` is as that of a tag."""


def tag(opening: str, *children: nodes.Node) -> Tag:
    return Tag("", *children, open=opening)


def open_tag(self: HTML5Translator, node: Tag | Anchor) -> None:
    self.body.append(f"<{node['open']}>")


def close_tag(self: HTML5Translator, node: Tag | Anchor) -> None:
    name = node["open"].split()[0]
    self.body.append("" if name == "input" else f"</{name}>")


def setup(app: Sphinx) -> None:
    app.add_node(Tag, html=(open_tag, close_tag))
    app.add_node(Anchor, html=(open_tag, close_tag))
