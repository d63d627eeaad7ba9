"""Give every picture that a chapter computes the text alternative that it carries.

The package writes the text into the SVG's title; here it becomes the ``alt`` of the image.
A picture without a text fails a strict build, with the page that it stands on.
"""

from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def svg_title(file: Path) -> str:
    """Return the title of an SVG file, or an empty string."""
    title = ElementTree.parse(file).getroot().find("{http://www.w3.org/2000/svg}title")
    return (title.text or "").strip() if title is not None else ""


def add_alt_texts(app: Sphinx, doctree: nodes.document) -> None:
    """Set the alt text of each image on a page that was just read."""
    for image in doctree.findall(nodes.image):
        if image.get("alt"):
            continue
        file = Path(app.srcdir, image["uri"])
        if file.suffix == ".svg" and (title := svg_title(file)):
            image["alt"] = title
        else:
            LOGGER.warning("this picture has no text alternative", location=image)


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to pages as they are read."""
    app.connect("doctree-read", add_alt_texts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
