"""Which chapter builds on which: a list of chapters, with lines down to those that need them."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from matplotlib.axes import Axes

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone
from selfattn_book.draw.layout import WIDE

ROW, PART = 32, 28  # pixels from chapter to chapter, and more above a new part
BOX = 280  # pixels, the width of a box if it fits
HALF = 5  # pixels above the middle of a box where lines arrive; as far below, they leave


def prerequisites(
    chapters: Sequence[str], builds_on: Sequence[Collection[int]], parts: Mapping[str, int]
) -> Axes:
    """Draw which chapter builds on which; an indirect prerequisite has no line of its own.

    Chapters have numbers from 1; ``parts`` holds the first chapter of each part.

    Example:
        >>> ax = prerequisites(["One", "Two", "Three"], [[], [1], [1, 2]], {"All": 1})
        >>> print(ax.get_label())
        Which chapter builds on which. 1 One builds on none. 2 Two builds on 1.
        3 Three builds on 1 and 2.
    """
    direct = _direct(builds_on)
    needing = {
        number: others
        for number in range(1, len(builds_on) + 1)
        if (others := [n for n, needed in enumerate(direct, 1) if number in needed])
    }
    lanes, numbers = _lanes(needing), range(1, len(chapters) + 1)
    steps = [ROW + PART * (number in parts.values()) for number in numbers]
    rows = [high - ROW / 2 for high in accumulate(steps)]
    message = [
        f"{number} {title} builds on {_listed(needed)}"
        for number, (title, needed) in enumerate(zip(chapters, builds_on, strict=True), 1)
    ]

    def draw(width: float) -> Canvas:
        step = 22 if width == WIDE else 11  # from line to line
        left = max(step * (max(lanes.values(), default=0) + 1.5), (width - BOX) / 2)
        wide = min(BOX, width - left - 1)
        ax = canvas(width, rows[-1] + ROW / 2)
        for name, first in parts.items():
            at = (left, rows[first - 1] - 25)
            ax.note(at, name, "muted", align="left", bold=True)
        for number, (title, y) in enumerate(zip(chapters, rows, strict=True), 1):
            ax.box((left + wide / 2, y), (wide, 24))
            ax.say((left + 24, y), str(number), "muted", align="right")
            ax.say((left + 32, y), title, align="left")
        across = {number: left - step * (lane + 1.5) for number, lane in lanes.items()}
        for y, needed in zip(rows, direct, strict=True):
            if needed:
                far = min(across[other] for other in needed)
                ax.wire([(far, y - HALF), (left, y - HALF)])
        for number, others in needing.items():
            x, start = across[number], rows[number - 1] + HALF
            ends = [rows[other - 1] - HALF for other in others]
            ax.wire([(left, start), (x, start), (x, ends[-1])], head=False)
            for y in ends:
                ax.disc((x, y), 3, "ink")
        return ax.describe("Which chapter builds on which", *message)

    return for_desk_and_phone(draw)


def _listed(numbers: Collection[int]) -> str:
    """Write numbers as in a sentence.

    >>> _listed([]), _listed([2]), _listed([3, 1, 2])
    ('none', '2', '1, 2 and 3')
    """
    *most, last = [str(number) for number in sorted(numbers)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _direct(builds_on: Sequence[Collection[int]]) -> list[set[int]]:
    """Leave out prerequisites of prerequisites.

    >>> _direct([[], [1], [1, 2], [1, 3]])
    [set(), {1}, {2}, {3}]
    """
    before: list[set[int]] = []  # all prerequisites of each chapter, also indirect ones
    direct = []
    for needed in builds_on:
        by_others = set().union(*(before[other - 1] for other in needed))
        before.append(by_others | set(needed))
        direct.append(set(needed) - by_others)
    return direct


def _lanes(needing: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Give each chapter that is needed a lane for its line; the shortest are next to the titles.

    >>> _lanes({1: [2], 2: [3, 4], 3: [4]})   # 3's begins where 1's ends
    {3: 0, 1: 0, 2: 1}
    """
    spans = sorted(
        ((number, others[-1]) for number, others in needing.items()),
        key=lambda span: (span[1] - span[0], -span[0]),
    )
    lanes: dict[int, int] = {}
    taken: list[list[tuple[int, int]]] = []
    for start, end in spans:
        for lane, others in enumerate([*taken, []]):
            if all(end <= low or high <= start for low, high in others):
                taken[lane : lane + 1] = [[*others, (start, end)]]
                lanes[start] = lane
                break
    return lanes
