"""Give every picture that a chapter computes the text alternative that it carries.

The package writes the text into the SVG's title; here it becomes the ``alt`` of the image.
A picture without a text fails a strict build, with the page that it stands on.
A wide picture is marked as such, so that a narrow screen can scroll it instead of shrinking it.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
WIDE = 500  # points; about the column of a page


def title_and_width(file: Path) -> tuple[str, float]:
    """Return the title of an SVG file, or an empty string, and its width if that is in points."""
    picture = ElementTree.parse(file).getroot()
    title = picture.find("{http://www.w3.org/2000/svg}title")
    text = (title.text or "").strip() if title is not None else ""
    points = re.fullmatch(r"([\d.]+)pt", picture.get("width", ""))
    return text, float(points[1]) if points else 0.0


def placed(node: nodes.Element) -> nodes.Element:
    """Return the innermost node around a node that knows its line."""
    while not node.line and node.parent is not None:
        node = node.parent
    return node


def add_alt_texts(app: Sphinx, doctree: nodes.document) -> None:
    """Set the alt text of each image on a page that was just read."""
    for image in doctree.findall(nodes.image):
        file = Path(app.srcdir, image["uri"])
        if not file.is_file():  # of a missing file Sphinx warns
            continue
        text, width = title_and_width(file) if file.suffix == ".svg" else ("", 0)
        if width > WIDE:
            image["classes"].append("wide")
        image["alt"] = image.get("alt") or text
        if not image["alt"]:
            LOGGER.warning("this picture has no text alternative", location=placed(image))


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages as they are read."""
    app.connect("doctree-read", add_alt_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
