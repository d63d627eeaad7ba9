"""Where training runs end, on a ladder: each rung is the least loss of a model that knows less."""

from collections.abc import Mapping, Sequence

import numpy as np

from selfattn_book.draw.canvas import Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import Numbers, as_array

HIGH = 400  # pixels from the highest loss to the lowest
ROLES = ["query", "key", "value"]


def loss_ladder(
    ends: Mapping[str, Numbers], heights: Mapping[str, float], *, below: tuple[str, float]
) -> Canvas:
    """Draw the final losses of runs beside a ladder of named losses, in powers of ten.

    The runs of one model, ``(seeds,)``, are side by side, sorted, the best one first. ``below`` is
    the name and the loss of a dashed line.

    Example:
        >>> ax = loss_ladder({"plain": [0.3, 0.02]}, {"floor": 0.01}, below=("arrived", 0.05))
        >>> print(ax.get_label())
        A ladder, in powers of ten. Rungs: floor at 0.01.
        Dashed line: arrived below 0.05; of the runs, plain 1 of 2. plain, 2 runs: 0.02, 0.30.
    """
    losses = {name: np.sort(as_array(values)) for name, values in ends.items()}
    seen = np.log(np.concatenate([*losses.values(), list(heights.values())]))
    unit = (HIGH - 24) / max(float(np.ptp(seen)), 1e-9)
    rungs = ", ".join(f"{name} at {number(y)}" for name, y in heights.items())
    arrived = f"{below[0]} below {number(below[1])}"
    counts = [f"{n} {int((v < below[1]).sum())} of {len(v)}" for n, v in losses.items()]
    message = ["A ladder, in powers of ten", f"Rungs: {rungs}"]
    message.append(f"Dashed line: {arrived}; of the runs, {', '.join(counts)}")
    message += [f"{n}, {len(v)} runs: {', '.join(map(number, v))}" for n, v in losses.items()]

    def down(loss: float) -> float:
        return 44 + unit * float(seen.max() - np.log(loss))

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        left, right = (8, width - 8) if narrow else (176, width - 16)
        names = [name.split() if narrow else [name] for name in losses]
        ax = canvas(width, HIGH + 56 + 16 * max(map(len, names)))

        def rung(loss: float, text: str) -> list[Point]:
            at = (left + 8, down(loss) - 10) if narrow else (left - 12, down(loss))
            ax.note(at, text, align="left" if narrow else "right")
            return [(left, down(loss)), (right, down(loss))]

        for x in (left, right):
            ax.wire([(x, 26), (x, HIGH + 38)], "residual", width=4, head=False)
        for name, loss in heights.items():
            points = rung(loss, f"{name}, {number(loss)}")
            ax.wire(points, "residual", width=3, head=False)
        ax.note((left, 10), "loss", "muted", align="left")
        start = 136 if narrow else 200
        wide = (right - 12 - start) / len(losses)
        for i, (words, values) in enumerate(zip(names, losses.values(), strict=True)):
            ys = [down(loss) for loss in values]
            _runs(ax, (start + i * wide, start + (i + 1) * wide), ROLES[i], words, ys)
        ax.line(rung(below[1], arrived), "ink", width=1.4, dashed=True)
        return ax.describe(*message)

    return both_widths(draw)


def _runs(
    ax: Canvas, ends: Point, role: str, words: Sequence[str], heights: Sequence[float]
) -> None:
    """Draw the runs of a model as dots, over its name."""
    left, right = ends
    for j, word in enumerate(words):
        ax.note(((left + right) / 2, HIGH + 54 + 16 * j), word, role, bold=True)
    margin = 0.08 * (right - left)
    for x, y in zip(np.linspace(left + margin, right - margin, len(heights)), heights, strict=True):
        ax.disc((float(x), y), 5, role)
    if role != ROLES[0]:
        ax.line([(left, 30), (left, HIGH + 38)], "muted", width=0.8, dashed=True)
