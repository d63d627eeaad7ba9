"""A matplotlib renderer for SVG in a page: few marks, text as text, colors by name.

matplotlib's own SVG outlines text or positions it for one font, repeats ids from picture to picture,
and is several times as long. Sizes are CSS pixels, without scaling.
"""

import re
from functools import cache
from html import escape, unescape
from typing import Any

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Affine2D, Bbox, Transform

from selfattn_book.draw.colors import light, on_page
from selfattn_book.draw.paths import has_curves, join, marker, outline, tenths, vertices

INCH, POINT = 96, 96 / 72  # CSS pixels
SMALL = 13  # pixels; the size of text that says no other
PAGE_WIDTH = 0.9  # of a text, as a share of what it has in matplotlib's own, wide font
SHARES = {"left": 0.0, "center": 0.5, "right": 1.0, "bottom": 0.0, "top": 1.0}
LIVE = "live"  # the name of artists that are drawn again when a reader changes the figure
SIDES = {0.0: "start", 0.5: "middle", 1.0: "end"}


class Sheet(RendererBase):
    """Convert drawing calls to SVG marks, on a sheet of a size in CSS pixels."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__()
        self.size = width, height
        self._upright = Affine2D().scale(1, -1).translate(0, height)
        self._drawn: list[tuple[str, str]] = []  # a path and its looks, or a text
        self._live = -1  # where live marks begin

    def marks(self) -> list[str]:
        """Return the marks in drawing order; live ones come last, in a group."""
        marks = [f'<path d="{d}"{look}/>' if look else d for d, look in self._drawn]
        if self._live >= 0:
            marks[self._live :] = ["<g>", *marks[self._live :], "</g>"]
        return marks

    def open_group(self, s: str, gid: str | None = None) -> None:
        """Begin the live marks with the first artist of that name."""
        if gid == LIVE and self._live < 0:
            self._live = len(self._drawn)

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Return the size."""
        return self.size

    def flipy(self) -> bool:
        """Return true: y goes down."""
        return True

    def points_to_pixels(self, points: Any) -> Any:
        """Return a length in pixels."""
        return points * POINT

    def get_text_width_height_descent(
        self, s: str, prop: Any, ismath: Any
    ) -> tuple[float, float, float]:
        """Measure a line of text about as wide as on a page."""
        size = self.points_to_pixels(prop.get_size_in_points())
        return _measured(_plain(s), size, prop.get_weight())

    def draw_path(
        self,
        gc: GraphicsContextBase,
        path: Path,
        transform: Transform,
        rgbFace: Any = None,  # noqa: N803 (the names are matplotlib's)
    ) -> None:
        """Draw a line or an area, clipped to the axes."""
        path = path.transformed(transform + self._upright)
        face = rgbFace if len(path) > 2 else None  # two points have nothing between them
        d = outline(path, self._inside(gc), filled=face is not None, exact=self._live >= 0)
        self._draw(d, _look(gc, face))

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: Any = None,  # noqa: N803 (the names are matplotlib's)
    ) -> None:
        """Draw one mark at each point within the axes, as one path."""
        if len(path) == 1 and not has_curves(marker_path):  # an area may come so
            place = marker_trans + Affine2D().translate(*trans.transform(vertices(path))[0])
            return self.draw_path(gc, marker_path, place, rgbFace)
        mark = marker(marker_path.transformed(marker_trans + Affine2D().scale(1, -1)))
        points = vertices(path.transformed(trans + self._upright))
        if (box := self._inside(gc)) is not None:
            low, high = box.padded(0.5).get_points()
            points = points[((points > low) & (points < high)).all(axis=1)]
        drawn = [f"M{join(*point)}{mark}" for point in tenths(points)]
        return self._draw("".join(drawn), _look(gc, rgbFace))

    def draw_quad_mesh(self, gc: GraphicsContextBase, *mesh: Any, **_: Any) -> None:
        """Draw the cells of a heat map, with one path for each shade.

        Coordinates count cells, and a transform scales them, which is short. A line as wide as a
        cell is high runs through its middle.
        """
        transform, columns, rows, coordinates, _offsets, _offset_transform, faces, *_looks = mesh
        place = transform + self._upright
        left, width = _even(place.transform(coordinates[0])[:, 0])
        top, height = _even(place.transform(coordinates[:, 0])[:, 1])
        size = (width, 0, 0, height, left, top + height / 2)
        colors = np.reshape(faces, (rows, columns, 4))
        for color in np.unique(faces[faces[:, 3] > 0], axis=0):
            d = "".join(f"M{j} {i}h1" for i, j in np.argwhere((colors == color).all(axis=2)))
            look = f' stroke="{on_page(to_hex(color))}" shape-rendering="crispEdges"'
            numbers = " ".join(f"{n:.5g}" for n in size)
            self._draw(d, f'{look} transform="matrix({numbers})"')

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: Any,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        """Write a line of text from its anchor, so that its position holds in any font."""
        width, _, _ = self.get_text_width_height_descent(s, prop, ismath)
        share, turn = _anchor(mtext, angle), np.deg2rad(angle)
        along = share * width * np.array([np.cos(turn), -np.sin(turn)])
        across, down = tenths(np.add((x, y), along))
        look = _text_look(gc, self.points_to_pixels(prop.get_size_in_points()), share)
        if prop.get_weight() == "bold":
            look += ' font-weight="600"'
        if angle:
            look += f' transform="rotate({-angle:g} {join(across, down)})"'
        place = f'x="{join(across)}" y="{join(down)}"'
        self._drawn.append((f"<text {place}{look}>{_letters(s)}</text>", ""))

    def _inside(self, gc: GraphicsContextBase) -> Bbox | None:
        """Return the clip box."""
        if (box := gc.get_clip_rectangle()) is None:
            return None
        box = box.transformed(self._upright)
        return Bbox([box.min, box.max])  # clipping asks for its corners in this order

    def _draw(self, d: str, look: str) -> None:
        """Add a path, or append a line to the line before it if both look the same."""
        before, same = self._drawn[-1] if len(self._drawn) > max(self._live, 0) else ("", "")
        if look == same and 'fill="none"' in look and "opacity" not in look:
            self._drawn[-1] = (before + d, look)
        elif d and look != ' fill="none"':
            self._drawn.append((d, look))


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return about how many pixels a page needs for a line of text."""
    return _measured(_plain(text), size, "bold" if bold else "normal")[0]


@cache
def _measured(text: str, size: float, weight: str | int) -> tuple[float, float, float]:
    """Return the width, height and descent of a line of text in pixels."""
    prop = FontProperties(size=size, weight=weight)
    width, height, descent = text_to_path.get_text_width_height_descent(text, prop, ismath=False)
    return PAGE_WIDTH * width, height, descent


def _even(edges: np.ndarray) -> tuple[float, float]:
    """Return the first edge and the size of cells of one size."""
    sizes = np.diff(edges)
    if not np.allclose(sizes, sizes[0]):
        raise ValueError(f"cells must be of one size; got {sizes.tolist()}")
    return edges[0], sizes[0]


def _look(gc: GraphicsContextBase, face: Any) -> str:
    """Write the fill and the stroke of a path."""
    look = ' fill="none"'
    if face is not None and (opacity := _opacity(gc, face)):
        look = f' fill="{on_page(to_hex(face[:3]))}"' + _attribute("fill-opacity", opacity, 1)
    if width := gc.get_linewidth() * POINT:
        look += f' stroke="{on_page(to_hex(gc.get_rgb()[:3]))}"'
        look += _attribute("stroke-opacity", _opacity(gc, gc.get_rgb()), 1)
        look += _attribute("stroke-width", width, 1)
        lengths: Any = gc.get_dashes()[1] or ()
        dashes = " ".join(f"{length * POINT:.3g}" for length in lengths)
        look += f' stroke-dasharray="{dashes}"' if dashes else ""
    return look


def _opacity(gc: GraphicsContextBase, color: Any) -> float:
    return gc.get_alpha() if gc.get_forced_alpha() else ([*color, 1.0][3])


def _attribute(name: str, value: float, default: float) -> str:
    return "" if value == default else f' {name}="{value:.3g}"'


def _anchor(text: Text | None, angle: float) -> float:
    """Return the fraction of a line of text before its anchor."""
    if text is None:  # one of several lines
        return 0.5
    if angle and text.get_rotation_mode() != "anchor":  # below an axis, the end is next to it
        return SHARES[text.get_verticalalignment()]
    return SHARES[text.get_horizontalalignment()]


def _text_look(gc: GraphicsContextBase, size: float, share: float) -> str:
    look = "" if share == 0 else f' text-anchor="{SIDES[share]}"'
    look += _attribute("font-size", size, SMALL)
    color = to_hex(gc.get_rgb()[:3])
    return look if color == light("ink") else f'{look} fill="{on_page(color)}"'


def _plain(text: str) -> str:
    r"""Return the letters of a text without markup.

    >>> _plain(r"$\mathdefault{10^{-1}}$"), _plain("-0.5 < x")
    ('10−1', '−0.5 < x')
    """
    return unescape(re.sub(r"<.*?>", "", _letters(text)))


def _letters(text: str) -> str:
    r"""Write text for a page, with superscripts and true minus signs.

    >>> _letters(r"$\mathdefault{10^{-1}}$"), _letters("-0.5 < x"), _letters("pre-norm")
    ('10<tspan dy="-4" font-size="11">−1</tspan>', '−0.5 &lt; x', 'pre-norm')
    """
    text = re.sub(r"(?<![\w-])-(?=[\d.])", "−", escape(text, quote=False))
    text = text.replace(r"\mathdefault", "").replace(r"\times", "×")
    text = re.sub(r"\^\{(.*?)\}", r'<tspan dy="-4" font-size="11">\1</tspan>', text)
    return re.sub(r"\$\{?(.*?)\}?\$", r"\1", text)
