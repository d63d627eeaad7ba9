"""What attention moves between memories, and arithmetic intensities, compared with a chip's limit."""

import math
from collections.abc import Mapping
from typing import Any

from selfattn_book.draw.canvas import Canvas, both_widths, canvas
from selfattn_book.draw.layout import NARROW

HIGHEST = 10_000  # of the axis, which begins at 1
TRIPS = (  # what plain attention moves, with its role, in the order of the computation
    ("Q, K", "query", ("read",)),
    ("scores", "weights", ("written", "read")),
    ("weights", "weights", ("written", "read")),
    ("V", "value", ("read",)),
    ("context", "context", ("written",)),
)


def memory_trips() -> Canvas:
    """Draw what plain and fused attention move between two memories; T × T trips are thick.

    Example:
        >>> print(memory_trips().get_label())
        Between a large memory and a fast one. Plain attention: Q, K read; scores written and read;
        weights written and read; V read; context written. Fused attention: Q, K read; V read;
        context written, and blocks of scores and weights stay in the fast memory.
    """
    moved = [(role, f"{name} {' and '.join(ways)}") for name, role, ways in TRIPS]
    plain = "; ".join(text for _, text in moved)
    fused = "; ".join(text for role, text in moved if role != "weights")

    def draw(width: float) -> Canvas:
        ax, step = canvas(width, 340), width / len(TRIPS)
        for top, way in ((0, "plain attention"), (176, "fused attention")):
            ax.note((4, top + 10), way, align="left", bold=True)
            ax.note((width - 4, top + 10), "large memory", "muted", align="right")
            ax.box((width / 2, top + 137), (width - 8, 46), "muted")
            ax.note((width - 12, top + 137), "fast memory", "muted", align="right")
            for i, (name, role, ways) in enumerate(TRIPS):
                x, stays = (i + 0.5) * step, top > 0 and role == "weights"
                at, size = (x, top + (137 if stays else 36)), (step - 8, 30)
                ax.box(at, size, role, name, dashed=stays, text_size=13)
                for j, trip in enumerate(() if stays else ways):
                    beside = x + 22 * (j - (len(ways) - 1) / 2)
                    ends = [(beside, top + 53), (beside, top + 112)]
                    thick = 5.2 if role == "weights" else 1.2
                    ax.wire(ends if trip == "read" else ends[::-1], role, width=thick)
        return ax.describe(
            "Between a large memory and a fast one",
            f"Plain attention: {plain}",
            f"Fused attention: {fused}, and blocks of scores and weights stay in the fast memory",
        )

    return both_widths(draw)


def intensities(values: Mapping[str, float], limit: float) -> Canvas:
    """Draw arithmetic intensities on a logarithmic axis from 1 to 10,000, with the limit of a chip.

    A dashed line joins each to the limit: the longer it is, the larger the factor between the two.

    Example:
        >>> print(intensities({"decode": 1, "a projection": 256}, 229).get_label())
        Arithmetic intensities, in FLOPs per byte. The limit of the chip is 229. decode: 1,
        memory-bound. a projection: 256, compute-bound.
    """
    bounds = {name: "memory" if value < limit else "compute" for name, value in values.items()}
    message = [f"{name}: {value:.0f}, {bounds[name]}-bound" for name, value in values.items()]

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        left, pitch = (14, 52) if narrow else (232, 34)
        bottom = 36 + pitch * len(values)
        ax = canvas(width, bottom + 48)

        def at(value: float) -> float:
            return left + (width - left - 24) * math.log(value) / math.log(HIGHEST)

        border = at(limit)
        ax.line([(at(1), bottom), (at(HIGHEST), bottom)])
        ticks = (1, 10, 1000, HIGHEST) if narrow else (1, 10, 100, 1000, HIGHEST)
        for tick in (*ticks, limit):
            ax.line([(at(tick), bottom), (at(tick), bottom + 5)])
            look: Any = {"role": "ink", "bold": True} if tick == limit else {"role": "muted"}
            ax.note((at(tick), bottom + 16), f"{tick:,.0f}", **look)
        ax.note((at(HIGHEST), bottom + 36), "FLOPs per byte", "muted", align="right")
        ax.line([(border, 4), (border, bottom)], "ink", width=2)
        ax.note((border - 8, 12), "memory-bound", "weights", align="right")
        ax.note((border + 8, 12), "compute-bound", "context", align="left")
        for i, (name, value) in enumerate(values.items()):
            y, text = 32 + pitch * (i + 0.5) + 8 * narrow, f"{name}: {value:.0f}"
            x, role = at(value), "weights" if value < limit else "context"
            place: Any = (0, "left") if narrow else (left - 18, "right")
            ax.note((place[0], y - 20 * narrow), text, align=place[1])
            ax.line([(x, y), (border, y)], role, width=2, dashed=True)
            ax.disc((x, y), 6, role)
        title = "Arithmetic intensities, in FLOPs per byte"
        return ax.describe(title, f"The limit of the chip is {limit:.0f}", *message)

    return both_widths(draw)
