"""Make a small picture of a page's key figure: drawn in the page, without words, for eyes only."""

import re
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
SVG = "http://www.w3.org/2000/svg"
# What cannot be read at this size: texts and axes, the latter as matplotlib calls them.
WORDS = re.compile(r"(text|matplotlib\.axis|legend)_\d+")
SAID = {f"{{{SVG}}}{tag}" for tag in ("text", "title", "desc", "metadata")}


def key_picture(app: Sphinx, doctree: nodes.document, name: str) -> str:
    """Return the picture of a page, made small: within the figure of that name, or its first."""
    places = [node for node in doctree.findall(nodes.Element) if name in node.get("ids", ())]
    if name and not places:
        LOGGER.warning("key_figure: nothing has the id %r", name, location=app.env.docname)
    pictures = (svg_of(app, node) for node in (places or [doctree])[0].findall())
    return next((small(svg) for svg in pictures if svg), "")


def svg_of(app: Sphinx, node: nodes.Node) -> str:
    """Return the SVG that a node holds or shows, or nothing."""
    if isinstance(node, nodes.raw) and (found := re.search(r"<svg\b.*?</svg>", str(node), re.S)):
        return found[0]
    if isinstance(node, nodes.image) and node["uri"].endswith(".svg"):
        file = Path(app.srcdir, node["uri"])
        return file.read_text("utf-8") if file.is_file() else ""
    return ""


def small(svg: str) -> str:
    """Return a picture without its words and its size."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    picture = ElementTree.fromstring(svg)
    for parent in list(picture.iter()):
        for child in [child for child in parent if is_words(child)]:
            parent.remove(child)
    for name in ("width", "height", "role", "aria-label"):
        picture.attrib.pop(name, None)
    return ElementTree.tostring(picture, encoding="unicode")


def is_words(element: ElementTree.Element) -> bool:
    """Tell whether a part of a picture is there to be read."""
    return element.tag in SAID or bool(WORDS.fullmatch(element.get("id", "")))
