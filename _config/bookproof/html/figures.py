"""Write the pictures that cells compute into the page; ``{caption}`` makes them numbered figures.

So they have the page's fonts and colors. One that is made of parts, SVGs within an SVG, is written as
those, side by side, for the page to stack where it is narrow. The root, or each part, says in
``aria-label`` what it shows; a picture without a text alternative or a caption fails a strict build, and
so does one with ids, which would meet those of other pictures. A caption is in the text, where it
may hold formulas and citations, and its wording is in no page's key.

A picture with marks that a script can draw again says how in ``metadata``. With ``:live:``, which holds
the words of a button, the figure offers it; otherwise the page leaves this out.
"""

from pathlib import Path
from typing import ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .elements import tag
from .places import around, is_cell

LOGGER = logging.getLogger(__name__)
SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
BEFORE_IMAGES_ARE_COLLECTED = 400  # and get other paths


class picture(nodes.General, nodes.Element):  # noqa: N801 (as all nodes)
    """A picture in the page; its ``markup`` is what is written."""


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
    alive = any(
        "live" in node["classes"] for node in around(image) if isinstance(node, nodes.figure)
    )
    for piece in () if alive else pieces:
        for data in piece.findall(f"{{{SVG}}}metadata"):
            piece.remove(data)
    if alive and pieces[0].find(f"{{{SVG}}}metadata") is None:
        LOGGER.warning("this picture has nothing that is live", location=placed(image))
    markup = [ElementTree.tostring(piece, "unicode").strip() for piece in pieces]
    return picture("", markup="".join(markup).replace(f' xmlns="{SVG}"', ""))


def placed(node: nodes.Element) -> nodes.Element:
    """Return the innermost node around a node that knows its line."""
    return next((holder for holder in around(node) if holder.line), node)


def write_picture(writer: HTML5Translator, node: picture) -> None:
    writer.body.append(f'<div class="picture">{node["markup"]}</div>\n')
    raise nodes.SkipNode


class Caption(SphinxDirective):
    """Say in a sentence or two what is to be seen; the argument is the figure's name."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"live": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        caption = nodes.caption(figure=self.arguments[0], live=self.options.get("live", ""))
        caption += [child for part in self.parse_content_to_nodes() for child in part.children]
        self.set_source_info(caption)
        return [caption]


class Figures(SphinxTransform):
    """Put the pictures of a cell and the caption that follows it into one figure."""

    default_priority = 300  # before names become the targets of references

    def apply(self, **_: object) -> None:
        for caption in [node for node in self.document.findall(nodes.caption) if "figure" in node]:
            above = caption.parent[max(caption.parent.index(caption) - 1, 0)]
            output, pictures = pictures_of(above)
            caption.parent.remove(caption)
            if not pictures:
                LOGGER.warning("this caption follows no cell with a picture", location=caption)
                continue
            name = caption["figure"]
            figure = nodes.figure(ids=[nodes.make_id(f"fig-{name}")], names=[name])
            self.document.note_explicit_target(figure)
            output.replace(pictures[0], figure)
            for picture in pictures[1:]:
                output.remove(picture)
            figure += pictures
            if caption["live"]:
                figure["classes"].append("live")
                button = tag('button type="button"', nodes.Text(caption["live"]))
                figure += tag('div class="live-bar"', button)
            figure += caption


def pictures_of(cell: nodes.Node) -> tuple[nodes.Element, list[nodes.Node]]:
    """Return the output of a cell, and those of its parts that hold a picture."""
    output = cell.children[-1] if is_cell(cell) and cell.children else None
    if not isinstance(output, nodes.Element) or not is_cell(output, "cell_code_output"):
        return nodes.container(), []
    return output, [part for part in output.children if next(part.findall(nodes.image), None)]


def warn_of_missing_captions(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each cell on a page that was just read whose pictures have no caption."""
    for cell in doctree.findall(nodes.container):
        if any(not isinstance(part, nodes.figure) for part in pictures_of(cell)[1]):
            LOGGER.warning("the picture of this cell has no caption", location=cell)


def setup(app: Sphinx) -> None:
    app.add_node(picture, html=(write_picture, None))
    app.add_directive("caption", Caption)
    app.add_transform(Figures)
    app.connect("doctree-read", warn_of_missing_captions, priority=300)
    app.connect("doctree-read", place_pictures, priority=BEFORE_IMAGES_ARE_COLLECTED)
