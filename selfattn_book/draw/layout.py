"""Figures as SVG with one part for each panel, so that a narrow page can stack the panels.

In a notebook the panels keep the positions that matplotlib gave them.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from selfattn_book.draw.colors import light, on_page
from selfattn_book.draw.palette import FONTS
from selfattn_book.draw.sheet import INCH, SMALL, Sheet

# Pixels: largest width of a figure on a page and on a phone; width of a letter in titles and elsewhere.
WIDE, NARROW = 640, 312
LETTER, TICK_LETTER = 7.2, 6.4
BEHIND = (4, 0)  # points from the end of a line to its name
NEAR = 0.1  # as a share of the height of axes; about what a name takes on a phone


class Ruler(FigureCanvasBase):
    """Let matplotlib measure text as wide as on a page."""

    def get_renderer(self) -> Sheet:
        """Return the sheet that measures text."""
        return Sheet(*self.figure.get_size_inches() * INCH)


@dataclass
class Part:
    """A part of a figure, with its position on the sheet in pixels."""

    left: int
    top: int
    width: int
    height: int
    marks: Sequence[str] = ()
    label: str = ""
    kind: str = ""  # wide or narrow, if there are both
    drop: int = 0  # pixels by which it is lower than the highest one

    def svg(self) -> str:
        """Return the part as SVG, with its width and its kind for the page."""
        kind = f' class="{self.kind}"' if self.kind else ""
        hidden = ' display="none"' if self.kind == "narrow" else ""
        drop = f";--drop:{self.drop}px" if self.drop else ""
        return (
            f'<svg{kind} x="{self.left}" y="{self.top}" {_frame(self)} '
            f'role="img" aria-label="{escape(self.label)}"{hidden} '
            f'style="--width:{self.width}px{drop}">{"".join(self.marks)}</svg>'
        )


def picture(figure: Figure, text: str) -> str:
    """Return a figure as deterministic SVG with its text alternative."""
    drawn = deepcopy(figure)  # the caller's stays as it was
    parts = draw_panels(drawn)
    if len(parts) == 1 and parts[0].width > NARROW:
        parts[0].kind = "wide"
        parts += draw_narrow(drawn)
    return svg(parts, text)


def draw_sheet(figure: Figure, kind: str) -> Part:
    """Draw a figure with one axes of its own size."""
    (ax,) = figure.axes
    width, height = np.rint(figure.get_size_inches() * INCH).astype(int)
    sheet = Sheet(width, height)
    ax.draw(sheet)
    label, live = str(ax.get_label()), getattr(ax, "live", None)
    marks = [f"<metadata>{json.dumps(live, ensure_ascii=False)}</metadata>"] if live else []
    return Part(0, 0, width, height, [*marks, *sheet.marks()], label, kind)


def svg(parts: Sequence[Part], text: str) -> str:
    """Write a picture of parts, with its text alternative."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {_frame(whole(parts))} '
        f'role="img" aria-label="{escape(text)}" font-family="{FONTS}" '
        f'font-size="{SMALL}" fill="{on_page(light("ink"))}">'
    )
    return "\n".join([head, *[part.svg() for part in parts], "</svg>\n"])


def draw_narrow(figure: Figure) -> list[Part]:
    """Lay out a figure for a phone."""
    height = figure.get_size_inches()[1]
    figure.set_size_inches(NARROW / INCH, min(height, 0.9 * NARROW / INCH))
    for ax in figure.axes:
        move_names_inside(ax)
        turn_names(ax)
    parts = draw_panels(figure)
    for part in parts:
        part.kind = "narrow"
    return parts


def draw_panels(figure: Figure) -> list[Part]:
    """Break the titles of a figure, place its axes, and draw each panel with data."""
    Ruler(figure)
    width, height = figure.get_size_inches() * INCH
    for ax in figure.axes:
        ax.set_title("\n".join(balanced(ax.get_title(), width / len(figure.axes))))
    if engine := figure.get_layout_engine():
        engine.execute(figure)  # this places the axes, and draws nothing
    parts = [draw_panel(ax, (width, height)) for ax in figure.axes if ax.has_data()]
    for part in parts:
        part.drop = part.top - min(other.top for other in parts)
    return parts


def draw_panel(ax: Axes, size: tuple[float, float]) -> Part:
    """Draw axes with their labels, and crop the sheet to them."""
    sheet = Sheet(*size)
    ax.draw(sheet)
    box = ax.get_tightbbox(sheet) or Bbox.null()
    left, top = int(box.xmin) - 3, int(size[1] - box.ymax) - 4
    width, height = int(box.width) + 7, int(box.height) + 8
    return Part(left, top, width, height, sheet.marks(), str(ax.get_label()))


def move_names_inside(ax: Axes) -> None:
    """Move the names of lines from behind their ends to above or below them.

    They move toward the middle of the picture, unless another line ends there.
    """
    names = [text for text in ax.texts if isinstance(text, Annotation) and _is_behind(text)]
    for name in names:
        below = _goes_below(ax, _share_of_height(ax, name.xy[1]))
        side = {"verticalalignment": "top" if below else "bottom"}
        place = (0, -2 if below else 2)
        name.set(position=place, horizontalalignment="right", **side)


def turn_names(ax: Axes) -> None:
    """Rotate tick labels that would overlap."""
    names = [label.get_text() for label in ax.get_xticklabels()]
    room = 0.8 * NARROW / max(len(names), 1)
    longest = max((len(line) for name in names for line in name.split("\n")), default=0)
    if any("\n" in name for name in names) and TICK_LETTER * longest > room:
        ax.set_xticks(ax.get_xticks(), [" ".join(name.split()) for name in names], rotation=90)


def balanced(text: str, width: float) -> list[str]:
    """Break a text into as few lines as possible, of about the same length.

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


def whole(parts: Sequence[Part]) -> Part:
    """Return the bounding box of parts."""
    shown = [part for part in parts if part.kind != "narrow"]
    left, top = min(part.left for part in shown), min(part.top for part in shown)
    right = max(part.left + part.width for part in shown)
    bottom = max(part.top + part.height for part in shown)
    return Part(left, top, right - left, bottom - top)


def _frame(part: Part) -> str:
    """Write the size and the view box of a part."""
    view = f"{part.left} {part.top} {part.width} {part.height}"
    return f'width="{part.width}" height="{part.height}" viewBox="{view}"'


def _is_behind(name: Annotation) -> bool:
    """Test whether a name is behind the right end of its axes."""
    return name.xycoords == ("axes fraction", "data") and name.xy[0] == 1


def _share_of_height(ax: Axes, y: float) -> float:
    """Return the height of a value in its axes, from 0 (bottom) to 1 (top)."""
    return float((ax.get_yaxis_transform() - ax.transAxes).transform((0, y))[1])


def _goes_below(ax: Axes, height: float) -> bool:
    """Test whether a name goes below its line: in the upper half, or away from another line."""
    ends = [_share_of_height(ax, float(np.asarray(line.get_ydata())[-1])) for line in ax.lines]
    away = [end - height for end in (0, 1, *ends) if abs(end - height) > 0.01]
    above = min((d for d in away if d > 0), default=0)
    below = min((-d for d in away if d < 0), default=0)
    is_high = height > 0.5
    is_crowded = (below if is_high else above) < NEAR
    return below > above if is_crowded else is_high
