"""A canvas in CSS pixels for drawings of the mechanism, and its marks.

``x`` goes right and ``y`` goes down, as on a page, and nothing is scaled. A mark has the color of its
role, the same in every chapter: ``query``, ``key``, ``value``, ``weights``, ``context``; ``mask``, which
is hatched; ``wrong``, which is dashed; ``residual``, the residual stream; ``ink`` and ``muted``;
``word-0`` to ``word-3``, backgrounds of words. Color never stands alone: each role also has a name or a
position.

Example:
    >>> def draw(width):
    ...     ax = canvas(width, 60)
    ...     ax.vector((20, 30), [0.5, -0.25], "query")
    ...     return ax.describe("A query")
    >>> ax = both_widths(draw)
    >>> ax.get_label(), ax.figure.to_svg().count("−0.25")   # once for each width
    ('A query.', 2)
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon, Rectangle
from matplotlib.path import Path
from torch import Tensor

from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import INCH, POINT, SMALL
from selfattn_book.draw.style import DescribedFigure, Numbers, as_array, book_style, sentences

Point = tuple[float, float]

TEXT = 14  # pixels; notes have SMALL, and nothing less
LINE, BOLD_LINE = 1.4, 2.4  # pixels; what matters is drawn with the second
BELOW_MIDDLE = 0.34  # distance of a baseline from the middle of capitals, by the size of the text
HALO = 6  # pixels that a line keeps free where it crosses others like a bridge
DASHES = (0, (3, 2))


class Canvas(Axes):
    """Axes in pixels, with the marks of the book's drawings."""

    def say(
        self,
        at: Point,
        text: str,
        role: str = "ink",
        *,
        size: float = TEXT,
        align: str = "center",
        bold: bool = False,
        turned: bool = False,
    ) -> None:
        """Write a line of text, with the middle of its capitals at the height of a point.

        The point is the left end, the middle or the right end of the text, by ``align``.
        """
        lower = BELOW_MIDDLE * size
        x, y = (at[0] + lower, at[1]) if turned else (at[0], at[1] + lower)
        look: dict[str, Any] = {"ha": align, "va": "baseline", "rotation_mode": "anchor"}
        look |= {"weight": "bold" if bold else "normal", "rotation": 90 if turned else 0}
        self.text(x, y, text, color=light(role), fontsize=size / POINT, zorder=6, **look)

    def note(self, at: Point, text: str, role: str = "ink", **look: Any) -> None:
        """Write a line of small text; ``look`` is passed on to ``say``."""
        self.say(at, text, role, size=SMALL, **look)

    def box(
        self,
        at: Point,
        size: Point,
        role: str = "ink",
        text: str = "",
        *,
        filled: bool = True,
        dashed: bool = False,
        bold: bool = False,
        text_size: float = TEXT,
        width: float = LINE,
        order: float = 3,
    ) -> None:
        """Draw a box around its middle, with a line of text.

        ``width`` is that of the edge; boxes of a higher ``order`` cover lower ones.
        """
        (x, y), (w, h) = at, size
        patch = FancyBboxPatch(
            (x - w / 2, y - h / 2),
            w,
            h,
            boxstyle="round,pad=0,rounding_size=3",
            linewidth=width / POINT,
            edgecolor=light(role),
            facecolor=light(f"{role}-tint") if filled else "none",
            linestyle=DASHES if dashed else "-",
            zorder=order,
        )
        self.add_patch(patch)
        if text:
            self.say(at, text, size=text_size, bold=bold)

    def vector(
        self,
        at: Point,
        values: Numbers,
        role: str,
        *,
        cell: Point = (42, 26),
        digits: int = 2,
        text_size: float = TEXT,
        bold: bool = False,
        width: float = LINE,
    ) -> None:
        """Draw a vector ``(N,)`` as a row of cells with its numbers, from the middle of its left edge.

        ``cell`` is the width and height of a cell; ``width`` is that of the edge.
        """
        entries, (x, y), (w, h) = as_array(values), at, cell
        self.box((x + w * len(entries) / 2, y), (w * len(entries), h), role, width=width)
        for i, entry in enumerate(entries):
            self.say((x + (i + 0.5) * w, y), number(entry, digits), size=text_size, bold=bold)
            if i:
                self.line([(x + i * w, y - h / 2), (x + i * w, y + h / 2)], role, width=0.8)

    def hbar(self, at: Point, length: float, role: str, *, thick: float = 16) -> None:
        """Draw a bar from a point to the right, or to the left if its length is negative."""
        corner = (min(at[0], at[0] + length), at[1] - thick / 2)
        self.add_patch(Rectangle(corner, abs(length), thick, facecolor=light(role), zorder=3))

    def vbar(self, at: Point, height: float, role: str, *, thick: float = 16) -> None:
        """Draw an upright bar from a point, or a hanging one for a negative height."""
        corner = (at[0] - thick / 2, min(at[1], at[1] - height))
        self.add_patch(Rectangle(corner, thick, abs(height), facecolor=light(role), zorder=3))

    def line(
        self,
        points: Sequence[Point],
        role: str = "muted",
        *,
        width: float = 1,
        dashed: bool = False,
    ) -> None:
        """Draw a thin line over boxes and bars, such as the zero line of bars."""
        xs, ys = zip(*points, strict=True)
        style: Any = {"linestyle": DASHES if dashed else "-", "linewidth": width / POINT}
        self.plot(xs, ys, color=light(role), zorder=5, **style)

    def wire(
        self,
        points: Sequence[Point],
        role: str = "ink",
        *,
        width: float = LINE,
        head: bool = True,
        curved: bool = False,
        dashed: bool = False,
        over: bool = False,
    ) -> None:
        """Draw a wire under boxes: a line through points, or one curve from the first to the last.

        A ``curved`` wire is level at both ends; ``over`` leaves a gap in the wires that it crosses.
        """
        end, size = points[-1], 7 + width / 2
        before = (end[0] - 1, end[1]) if curved else points[-2]
        if head:  # the line ends within the head, which is wider
            points = [*points[:-1], _towards(end, before, size - 1)]
        codes = [Path.MOVETO] + [Path.LINETO] * (len(points) - 1)
        if curved:
            first, last = points[0], points[-1]
            middle = (first[0] + last[0]) / 2
            points = [first, (middle, first[1]), (middle, last[1]), last]
            codes = [Path.MOVETO, *[Path.CURVE4] * 3]
        # What comes later lies above what came before, and all wires lie below all boxes.
        look: Any = {"facecolor": "none", "zorder": 2 + len(self.patches) / 1000}
        path = Path(points, codes)
        if over:
            halo = {"edgecolor": light("paper"), "linewidth": (width + HALO) / POINT}
            self.add_patch(PathPatch(path, **halo, **look))
        style = {"linestyle": DASHES if dashed else "-", "linewidth": width / POINT}
        self.add_patch(PathPatch(path, edgecolor=light(role), **style, **look))
        if head:
            along = np.subtract(_towards(before, end, 1), before)
            across, base = np.array([-along[1], along[0]]), np.array(end) - size * along
            corners = [np.array(end), base + 0.5 * size * across, base - 0.5 * size * across]
            self.add_patch(Polygon(corners, facecolor=light(role), zorder=2.9))

    def node(self, at: Point, sign: str, role: str = "ink", *, radius: float = 8) -> None:
        """Draw an operation as a small circle with its sign."""
        look: Any = {"facecolor": light("paper"), "edgecolor": light(role)}
        self.add_patch(Circle(at, radius, linewidth=LINE / POINT, zorder=4, **look))
        self.say(at, sign, role, bold=True)

    def disc(self, at: Point, radius: float, role: str) -> None:
        """Draw a dot."""
        self.add_patch(Circle(at, radius, facecolor=light(role), zorder=4))

    def ring(self, at: Point, radius: float, role: str, *, order: float = 5) -> None:
        """Draw an open circle."""
        look: Any = {"fill": False, "edgecolor": light(role), "linewidth": LINE / POINT}
        self.add_patch(Circle(at, radius, zorder=order, **look))

    def hatch(self, at: Point, size: Point) -> None:
        """Hatch a rectangle around its middle; an SVG pattern would need an id on the page."""
        (x, y), (w, h) = at, size
        for c in np.arange(6 - (w + h) / 2, (w + h) / 2, 6):
            left, right = max(-w / 2, c - h / 2), min(w / 2, c + h / 2)
            self.line([(x + u, y + c - u) for u in (left, right)], "mask", width=0.8)

    def masked(self, at: Point, size: Point, text: str = "") -> None:
        """Draw a masked cell: hatched, with a text on clear ground."""
        self.box(at, size, "mask", width=1)
        self.hatch(at, size)
        if text:
            self.box(at, (24, 20), "mask", text, width=0, order=5.5)

    def describe(self, *parts: str) -> "Canvas":
        """Set the text alternative, a sentence for each part, and return the drawing."""
        self.set_label(sentences(*parts))
        return self


def both_widths(draw: Callable[[float], Canvas]) -> Canvas:
    """Draw for a page and for a phone, given the width of a canvas, and return the page's drawing."""
    desk = book_style(draw)(WIDE)
    phone = book_style(draw)(NARROW).figure
    plt.close(cast("DescribedFigure", phone))
    cast("DescribedFigure", desk.figure).phone = cast("DescribedFigure", phone)
    return desk


def canvas(width: float, height: float) -> Canvas:
    """Open a canvas of a size in CSS pixels.

    Example:
        >>> ax = canvas(640, 200)
        >>> ax.get_ylim() == (200, 0), ax.figure.get_size_inches() * INCH
        (True, array([640., 200.]))
    """
    size = (width / INCH, height / INCH)
    figure = plt.figure(FigureClass=DescribedFigure, figsize=size, layout="none")
    look: Any = {"xlim": (0, width), "ylim": (height, 0), "axes_class": Canvas}
    ax = figure.add_axes((0, 0, 1, 1), **look)
    ax.set_axis_off()
    return cast("Canvas", ax)


def number(value: float, digits: int = 2) -> str:
    """Write a number, without a sign if it rounds to zero.

    Example:
        >>> number(-0.456), number(-0.001), number(3, 0)
        ('-0.46', '0.00', '3')
    """
    return f"{value:z.{digits}f}"


def listed(values: Numbers, digits: int = 2) -> str:
    """Write the numbers of a vector as a list.

    Example:
        >>> listed([0.5, -1.0])
        '0.50, -1.00'
    """
    return ", ".join(number(value, digits) for value in as_array(values))


def shape(x: Tensor) -> str:
    """Write the shape of a tensor.

    Example:
        >>> import torch
        >>> shape(torch.ones(2, 3)), shape(torch.ones(4))
        ('(2, 3)', '(4)')
    """
    return f"({', '.join(map(str, x.shape))})"


def _towards(start: Point, end: Point, distance: float) -> Point:
    """Return the point at a distance from the start toward the end."""
    step = np.subtract(end, start)
    x, y = start + distance * step / max(float(np.hypot(*step)), 1e-9)
    return float(x), float(y)
