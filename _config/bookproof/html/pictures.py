"""Write the pictures that cells compute into the page, so that they have its fonts and colours.

One that is made of parts, SVGs within an SVG, is written as those, side by side, for the page to stack
where it is narrow. The root, or each part, says in ``aria-label`` what it shows; a picture without a
text alternative fails a strict build; so does one with ids, which would meet those of other pictures.
"""

from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from .places import around, is_cell

LOGGER = logging.getLogger(__name__)
SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
BEFORE_IMAGES_ARE_COLLECTED = 400  # and get other paths


class picture(nodes.General, nodes.Element):  # noqa: N801 (as all nodes)
    """A picture that stands in the page; its ``markup`` is what is written."""


def parts(file: Path) -> list[ElementTree.Element]:
    """Return the pictures that an SVG file is made of, which may be the one that it is."""
    root = ElementTree.parse(file).getroot()
    inner = list(root)
    return inner if inner and all(part.tag == f"{{{SVG}}}svg" for part in inner) else [root]


def is_silent(part: ElementTree.Element) -> bool:
    """Say whether a part neither has a text alternative nor is hidden from who needs one."""
    return not part.get("aria-label", "").strip() and part.get("aria-hidden") != "true"


def place_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Write computed pictures into a page that was just read, and ask all for their texts."""
    for image in list(doctree.findall(nodes.image)):
        file = Path(app.env.relfn2path(image["uri"])[1])
        is_computed = any(is_cell(node, "cell_code_output") for node in around(image))
        if file.suffix == ".svg" and file.is_file() and is_computed:
            image.replace_self(inline(image, parts(file)))
        elif not image.get("alt"):
            LOGGER.warning("this picture has no text alternative", location=placed(image))


def inline(image: nodes.image, pieces: list[ElementTree.Element]) -> picture:
    if any(map(is_silent, pieces)):
        LOGGER.warning("this picture has no text alternative", location=placed(image))
    if any("id" in element.attrib for piece in pieces for element in piece.iter()):
        LOGGER.warning("this picture has ids", location=placed(image))
    markup = [ElementTree.tostring(piece, "unicode").strip() for piece in pieces]
    return picture("", markup="".join(markup).replace(f' xmlns="{SVG}"', ""))


def placed(node: nodes.Element) -> nodes.Element:
    """Return the innermost node around a node that knows its line."""
    return next((holder for holder in around(node) if holder.line), node)


def write_picture(writer: HTML5Translator, node: picture) -> None:
    writer.body.append(f'<div class="picture">{node["markup"]}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_node(picture, html=(write_picture, None))
    app.connect("doctree-read", place_pictures, priority=BEFORE_IMAGES_ARE_COLLECTED)
