"""Scenes: trees of nodes that compute their own layout, on a page and on a phone, and their text.

Every node has an explicit size in pixels. A ``row`` that is too wide becomes a column, so one tree
gives both layouts; its text alternative is the sentences of its nodes in reading order.

Example:
    >>> def build(narrow):
    ...     x, y = part("x", width=200, alt="An input"), part("f(x)", "context", width=200)
    ...     return row(x, step("apply f"), y)
    >>> ax = show(build)
    >>> ax.get_label(), int(ax.get_ylim()[0]), int(ax.figure.phone.axes[0].get_ylim()[0])
    ('An input.', 44, 108)
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from selfattn_book.draw.canvas import LINE, TEXT, Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import live
from selfattn_book.draw.sheet import SMALL, text_width
from selfattn_book.draw.style import Numbers, as_array

MARGIN = 4  # pixels around a scene
Paint = Callable[[Canvas, Point], None]


class Node:
    """A piece of a scene: its size, its place, and what it draws around its middle.

    Its upper left corner is known once the scene is laid out; ``alt`` is a sentence for the text
    alternative.
    """

    def __init__(
        self, width: float, height: float = 0, paint: Paint | None = None, alt: str = ""
    ) -> None:
        self.width, self.height, self.paint, self.alt = width, height, paint, alt
        self.left = self.top = 0.0
        self.nodes: list[Node] = []
        self.links: list[Callable[[Canvas], None]] = []

    def at(self, across: float, down: float) -> Point:
        """Return a point: (0, 0) is the upper left corner, and (1, 1) the lower right one."""
        return self.left + across * self.width, self.top + down * self.height

    def fit(self, width: float, *, vertical: bool = False) -> None:
        """Compute the size within a width; ``vertical``: the direction of the parent."""

    def place(self, left: float, top: float) -> None:
        """Move the upper left corner to a point."""
        self.left, self.top = left, top

    def link(
        self,
        start: "Node",
        end: "Node",
        role: str = "ink",
        *,
        below: float = 0,
        around: float = 0,
        ends: tuple[Point, Point] | None = None,
        text: str = "",
        **look: Any,
    ) -> None:
        """Connect two nodes by a wire with a name; ``look`` is passed on to ``wire``.

        ``ends`` are points relative to both nodes, as in ``at``, for a straight wire. With ``around``,
        the wire runs so many pixels beyond the right sides of both nodes; if negative, beyond their
        left sides. For ``below``, see ``between``.
        """

        def draw(ax: Canvas) -> None:
            points = between(start, end, below)
            if ends:
                points = [start.at(*ends[0]), end.at(*ends[1])]
            if around:
                side = float(around > 0)
                first, last = start.at(side, 0.5), end.at(side, 0.5)
                x = (max if side else min)(first[0], last[0]) + around
                points = [first, (x, first[1]), (x, last[1]), last]
            ax.wire(points, role, **look)
            (x, y), (across, down) = points[0], points[-1]
            ink = "muted" if role == "ink" else role
            if abs(x - across) < abs(y - down):
                at = ((x + across) / 2 + 10, max((y + down) / 2 - 1, down - 17))
                ax.note(at, text, ink, align="left")
            else:
                away = 12 if ends and ends[0][1] > 0.5 else -12
                ax.note(((x + across) / 2 - 3, y + away), text, ink)

        self.links.append(draw)

    def draw(self, ax: Canvas) -> None:
        """Draw the node, its wires, and the nodes within it."""
        if self.paint:
            self.paint(ax, self.at(0.5, 0.5))
        for link in self.links:
            link(ax)
        for node in self.nodes:
            node.draw(ax)

    def sentences(self) -> list[str]:
        """Return the text alternative in reading order."""
        return [self.alt, *(line for node in self.nodes for line in node.sentences())]


space = Node  # a rectangle that is free, or that is drawn into around its middle


class Line(Node):
    """Nodes beside or below each other; a row that is too wide becomes a column."""

    def __init__(
        self, nodes: Sequence[Node], *, vertical: bool, gap: float, align: float, alt: str
    ) -> None:
        super().__init__(0, 0, alt=alt)
        self.nodes, self.gap, self.align = list(nodes), gap, align
        self.is_column, self.vertical = vertical, vertical

    def fit(self, width: float, *, vertical: bool = False) -> None:
        """Lay the nodes out in the wanted direction, or in a column where that is too wide."""
        self._fit(width, self.is_column)
        if self.width > width + 0.5:  # not by rounding alone
            self._fit(width, vertical=True)

    def _fit(self, width: float, vertical: bool) -> None:
        self.vertical = vertical
        for node in self.nodes:
            node.fit(width, vertical=vertical)
        widths, heights = [n.width for n in self.nodes], [n.height for n in self.nodes]
        gaps = self.gap * (len(self.nodes) - 1)
        self.width = max(widths) if vertical else sum(widths) + gaps
        self.height = sum(heights) + gaps if vertical else max(heights)

    def place(self, left: float, top: float) -> None:
        """Place the nodes one after the other."""
        super().place(left, top)
        for node in self.nodes:
            if self.vertical:
                node.place(left + self.align * (self.width - node.width), top)
                top += node.height + self.gap
            else:
                node.place(left, self.top + self.align * (self.height - node.height))
                left += node.width + self.gap


def row(*nodes: Node, gap: float = 8, align: float = 0.5, alt: str = "") -> Line:
    """Arrange nodes from left to right."""
    return Line(nodes, vertical=False, gap=gap, align=align, alt=alt)


def column(*nodes: Node, gap: float = 8, align: float = 0.5, alt: str = "") -> Line:
    """Arrange nodes from top to bottom."""
    return Line(nodes, vertical=True, gap=gap, align=align, alt=alt)


def grid(nodes: Sequence[Node], across: int, *, gap: float = 0) -> Line:
    """Arrange nodes in rows of some number of nodes."""
    rows = [row(*nodes[i : i + across], gap=gap) for i in range(0, len(nodes), across)]
    return column(*rows, gap=gap, align=0)


class Step(Node):
    """An arrow to the next node, in the direction of its parent, with its name beside it.

    ``live`` is what a live figure calls the name.
    """

    def __init__(self, text: str = "", *, length: float = 48, live: str = "") -> None:
        super().__init__(0, 0)
        self.text, self.length, self.vertical, self.live = text, length, False, live

    def fit(self, width: float, *, vertical: bool = False) -> None:
        """Take the direction of the parent."""
        self.vertical, wide = vertical, text_width(self.text, SMALL, bold=True)
        side = 2 * wide + 24 if self.text else 12
        self.width = side if vertical else max(self.length, wide + 8)
        self.height = max(28, self.length / 2) if vertical else 36

    def draw(self, ax: Canvas) -> None:
        """Draw the arrow."""
        x, y = self.at(0.5, 0.5)
        if self.vertical:
            ax.wire([self.at(0.5, 0), self.at(0.5, 1)])
            at, align = (x + 12, y), "left"
        else:
            ax.wire([self.at(0, 0.5), self.at(1, 0.5)])
            at, align = (x, y - 14), "center"
        write(ax, self.live, self.text, at, size=SMALL, align=align, bold=True)


step = Step


def say(ax: Canvas, text: str, at: Point, **look: Any) -> None:
    """Write a line of text around a point."""
    ax.say(at, text, **look)


def write(ax: Canvas, name: str, text: str, at: Point, **look: Any) -> None:
    """Write a line of text, for a live figure if it has a name there."""
    if name:
        live(ax, say, name, text, at=at, **look)
    else:
        say(ax, text, at, **look)


def label(text: str, role: str = "ink", *, width: float = 0, live: str = "", **look: Any) -> Node:
    """Write a line of text, centered; ``look`` is passed on to ``say``, ``live`` as in ``step``."""
    size = look.get("size", TEXT)
    wide = width or text_width(text, size, bold=look.get("bold", False))
    align = look.get("align", "center")
    shift = {"left": -wide / 2, "center": 0.0, "right": wide / 2}[align]

    def paint(ax: Canvas, middle: Point) -> None:
        write(ax, live, text, (middle[0] + shift, middle[1]), role=role, **look)

    return Node(wide, size + 4, paint)


def note(text: str, role: str = "ink", **look: Any) -> Node:
    """Write a line of small text; ``look`` is passed on to ``label``."""
    return label(text, role, size=SMALL, **look)


def title(text: str, *, live: str = "") -> Node:
    """Write the title of a column."""
    return label(text, "muted", bold=True, live=live)


def part(
    text: str,
    role: str = "ink",
    *,
    width: float = 0,
    height: float = 28,
    edge: float = LINE,
    alt: str = "",
    **look: Any,
) -> Node:
    """Draw a box with a line of text; ``look`` is passed on to ``box``."""
    wide = width or text_width(text, look.get("text_size", TEXT), bold=look.get("bold", False)) + 16

    def paint(ax: Canvas, middle: Point) -> None:
        ax.box(middle, (wide, height), role, text, width=edge, **look)

    return Node(wide, height, paint, alt)


def cells(
    values: Numbers, role: str, *, cell: Point = (42, 26), alt: str = "", **look: Any
) -> Node:
    """Draw a vector as a row of cells; ``look`` is passed on to ``vector``."""
    wide = cell[0] * len(as_array(values))

    def paint(ax: Canvas, middle: Point) -> None:
        ax.vector((middle[0] - wide / 2, middle[1]), values, role, cell=cell, **look)

    return Node(wide, cell[1], paint, alt)


def probability_bars(
    pairs: Sequence[tuple[str, float]], role: str, *, start: float, long: float, pitch: float = 24
) -> Node:
    """Draw named probabilities as bars, one below the other, each with its number at its end.

    A bar begins ``start`` pixels from the left, is ``long`` pixels long for a probability of 1, and
    ``pitch`` pixels above the next one.
    """
    width, height = start + long + 40, pitch * len(pairs)

    def paint(ax: Canvas, middle: Point) -> None:
        x, y = middle[0] - width / 2 + start, middle[1] - (height - pitch) / 2
        for i, (name, p) in enumerate(pairs):
            ink, at = "ink" if p > 0 else "muted", y + pitch * i
            ax.note((x - 8, at), name, ink, align="right")
            ax.hbar((x, at), long * p, role, thick=14)
            ax.note((x + long * p + 6, at), number(p) if p > 0 else "–", ink, align="left")

    return Node(width, height, paint)


def hatched(width: float, height: float) -> Node:
    """Draw a masked cell."""
    return Node(width, height, lambda ax, middle: ax.masked(middle, (width, height)))


def bar_above(
    box: Node, weight: float, text: str, *, high: float, thick: float = 9, width: float = 0
) -> Node:
    """Draw a weight as a bar of one width above a box, with its number; 1 is ``high`` pixels."""

    def paint(ax: Canvas, middle: Point) -> None:
        x, y = middle[0], middle[1] + high / 2 + 8
        ax.vbar((x, y), high * weight, "weights", thick=thick)
        ax.note((x, y - high * weight - 9), text, "weights")

    return column(space(width, high + 16, paint), box, gap=2)


def slot(node: Node, width: float) -> Node:
    """Keep a width around a node, so that nodes below each other have one middle."""
    return column(node, space(width), gap=0)


def table(
    shape: tuple[int, int],
    cell: Point,
    entry: Callable[[Canvas, Point, int, int], None] = lambda *_: None,
    *,
    body: Callable[[Canvas, Point], None] = lambda *_: None,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    roles: tuple[str, str] = ("query", "key"),
    axes: tuple[str, str] = ("", ""),
    size: float = TEXT,
) -> Node:
    """Draw a matrix cell by cell, with the names of rows at its left and of columns above it.

    ``entry`` draws the cell ``(i, j)`` around its middle, and ``body`` all cells, from the upper left
    corner. The names of both axes are beside and above the other names (below the matrix without
    names).
    """
    (m, n), (w, h) = shape, cell
    side = 20 if axes[0] else 0
    left = side + max((text_width(name, size) + 8 for name in rows), default=0)
    top, foot = (size + 8 if columns else 0), (20 if axes[1] and not columns else 0)
    width, height = left + n * w, top + m * h + foot

    def paint(ax: Canvas, middle: Point) -> None:
        x, y = middle[0] - width / 2 + left, middle[1] - height / 2 + top
        for j, name in enumerate(columns):
            ax.say((x + (j + 0.5) * w, y - size / 2 - 3), name, roles[1], size=size)
        for i, name in enumerate(rows):
            ax.say((x - 8, y + (i + 0.5) * h), name, roles[0], size=size, align="right")
        body(ax, (x, y))
        for i, j in product(range(m), range(n)):
            entry(ax, (x + (j + 0.5) * w, y + (i + 0.5) * h), i, j)
        ax.note((x - left + 8, y + m * h / 2), axes[0], roles[0], turned=True)
        if foot:
            ax.note((x + n * w / 2, y + m * h + 10), axes[1], roles[1])
        else:
            ax.note((x - 8, y - size / 2 - 3), axes[1], roles[1], align="right")

    return Node(width, height, paint)


def between(start: Node, end: Node, below: float = 0) -> list[Point]:
    """Return the points of a wire between the sides of two nodes, which bends at a right angle.

    With ``below``, the wire runs so many pixels below the second node and enters it from there; if
    negative, it turns to the top of the second node so many pixels below the first one.
    """
    a, b = start.at(0.5, 1), end.at(0.5, 0)
    if below < 0:
        return [a, (a[0], a[1] - below), (b[0], a[1] - below), b]
    if below and end.top < a[1]:
        low = end.top + end.height + below
        return [a, (a[0], low), (b[0], low), end.at(0.5, 1)]
    if end.top >= a[1]:
        if end.left < a[0] < end.left + end.width:
            return [a, (a[0], b[1])]
        if start.left < b[0] < start.left + start.width:
            return [(b[0], a[1]), b]
        side = end.at(float(a[0] > b[0]), 0.5)
        return [a, (a[0], side[1]), side]
    if end.top + end.height <= start.top:
        return between(end, start)[::-1]
    right = end.left >= start.left
    return [start.at(float(right), 0.5), end.at(float(not right), 0.5)]


class Frame(Node):
    """A node in a frame."""

    def __init__(self, node: Node, role: str = "residual", *, pad: float = 6, **look: Any) -> None:
        super().__init__(0, 0)
        self.nodes, self.role, self.pad = [node], role, pad
        self.look: dict[str, Any] = {"filled": False, "order": 1} | look

    def fit(self, width: float, *, vertical: bool = False) -> None:
        """Surround the node."""
        (node,) = self.nodes
        node.fit(width - 2 * self.pad, vertical=vertical)
        self.width, self.height = node.width + 2 * self.pad, node.height + 2 * self.pad

    def place(self, left: float, top: float) -> None:
        """Place the node within the frame."""
        super().place(left, top)
        self.nodes[0].place(left + self.pad, top + self.pad)

    def draw(self, ax: Canvas) -> None:
        """Draw the frame, and the node over it."""
        ax.box(self.at(0.5, 0.5), (self.width, self.height), self.role, **self.look)
        super().draw(ax)


frame = Frame


def show(build: Callable[[bool], Node], *opening: str) -> Canvas:
    """Draw a scene for a page and for a phone; ``opening`` begins the text alternative.

    ``build`` makes the scene, given whether it is the phone's.
    """

    def draw(width: float) -> Canvas:
        root = build(width == NARROW)
        root.fit(width - 2 * MARGIN)
        root.place((width - root.width) / 2, MARGIN)
        ax = canvas(width, root.height + 2 * MARGIN)
        root.draw(ax)
        return ax.describe(*opening, *root.sentences())

    return both_widths(draw)
