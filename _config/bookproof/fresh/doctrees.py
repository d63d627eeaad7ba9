"""Keep with each page what stands on it, and no more.

The nodes of a directive of reStructuredText, such as autodoc's, belong to a document of their own,
and with that the whole environment would be kept with the page, and read back with it.
"""

from docutils import nodes
from sphinx.application import Sphinx


def adopt(app: Sphinx, doctree: nodes.document) -> None:
    """Let every node of a page that was just read belong to the page."""
    for node in doctree.findall():
        node.document = doctree
