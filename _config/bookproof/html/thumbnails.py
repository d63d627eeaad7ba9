"""Make a small picture of a page's key figure: drawn in the page, without words, for eyes only."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
SVG = "http://www.w3.org/2000/svg"
WORDS = {"text", "title", "desc", "metadata"}  # what cannot be read at this size
DRAWN = {"path", "use", "rect", "circle", "line", "polyline", "polygon", "ellipse", "image"}


def key_picture(app: Sphinx, doctree: nodes.document, name: str) -> str:
    """Return the picture of a page, made small: of the figure with that name, or its first."""
    named = [figure for figure in doctree.findall(nodes.figure) if name in figure["names"]]
    if name and not named:
        LOGGER.warning("key_figure: no figure is called %r", name, location=app.env.docname)
    around = (named or [doctree])[0]
    return next(filter(None, map(small, pictures(around))), "")


def pictures(around: nodes.Element) -> Iterator[str]:
    for node in around.findall(nodes.Element):
        yield from re.findall(r"<svg\b.*?</svg>", node.get("markup", ""), re.DOTALL)


def small(svg: str) -> str:
    """Return a picture without its words and its size; nothing, if it is made of words.

    Example:
        >>> small('<svg width="9pt" viewBox="0 0 9 9"><text>nine</text><path d="M0 0h9"/></svg>')
        '<svg viewBox="0 0 9 9"><path d="M0 0h9" /></svg>'
        >>> small('<svg><text>nine</text></svg>')
        ''
    """
    ElementTree.register_namespace("", SVG)
    picture = ElementTree.fromstring(svg)
    for parent in list(picture.iter()):
        for child in [child for child in parent if local(child) in WORDS]:
            parent.remove(child)
    for name in ("width", "height", "role", "aria-label", "class", "style"):
        picture.attrib.pop(name, None)
    drawn = any(local(element) in DRAWN for element in picture.iter())
    return ElementTree.tostring(picture, encoding="unicode") if drawn else ""


def local(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
