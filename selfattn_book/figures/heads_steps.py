"""One entry on its way through multi-head attention: split into heads, attention, and merge."""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live

SIZE, COLUMNS = 2, 4  # columns of a head, and of the matrix
BETWEEN, BELOW = 8, 24  # pixels between two heads, beside and above each other
TITLES = ("values", "1 reshape", "2 transpose", "3 attention", "4 transpose back", "5 reshape")
SHAPES = ("(4, 4)", "(4, 2, 2)", "(2, 4, 2)", "(2, 4, 2)", "(4, 2, 2)", "(4, 4)")
PARTS, HEADS = (1, 4), (2, 3)  # tables of words whose heads are apart, and tables of heads
# Pixels: width and height of a cell, and of six tables the corners, the sides of their names, and the
# arrows from the first to the second, and so on but for the attention.
_Places = namedtuple("_Places", "wide high corners sides arrows bottom")
DESK = _Places(
    26,
    23,
    [(44, 46), (44, 226), (228, 64), (348, 64), (472, 46), (472, 226)],
    ["left", "left", "left", "right", "right", "right"],
    [
        [(100, 146), (100, 170)],
        [(162, 272), (182, 272)],
        [(438, 92), (462, 92)],
        [(528, 146), (528, 170)],
    ],
    330,
)
PHONE = _Places(
    24,
    23,
    [(44, 46), (174, 46), (84, 222), (178, 222), (44, 494), (178, 494)],
    ["left", "", "left", "right", "left", ""],
    [
        [(146, 92), (168, 92)],
        [(226, 142), (226, 152), (108, 152), (108, 162)],
        [(202, 434), (202, 442), (96, 442), (96, 452)],
        [(152, 540), (172, 540)],
    ],
    602,
)
Cells = list[list[list[str]]]  # of a table: the text of each cell, and its look


def follow_entry(
    names: Sequence[str], entry: Sequence[int], *, scrambled: bool = False, step: int = 5
) -> Canvas:
    """Draw where an entry of the values is after each step of two heads with causal attention.

    Each row of a head attends equally to all rows up to its own. The entry is a word and a column,
    counted from 0, of four words with four columns. ``scrambled`` splits by ``view``, a mistake.

    Example:
        >>> ax = follow_entry(["tree", "rock", "nurse", "chair"], (2, 1), scrambled=True)
        >>> print(ax.get_label())
        The entry n2 is column 2 of nurse, split into two scrambled heads. After the split it is in head
        2, row 1. After the attention it is in rows 1, 2, 3, 4 of that head. n2 ends in column 4: tree,
        rock, nurse, chair. It should end in column 2: nurse, chair.
    """
    count = len(names)
    head, row, _ = _place(entry, count, scrambled)
    reached = f"row{'s' * (row + 1 < count)} {', '.join(str(r + 1) for r in range(row, count))}"
    called = f"{names[entry[0]][0]}{entry[1] + 1}"
    kind = "scrambled " if scrambled else ""
    verdict = _verdict(names, entry, scrambled)
    message = [
        f"The entry {called} is column {entry[1] + 1} of {names[entry[0]]}, split into two {kind}heads",
        f"After the split it is in head {head + 1}, row {row + 1}" if step > 1 else "",
        f"After the attention it is in {reached} of that head" if step > 2 else "",
        *(verdict if step == 5 else []),
    ]
    tables = _tables(names, entry, scrambled)
    heading = [f"2 {'no ' if scrambled else ''}transpose", "wrong" if scrambled else "ink"]
    wires = [[head * count + row, head * count + r] for r in range(row, count)]

    def draw(width: float) -> Canvas:
        at = PHONE if width == NARROW else DESK
        ax = canvas(width, at.bottom + 38)
        size: Any = {"size": (at.wide, at.high)}
        for k, (corner, side) in enumerate(zip(at.corners, at.sides, strict=True)):
            _head(ax, k, corner, at.wide)
            value = [tables[k] if k <= step else _blank(tables[k]), _names(names, tables[k], k)]
            live(ax, _table, f"table{k}", value, k=k, corner=corner, side=side, **size)
        middle = at.corners[2][0] + SIZE * at.wide / 2
        live(ax, _title, "heading", heading, at=(middle, at.corners[2][1] - 52))
        ends = [at.corners[2][0] + SIZE * at.wide, at.corners[3][0] - 2]
        flow = wires if step > 2 else []
        live(ax, _flow, "flow", flow, ends=ends, top=at.corners[2][1], high=at.high, count=count)
        for way in at.arrows:
            ax.wire(way, "muted")
        text = verdict if step == 5 else []
        live(ax, _lines, "verdict", [text, len(verdict) > 1], at=(0, at.bottom + 6))
        return ax.describe(*message)

    state = {"names": list(names), "entry": list(entry), "scrambled": scrambled, "step": step}
    return begin(both_widths(draw), "heads", **state)


def _place(entry: Sequence[int], count: int, scrambled: bool) -> tuple[int, int, int]:
    """Return the head, row and column of an entry after the split.

    >>> _place((2, 1), 4, scrambled=False), _place((2, 1), 4, scrambled=True)
    ((0, 2, 1), (1, 0, 1))
    """
    (word, c), heads = entry, COLUMNS // SIZE
    piece = word * heads + c // SIZE  # of all pieces in memory
    head, row = divmod(piece, count) if scrambled else (c // SIZE, word)
    return head, row, c % SIZE


def _verdict(names: Sequence[str], entry: Sequence[int], scrambled: bool) -> list[str]:
    """Say where an entry ends, and if that is wrong, where it should."""
    head, row, j = _place(entry, len(names), scrambled)
    called = f"{names[entry[0]][0]}{entry[1] + 1}"
    found = f"column {head * SIZE + j + 1}: {', '.join(names[row:])}"
    wanted = f"column {entry[1] + 1}: {', '.join(names[entry[0] :])}"
    if found == wanted:
        return [f"{called} ends in {found}"]
    return [f"{called} ends in {found}", f"It should end in {wanted}"]


def _tables(names: Sequence[str], entry: Sequence[int], scrambled: bool) -> list[Cells]:
    """Return the cells of the six tables."""
    count, word = len(names), entry[0]
    head, row, j = _place(entry, count, scrambled)

    def cell(t: int, c: int) -> list[str]:
        return [f"{names[t][0]}{c + 1}", f"{'followed' if [t, c] == [*entry] else 'word'} {t}"]

    def share(r: int, is_there: bool, is_last: bool = False) -> list[str]:
        if not is_there or r < row:
            return ["", "empty"]
        look = "wrong" if is_last and (r < word or head * SIZE + j != entry[1]) else "followed"
        return [f"1/{r + 1}" if r else "1", f"{look} {word}"]

    matrix = [[cell(t, c) for c in range(COLUMNS)] for t in range(count)]
    split: Cells = [[[] for _ in range(SIZE)] for _ in range(COLUMNS // SIZE * count)]
    for t in range(count):
        for c in range(COLUMNS):
            h, r, column = _place((t, c), count, scrambled)
            split[h * count + r][column] = cell(t, c)
    mixed = [
        [share(k % count, (k // count, i) == (head, j)) for i in range(SIZE)]
        for k in range(len(split))
    ]
    back, merged = (
        [[share(r, c == head * SIZE + j, last) for c in range(COLUMNS)] for r in range(count)]
        for last in (False, True)
    )
    return [matrix, matrix, split, mixed, back, merged]


def _blank(table: Cells) -> Cells:
    """Return the cells of a table that is still to come."""
    return [[["", "later"] for _ in row] for row in table]


def _names(names: Sequence[str], table: Cells, k: int) -> list[str]:
    """Return the names of the rows of a table: of the split, those of its pieces."""
    if k == HEADS[0]:
        return [names[int(row[0][1].split()[1])] for row in table]
    return [names[i % len(names)] for i in range(len(table))]


def _head(ax: Canvas, k: int, corner: Point, wide: float) -> None:
    """Write the title and the shape above a table."""
    across = wide * (SIZE if k in HEADS else COLUMNS) + BETWEEN * (k in PARTS)
    x, y = corner[0] + across / 2, corner[1] - (18 if k in HEADS else 0)
    if k != HEADS[0]:
        ax.say((x, y - 34), TITLES[k], bold=True)
    ax.note((x, y - 16), SHAPES[k], "muted")


def _title(ax: Canvas, value: Sequence[str], at: Point) -> None:
    """Write the title of the split."""
    ax.say(at, value[0], value[1], bold=True)


def _table(
    ax: Canvas, value: Sequence[Any], k: int, corner: Point, side: str, size: Sequence[float]
) -> None:
    """Draw the cells of a table, and the names of its rows."""
    (cells, names), (wide, high), count = value, size, 4
    for i, row in enumerate(cells):
        y = corner[1] + (i + 0.5) * high + (BELOW if i >= count else 0)
        if k in HEADS and i % count == 0:
            middle = (corner[0] + SIZE * wide / 2, y - high / 2 - 11)
            ax.note(middle, f"head {i // count + 1}", "muted")
        for j, (text, look) in enumerate(row):
            gap = BETWEEN if k in PARTS and j >= SIZE else 0
            _cell(ax, (corner[0] + (j + 0.5) * wide + gap, y), (wide - 2, high - 2), text, look)
        right = corner[0] + len(row) * wide + (BETWEEN if k in PARTS else 0) + 5
        if side:
            at = (corner[0] - 5, y) if side == "left" else (right, y)
            ax.note(at, names[i], align="right" if side == "left" else "left")


def _cell(ax: Canvas, at: Point, size: Point, text: str, look: str) -> None:
    """Draw an entry in the color of its word: any, the followed one, or that one at a wrong place."""
    kind, _, word = look.partition(" ")
    if kind in ("empty", "later"):
        ax.box(at, size, "residual", filled=False, width=1, dashed=kind == "later")
    elif kind == "wrong":
        ax.box(at, size, "wrong", text, width=BOLD_LINE, dashed=True, bold=True, text_size=13)
    elif kind == "followed":
        ax.box(at, size, f"word-{word}", "", width=1)
        ax.box(at, size, "ink", text, filled=False, width=BOLD_LINE, bold=True, text_size=13)
    else:
        ax.box(at, size, f"word-{word}", text, width=1, text_size=13)


def _flow(
    ax: Canvas,
    wires: Sequence[Sequence[int]],
    ends: Sequence[float],
    top: float,
    high: float,
    count: int,
) -> None:
    """Draw to which rows of its head the attention brings the followed entry."""
    for pair in wires:
        ys = [top + (k + 0.5) * high + (BELOW if k >= count else 0) for k in pair]
        ax.wire([*zip(ends, ys, strict=True)], "value", curved=True)


def _lines(ax: Canvas, value: Sequence[Any], at: Point) -> None:
    """Write where the entry ends, in bold if that is wrong."""
    texts, is_wrong = value
    for i, text in enumerate(texts):
        look: Any = {"align": "left", "bold": bool(is_wrong) and i == 0}
        ax.note(
            (at[0], at[1] + 19 * i), f"{text}.", "wrong" if is_wrong and i == 0 else "ink", **look
        )
