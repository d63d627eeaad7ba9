"""Write the entries of the bibliography as the items of a list, without labels.

The text cites by author and year, so a label would say nothing;
and the role that docutils gives an entry is one that browsers no longer know.
"""

from docutils import nodes
from pybtex.plugin import find_plugin, register_plugin
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

PLUGINS = {
    "pybtex.backends": ("docutils", "plaintext"),
    "pybtex.style.labels": ("alpha",),
    "pybtex.style.names": ("last", "plain"),
    "pybtex.style.sorting": ("author_year_title",),
}


def open_entry(self: HTML5Translator, node: nodes.citation) -> None:
    if not isinstance(node.previous_sibling(), nodes.citation):
        self.body.append('<ul class="citation-list">\n')
    node.children = [child for child in node if not isinstance(child, nodes.label)]
    self.body.append(self.starttag(node, "li", classes=["citation"]))


def close_entry(self: HTML5Translator, node: nodes.citation) -> None:
    self.body.append("</li>\n")
    follower = node.next_node(descend=False, siblings=True)
    if not isinstance(follower, nodes.citation):
        self.body.append("</ul>\n")


def setup(app: Sphinx) -> None:
    # Each time they are looked for among all installed packages, unless they are registered.
    for group, names in PLUGINS.items():
        for name in names:
            register_plugin(group, name, find_plugin(group, name), force=True)
    app.add_node(nodes.citation, override=True, html=(open_entry, close_entry))
