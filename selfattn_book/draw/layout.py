"""A figure as a page wants it: a picture of each panel, which the page can stack where it is narrow.

Where nobody stacks them, as in a notebook, they stand as matplotlib has placed them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from textwrap import fill, wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from selfattn_book.draw.colors import light, on_page
from selfattn_book.draw.sheet import INCH, SMALL, Sheet

WIDE, NARROW = 640, 320  # pixels: the most that a row of panels takes, and one of them
LETTER = 7.2  # pixels; what a letter of a title takes, generously
FONTS = "'Source Sans 3','Helvetica Neue',Arial,'Liberation Sans',sans-serif"


@dataclass
class Part:
    """A piece of a figure, with its place on the sheet, in pixels."""

    left: int
    top: int
    right: int
    bottom: int
    marks: list[str]
    label: str
    kind: str = ""

    def svg(self) -> str:
        """Write the piece, so that it can stand alone."""
        width, height = self.right - self.left, self.bottom - self.top
        said = 'aria-hidden="true"' if self.kind == "heading" else f'role="img" aria-label="{escape(self.label)}"'
        hidden = ' display="none"' if self.kind == "narrow" else ""
        kind = f' class="{self.kind}"' if self.kind else ""
        place = f'x="{self.left}" y="{self.top}" width="{width}" height="{height}"'
        view = f'viewBox="{self.left} {self.top} {width} {height}"'
        return f"<svg{kind} {place} {view} {said}{hidden}>{''.join(self.marks)}</svg>"


def picture(figure: Figure, text: str) -> str:
    """Return a figure as SVG, with its text alternative; without what changes from run to run."""
    parts = draw_panels(figure)
    if len(parts) == 1 and parts[0].right - parts[0].left > NARROW:
        parts[0].kind = "wide"
        parts += draw_narrow(figure)
    parts = [*heading(figure), *parts]
    shown = [part for part in parts if part.kind != "narrow"]
    left, top = min(part.left for part in shown), min(part.top for part in shown)
    width = max(part.right for part in shown) - left
    height = max(part.bottom for part in shown) - top
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="{left} {top} {width} {height}" role="img" aria-label="{escape(text)}" '
        f'font-family="{FONTS}" font-size="{SMALL}" fill="{on_page(light("ink"))}">'
    )
    return "\n".join([head, *[part.svg() for part in parts], "</svg>\n"])


def draw_narrow(figure: Figure) -> list[Part]:
    """Lay out a figure again, for a phone."""
    size = figure.get_size_inches()
    figure.set_size_inches(NARROW / INCH, min(size[1], 0.9 * NARROW / INCH))
    try:
        parts = draw_panels(figure)
    finally:
        figure.set_size_inches(size)
    for part in parts:
        part.kind = "narrow"
    return parts


def draw_panels(figure: Figure) -> list[Part]:
    """Draw each panel that shows something; those of one row have one height."""
    axes = [ax for ax in figure.axes if ax.has_data()]
    width, height = figure.get_size_inches() * INCH
    with broken_titles(axes, width):
        figure.draw_without_rendering()  # this places the axes
        boxes = [ax.get_tightbbox(Sheet(width, height)) for ax in axes]
        tops, bottoms = {}, {}
        for ax, box in zip(axes, boxes, strict=True):
            row = ax.get_subplotspec().rowspan.start
            tops[row] = min(int(height - box.ymax) - 2, tops.get(row, WIDE))
            bottoms[row] = max(int(height - box.ymin) + 3, bottoms.get(row, 0))
        parts = []
        for ax, box in zip(axes, boxes, strict=True):
            row = ax.get_subplotspec().rowspan.start
            sheet = Sheet(width, height)
            ax.draw(sheet)
            sides = int(box.xmin) - 3, int(box.xmax) + 4
            label = str(ax.get_label())
            parts.append(Part(sides[0], tops[row], sides[1], bottoms[row], sheet.marks(), label))
    return parts


@contextmanager
def broken_titles(axes: Sequence[Axes], width: float) -> Iterator[None]:
    """Break titles that are longer than their panel into lines, while they are drawn."""
    titles = [ax.get_title() for ax in axes]
    for ax, title in zip(axes, titles, strict=True):
        columns = ax.get_subplotspec().get_gridspec().ncols
        ax.title.set_text(fill(title, int(width / columns / LETTER)))
    yield
    for ax, title in zip(axes, titles, strict=True):
        ax.title.set_text(title)


def heading(figure: Figure) -> list[Part]:
    """Return the title of all panels; the label of the first one begins with it."""
    lines = wrap(figure.get_suptitle(), int(NARROW / LETTER))
    if not lines:
        return []
    middle = int(figure.get_figwidth() * INCH / 2)
    half = min(middle, NARROW // 2)
    marks = [
        f'<text x="{middle}" y="{15 + 18 * i}" font-size="14" text-anchor="middle">{line}</text>'
        for i, line in enumerate(lines)
    ]
    bottom = 4 + 18 * len(lines)
    return [Part(middle - half, 0, middle + half, bottom, marks, "", "heading")]
