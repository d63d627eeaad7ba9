"""Which chapter builds on which: a list with lines beside it, that lead down from what is needed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone
from selfattn_book.draw.layout import WIDE

ROW, PART = 32, 28  # pixels from chapter to chapter, and more above a new part
BOX = 280  # pixels, the width of a box where there is room
HIGH = 24  # pixels, the height of a box
HALF = 5  # pixels above its middle, where lines arrive; as far below, they leave
MOST = 6  # lines that stand side by side

Trunk = tuple[int, list[int]]  # a chapter, and those that need it


def prerequisites(
    chapters: Sequence[str], builds_on: Sequence[Collection[int]], parts: Mapping[str, int]
) -> Canvas:
    """Draw which chapter builds on which.

    What a chapter needs by way of another one that it needs has no line of its own, but is told.

    Args:
        chapters: their titles, in their order.
        builds_on: for each the numbers of those that it needs, all before it; the first is 1.
        parts: their names, and the number of the first chapter of each.

    Example:
        >>> ax = prerequisites(["One", "Two", "Three"], [[], [1], [1, 2]], {"All": 1})
        >>> print(ax.get_label())
        Which chapter builds on which. 1 One builds on none. 2 Two builds on 1.
        3 Three builds on 1 and 2.
    """
    drawn = _Drawn(chapters, builds_on, parts)

    def draw(width: float) -> Canvas:
        step = 22 if width == WIDE else 11  # from line to line
        left = max(step * (drawn.last_lane + 1.5), (width - BOX) / 2)
        ax = canvas(width, drawn.rows[-1] + ROW / 2)
        _parts(ax, left, drawn)
        _chapters(ax, left, min(BOX, width - left - 1), drawn)
        _lines(ax, left, step, drawn)
        return ax.describe(*_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Drawn:
    """What is drawn: the chapters by their parts, and which of them builds on which."""

    chapters: Sequence[str]
    builds_on: Sequence[Collection[int]]
    parts: Mapping[str, int]

    @property
    def direct(self) -> list[set[int]]:
        """What has a line of its own."""
        return _direct(self.builds_on)

    @property
    def lanes(self) -> dict[int, int]:
        return _lanes(self.direct)

    @property
    def last_lane(self) -> int:
        """The one furthest from the titles."""
        return max(self.lanes.values(), default=0)

    @property
    def rows(self) -> list[float]:
        """The heights of the middles of the chapters."""
        return _rows(len(self.chapters), self.parts)


def _told(drawn: _Drawn) -> list[str]:
    """Say what each chapter builds on, also by way of another one."""
    each = enumerate(zip(drawn.chapters, drawn.builds_on, strict=True), 1)
    return [
        "Which chapter builds on which",
        *(f"{number} {title} builds on {_listed(needed)}" for number, (title, needed) in each),
    ]


def _listed(numbers: Collection[int]) -> str:
    """Write numbers as a sentence has them.

    >>> _listed([]), _listed([2]), _listed([3, 1, 2])
    ('none', '2', '1, 2 and 3')
    """
    *most, last = [str(number) for number in sorted(numbers)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _direct(builds_on: Sequence[Collection[int]]) -> list[set[int]]:
    """Leave out what a chapter needs by way of another one that it needs.

    >>> _direct([[], [1], [1, 2], [1, 3]])
    [set(), {1}, {2}, {3}]
    """
    before: list[set[int]] = []  # all that must be read before each chapter
    direct = []
    for needed in builds_on:
        by_others = set().union(*(before[other - 1] for other in needed))
        before.append(by_others | set(needed))
        direct.append(set(needed) - by_others)
    return direct


def _trunks(builds_on: Sequence[Collection[int]]) -> list[Trunk]:
    """Return each chapter that is needed, with those that need it."""
    needing = {
        number: [n for n, needed in enumerate(builds_on, 1) if number in needed]
        for number in range(1, len(builds_on) + 1)
    }
    return [(number, others) for number, others in needing.items() if others]


def _lanes(builds_on: Sequence[Collection[int]]) -> dict[int, int]:
    """Give each chapter that is needed a lane for its line; the shortest lie next to the titles.

    >>> _lanes([[], [1], [1, 2], [2, 3]])   # 3's begins where 1's ends
    {3: 0, 2: 1, 1: 0}
    """
    trunks = _trunks(builds_on)
    trunks.sort(key=lambda trunk: (trunk[1][-1] - trunk[0], -trunk[0]))
    lanes: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = []
    for number, others in trunks:
        span = (number, others[-1])
        free = (
            i
            for i, spans in enumerate(taken)
            if all(span[1] <= low or high <= span[0] for low, high in spans)
        )
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append(span)
        lanes[number] = lane
    return lanes


def _rows(count: int, parts: Mapping[str, int]) -> list[float]:
    """Return the heights of the middles of the chapters."""
    firsts = set(parts.values())
    rows, y = [], 0.0
    for number in range(1, count + 1):
        y += ROW + PART * (number in firsts)
        rows.append(y - ROW / 2)
    return rows


def _parts(ax: Canvas, left: float, drawn: _Drawn) -> None:
    """Write the name of each part above its first chapter."""
    for name, first in drawn.parts.items():
        at = (left, drawn.rows[first - 1] - 25)
        ax.note(at, name, "muted", align="left", bold=True)


def _chapters(ax: Canvas, left: float, wide: float, drawn: _Drawn) -> None:
    """Draw a box for each chapter, with its number and its title."""
    for number, (title, y) in enumerate(zip(drawn.chapters, drawn.rows, strict=True), 1):
        ax.box((left + wide / 2, y), (wide, HIGH))
        ax.say((left + 24, y), str(number), "muted", align="right")
        ax.say((left + 32, y), title, align="left")


def _lines(ax: Canvas, left: float, step: float, drawn: _Drawn) -> None:
    """Lead a line down from each chapter; a dot where another one takes from it."""
    rows, lanes = drawn.rows, drawn.lanes
    across = {number: left - step * (lane + 1.5) for number, lane in lanes.items()}
    for y, needed in zip(rows, drawn.direct, strict=True):
        if needed:
            far = min(across[other] for other in needed)
            ax.wire([(far, y - HALF), (left, y - HALF)])
    for number, others in _trunks(drawn.direct):
        x, start = across[number], rows[number - 1] + HALF
        ends = [rows[other - 1] - HALF for other in others]
        ax.wire([(left, start), (x, start), (x, ends[-1])], head=False)
        for y in ends:
            ax.disc((x, y), 3, "ink")
