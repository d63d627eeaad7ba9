"""A figure as a page wants it: a picture of each panel, which the page can stack where it is narrow.

Where nobody stacks them, as in a notebook, they stand as matplotlib has placed them.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from selfattn_book.draw.colors import light, on_page
from selfattn_book.draw.sheet import INCH, SMALL, Sheet

WIDE, NARROW = (
    640,
    320,
)  # pixels: the most that a row of panels takes, and one of them
LETTER = 7.2  # pixels that a letter of a title takes, generously
LINE = 18  # pixels from one line of a title to the next
FONTS = "'Source Sans 3','Helvetica Neue',Arial,'Liberation Sans',sans-serif"


@dataclass
class Part:
    """A piece of a figure, with its place on the sheet in pixels."""

    left: int
    top: int
    width: int
    height: int
    marks: list[str]
    label: str
    kind: str = ""  # heading; or wide, with another one that is narrow
    drop: int = 0  # pixels by which it is lower than the highest of its row

    def svg(self) -> str:
        """Write the piece, with what a page needs to place it."""
        kind = f' class="{self.kind}"' if self.kind else ""
        hidden = ' display="none"' if self.kind == "narrow" else ""
        drop = f";--drop:{self.drop}px" if self.drop else ""
        said = f'role="img" aria-label="{escape(self.label)}"'
        if self.kind == "heading":  # which the first label begins with
            said = 'aria-hidden="true"'
        return (
            f'<svg{kind} x="{self.left}" y="{self.top}" {_frame(self)} {said}{hidden} '
            f'style="--width:{self.width}px{drop}">{"".join(self.marks)}</svg>'
        )


def picture(figure: Figure, text: str) -> str:
    """Return a figure as SVG, with its text alternative: the same for the same figure."""
    parts = draw_panels(figure)
    if len(parts) == 1 and parts[0].width > NARROW:
        parts[0].kind = "wide"
        parts += draw_narrow(figure)
    parts = [*heading(figure), *parts]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {_frame(whole(parts))} '
        f'role="img" aria-label="{escape(text)}" font-family="{FONTS}" '
        f'font-size="{SMALL}" fill="{on_page(light("ink"))}">'
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
    """Draw each panel that shows something."""
    axes = [ax for ax in figure.axes if ax.has_data()]
    size = tuple(figure.get_size_inches() * INCH)
    with broken_titles(axes, size[0]):
        figure.draw_without_rendering()  # this places the axes
        parts = [draw_panel(ax, size) for ax in axes]
    rows = [ax.get_subplotspec().rowspan.start for ax in axes]
    for part, row in zip(parts, rows, strict=True):
        tops = [
            other.top for other, at in zip(parts, rows, strict=True) if at == row
        ]
        part.drop = part.top - min(tops)
    return parts


def draw_panel(ax: Axes, size: tuple[float, float]) -> Part:
    """Draw what lies in an axes and around it, and nothing else of its sheet."""
    sheet = Sheet(*size)
    ax.draw(sheet)
    box = ax.get_tightbbox(sheet)
    left, top = int(box.xmin) - 3, int(size[1] - box.ymax) - 4
    width, height = int(box.width) + 7, int(box.height) + 8
    return Part(left, top, width, height, sheet.marks(), str(ax.get_label()))


@contextmanager
def broken_titles(axes: Sequence[Axes], width: float) -> Iterator[None]:
    """Break titles that are longer than their panel into lines, while they are drawn."""
    titles = [ax.get_title() for ax in axes]
    for ax, title in zip(axes, titles, strict=True):
        columns = ax.get_subplotspec().get_gridspec().ncols
        ax.title.set_text("\n".join(balanced(title, width / columns)))
    yield
    for ax, title in zip(axes, titles, strict=True):
        ax.title.set_text(title)


def balanced(text: str, width: float) -> list[str]:
    """Break a text into as few lines as its width allows, about as long as each other.

    Example:
        >>> balanced("Positions 0 to 7, on clocks with 4, 5 and 7 steps", 320)
        ['Positions 0 to 7, on clocks', 'with 4, 5 and 7 steps']
    """
    most = int(width / LETTER)
    count = len(wrap(text, most))
    return next(
        lines
        for letters in range(1, most + 1)
        if len(lines := wrap(text, letters, break_long_words=False)) <= count
    )


def heading(figure: Figure) -> list[Part]:
    """Return the title of all panels."""
    lines = balanced(figure.get_suptitle(), NARROW)
    middle = int(figure.get_figwidth() * INCH / 2)
    left = max(0, middle - NARROW // 2)
    place = f'x="{middle}" font-size="14" text-anchor="middle"'
    marks = [
        f'<text {place} y="{LINE * number - 4}">{escape(line)}</text>'
        for number, line in enumerate(lines, 1)
    ]
    part = Part(
        left, 0, 2 * (middle - left), LINE * len(lines), marks, "", "heading"
    )
    return [part] if lines else []


def whole(parts: Sequence[Part]) -> Part:
    """Return the place that parts take together."""
    shown = [part for part in parts if part.kind != "narrow"]
    left, top = min(part.left for part in shown), min(part.top for part in shown)
    right = max(part.left + part.width for part in shown)
    bottom = max(part.top + part.height for part in shown)
    return Part(left, top, right - left, bottom - top, [], "")


def _frame(part: Part) -> str:
    """Write the size of a part, and what of its sheet it shows."""
    view = f"{part.left} {part.top} {part.width} {part.height}"
    return f'width="{part.width}" height="{part.height}" viewBox="{view}"'
