"""Which chapter builds on which: a list of chapters, with lines down to those that need them."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

from selfattn_book.draw.canvas import Canvas, both_widths, canvas
from selfattn_book.draw.layout import WIDE

ROW, PART = 32, 28  # pixels from chapter to chapter, and more above a new part
BOX = 280  # pixels, the width of a box if it fits
HALF = 5  # pixels above the middle of a box where lines arrive; as far below, they leave


def prerequisites(
    chapters: Mapping[int, str], builds_on: Mapping[int, Collection[int]], parts: Mapping[str, int]
) -> Canvas:
    """Draw which chapter builds on which; an indirect prerequisite has no line of its own.

    Chapters have their numbers in the book, which grow but may skip pages between chapters;
    ``parts`` holds the first chapter of each part.

    Example:
        >>> titles, builds_on = {1: "One", 2: "Two", 4: "Four"}, {1: [], 2: [1], 4: [1, 2]}
        >>> print(prerequisites(titles, builds_on, {"All": 1}).get_label())
        Which chapter builds on which. 1 One builds on none. 2 Two builds on 1.
        4 Four builds on 1 and 2.
    """
    direct = _direct(builds_on)
    needing = {
        number: others
        for number in chapters
        if (others := [n for n, needed in direct.items() if number in needed])
    }
    lanes = _lanes(needing)
    steps = [ROW + PART * (number in parts.values()) for number in chapters]
    ends = list(accumulate(steps))
    rows = {number: end - ROW / 2 for number, end in zip(chapters, ends, strict=True)}
    message = [
        f"{number} {title} builds on {_listed(builds_on[number])}"
        for number, title in chapters.items()
    ]

    def draw(width: float) -> Canvas:
        step = 22 if width == WIDE else 11  # from line to line
        left = max(step * (max(lanes.values(), default=0) + 1.5), (width - BOX) / 2)
        wide = min(BOX, width - left - 1)
        ax = canvas(width, ends[-1])
        for name, first in parts.items():
            at = (left, rows[first] - 25)
            ax.note(at, name, "muted", align="left", bold=True)
        for number, title in chapters.items():
            y = rows[number]
            ax.box((left + wide / 2, y), (wide, 24))
            ax.say((left + 24, y), str(number), "muted", align="right")
            ax.say((left + 32, y), title, align="left")
        across = {number: left - step * (lane + 1.5) for number, lane in lanes.items()}
        for number, needed in direct.items():
            if needed:
                far, y = min(across[other] for other in needed), rows[number] - HALF
                ax.wire([(far, y), (left, y)])
        for number, others in needing.items():
            x, start = across[number], rows[number] + HALF
            dots = [rows[other] - HALF for other in others]
            ax.wire([(left, start), (x, start), (x, dots[-1])], head=False)
            for y in dots:
                ax.disc((x, y), 3, "ink")
        return ax.describe("Which chapter builds on which", *message)

    return both_widths(draw)


def _listed(numbers: Collection[int]) -> str:
    """Write numbers as in a sentence.

    >>> _listed([]), _listed([2]), _listed([3, 1, 2])
    ('none', '2', '1, 2 and 3')
    """
    *most, last = [str(number) for number in sorted(numbers)] or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def _direct(builds_on: Mapping[int, Collection[int]]) -> dict[int, set[int]]:
    """Leave out prerequisites of prerequisites.

    >>> _direct({1: [], 2: [1], 3: [1, 2], 5: [1, 3]})
    {1: set(), 2: {1}, 3: {2}, 5: {3}}
    """
    before: dict[int, set[int]] = {}  # all prerequisites of each chapter, also indirect ones
    direct = {}
    for number, needed in builds_on.items():
        by_others = set().union(*(before[other] for other in needed))
        before[number] = by_others | set(needed)
        direct[number] = set(needed) - by_others
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
