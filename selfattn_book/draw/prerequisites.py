"""Which chapter builds on which: a list with lines beside it, that lead down from what is needed."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes

from selfattn_book.draw.canvas import (
    Point,
    box,
    canvas,
    disc,
    for_desk_and_phone,
    say,
    tell,
    wire,
)
from selfattn_book.draw.layout import WIDE
from selfattn_book.draw.sheet import SMALL

ROW, PART = 32, 28  # pixels from chapter to chapter, and more above a new part
BOX = 280  # pixels, the width of a box where there is room
HIGH, HALF = (
    24,
    5,
)  # pixels of a box; how far above its middle lines arrive, and below leave
MOST = 6  # lines that stand side by side

Trunk = tuple[int, list[int]]  # a chapter, and those that need it


def prerequisites(
    chapters: Sequence[str],
    builds_on: Sequence[Collection[int]],
    parts: Mapping[str, int],
) -> Axes:
    """Draw which chapter builds on which.

    What a chapter needs by way of another one that it needs has no line of its own, but is told.

    Args:
        chapters: their titles, in their order.
        builds_on: for each the numbers of those that it needs, all before it; the first is 1.
        parts: their names, and the number of the first chapter of each.

    Returns:
        The axes.

    Raises:
        ValueError: there is not one set of numbers for each chapter; a number is that of no earlier
            chapter; or the lines would need more room than a phone has.

    Example:
        >>> ax = prerequisites(["One", "Two", "Three"], [[], [1], [1, 2]], {"All": 1})
        >>> print(ax.get_label())
        Which chapter builds on which. 1 One builds on none. 2 Two builds on 1.
        3 Three builds on 1 and 2.
        >>> prerequisites(["One", "Two"], [[], [2]], {"All": 1})
        Traceback (most recent call last):
        ValueError: a chapter must build on earlier ones; got 2 for chapter 2
        >>> prerequisites(["One", "Two"], [[]], {"All": 1})
        Traceback (most recent call last):
        ValueError: there must be one set of numbers for each of 2 chapters; got 1
    """
    if len(builds_on) != len(chapters):
        rule = (
            f"there must be one set of numbers for each of {len(chapters)} chapters"
        )
        raise ValueError(f"{rule}; got {len(builds_on)}")
    for number, needed in enumerate(builds_on, start=1):
        for other in needed:
            if not 1 <= other < number:
                rule = "a chapter must build on earlier ones"
                raise ValueError(f"{rule}; got {other} for chapter {number}")
    direct = _direct(builds_on)
    lanes = _lanes(direct)
    if max(lanes.values(), default=0) >= MOST:
        rule = f"at most {MOST} lines may stand side by side"
        raise ValueError(f"{rule}; got {max(lanes.values()) + 1}")

    def draw(width: float) -> Axes:
        step = 22 if width == WIDE else 11  # from line to line
        beside = step * (max(lanes.values(), default=0) + 1.5)
        left = max(beside, (width - BOX) / 2)
        rows = _rows(len(chapters), parts)
        ax = canvas(width, rows[-1] + ROW / 2)
        for name, first in parts.items():
            at = (left, rows[first - 1] - 25)
            say(ax, at, name, "muted", size=SMALL, align="left", bold=True)
        for number, (title, y) in enumerate(zip(chapters, rows, strict=True), 1):
            size = (min(BOX, width - left - 1), HIGH)
            box(ax, (left + size[0] / 2, y), size)
            say(ax, (left + 24, y), str(number), "muted", align="right")
            say(ax, (left + 32, y), title, align="left")
        _lines(ax, (left, step), direct, lanes, rows)
        return tell(ax, "Which chapter builds on which", *told)

    told = [
        f"{number} {title} builds on {_listed(needed)}"
        for number, (title, needed) in enumerate(
            zip(chapters, builds_on, strict=True), 1
        )
    ]
    return for_desk_and_phone(draw)


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


def _lines(
    ax: Axes,
    at: Point,
    builds_on: Sequence[Collection[int]],
    lanes: Mapping[int, int],
    rows: Sequence[float],
) -> None:
    """Lead a line down from each chapter; a dot where another one takes from it."""
    left, step = at
    across = {number: left - step * (lane + 1.5) for number, lane in lanes.items()}
    for number, needed in enumerate(builds_on, 1):
        if needed:
            far = min(across[other] for other in needed)
            y = rows[number - 1] - HALF
            wire(ax, [(far, y), (left, y)])
    for number, others in _trunks(builds_on):
        x, start = across[number], rows[number - 1] + HALF
        end = rows[others[-1] - 1] - HALF
        way = [(left, start), (x, start), (x, end)]
        wire(ax, way, head=False)
        for other in others:
            disc(ax, (x, rows[other - 1] - HALF), 3, "ink")
