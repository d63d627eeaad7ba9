"""``{caption}``: make the picture of the cell above a numbered figure with a name.

It stands in the text, where it may hold formulas and citations, and its wording is in no page's key.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)


class Caption(SphinxDirective):
    """Say in a sentence or two what is to be seen; the argument is the figure's name."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        caption = nodes.caption(figure=self.arguments[0])
        caption += [child for part in self.parse_content_to_nodes() for child in part.children]
        self.set_source_info(caption)
        return [caption]


class Figures(SphinxTransform):
    """Put the pictures of a cell and the caption that follows it into one figure."""

    default_priority = 300  # before names become the targets of references

    def apply(self, **_: object) -> None:
        for caption in [node for node in self.document.findall(nodes.caption) if "figure" in node]:
            place = caption.parent.index(caption)
            above = caption.parent[place - 1] if place else None
            output, pictures = (
                pictures_of(above) if isinstance(above, nodes.Element) else (None, [])
            )
            caption.parent.remove(caption)
            if output is None or not pictures:
                LOGGER.warning("this caption follows no cell with a picture", location=caption)
                continue
            name = caption["figure"]
            figure = nodes.figure(ids=[nodes.make_id(f"fig-{name}")], names=[name])
            self.document.note_explicit_target(figure)
            place = output.index(pictures[0])
            for picture in pictures:
                output.remove(picture)
            figure += [*pictures, caption]
            output.insert(place, figure)


def pictures_of(cell: nodes.Element) -> tuple[nodes.Element | None, list[nodes.Element]]:
    output = cell[-1] if cell.get("nb_element") == "cell_code" and len(cell) else None
    if not isinstance(output, nodes.Element) or output.get("nb_element") != "cell_code_output":
        return None, []
    return output, [part for part in output.children if next(part.findall(nodes.image), None)]


def miss_captions(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each cell on a page that was just read whose pictures have no caption."""
    for cell in doctree.findall(nodes.container):
        _, pictures = pictures_of(cell)
        if any(not isinstance(part, nodes.figure) for part in pictures):
            LOGGER.warning("the picture of this cell has no caption", location=cell)


def setup(app: Sphinx) -> None:
    app.add_directive("caption", Caption)
    app.add_transform(Figures)
    app.connect("doctree-read", miss_captions, priority=300)
