"""Where training runs end, on a ladder: each rung is the least loss of a model that knows less."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book.draw.canvas import Canvas, canvas, for_desk_and_phone, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.style import as_vector

HIGH = 400  # pixels from the highest loss to the lowest
ROLES = ["query", "key", "value"]


def loss_ladder(
    ends: Mapping[str, ArrayLike | Tensor],
    heights: Mapping[str, float],
    *,
    below: tuple[str, float] | None = None,
) -> Axes:
    """Draw the final losses of runs beside a ladder of named losses, in powers of ten.

    The runs of one model, ``(seeds,)``, are side by side, sorted, the best one first. ``below`` is
    the name and the loss of a dashed line.

    Example:
        >>> ax = loss_ladder({"plain": [0.3, 0.02]}, {"floor": 0.01}, below=("arrived", 0.05))
        >>> print(ax.get_label())
        A ladder, in powers of ten. Rungs: floor at 0.01.
        Dashed line: arrived below 0.05; of the runs, plain 1 of 2. plain, 2 runs: 0.02, 0.30.
    """
    losses = {name: np.sort(as_vector(name, values)) for name, values in ends.items()}
    seen = np.log(np.concatenate([*losses.values(), list(heights.values())]))
    least, most = seen.min(), seen.max()

    def y(loss: float) -> float:
        return 44 + (HIGH - 24) * float((most - np.log(loss)) / max(most - least, 1e-9))

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        left, right = (8, width - 8) if narrow else (176, width - 16)
        names = [name.split() if narrow else [name] for name in losses]
        ax = canvas(width, HIGH + 56 + 16 * max(map(len, names)))

        def rung(loss: float, text: str) -> None:
            at = (left + 8, y(loss) - 10) if narrow else (left - 12, y(loss))
            ax.note(at, text, align="left" if narrow else "right")

        for x in (left, right):
            ax.wire([(x, 26), (x, HIGH + 38)], "residual", width=4, head=False)
        for name, loss in heights.items():
            ax.wire([(left, y(loss)), (right, y(loss))], "residual", width=3, head=False)
            rung(loss, f"{name}, {number(loss)}")
        ax.note((left, 10), "loss", "muted", align="left")
        spots = {name: [y(loss) for loss in values] for name, values in losses.items()}
        _runs(ax, 136 if narrow else 200, right - 12, names, spots.values())
        if below:
            ax.line([(left, y(below[1])), (right, y(below[1]))], "ink", width=1.4, dashed=True)
            rung(below[1], f"{below[0]} below {number(below[1])}")
        return ax.describe(*_sentences(losses, heights, below))

    return for_desk_and_phone(draw)


def _runs(
    ax: Canvas,
    left: float,
    right: float,
    names: Sequence[Sequence[str]],
    heights: Iterable[Sequence[float]],
) -> None:
    """Draw the runs of each model as dots, over its name."""
    wide = (right - left) / len(names)
    for i, (words, ys, role) in enumerate(zip(names, heights, ROLES, strict=False)):
        x = left + i * wide
        for j, word in enumerate(words):
            ax.note((x + wide / 2, HIGH + 54 + 16 * j), word, role, bold=True)
        for across, y in zip(np.linspace(0.08, 0.92, len(ys)) * wide, ys, strict=True):
            ax.disc((x + float(across), y), 5, role)
        if i:
            ax.line([(x, 30), (x, HIGH + 38)], "muted", width=0.8, dashed=True)


def _sentences(
    losses: Mapping[str, np.ndarray], heights: Mapping[str, float], below: tuple[str, float] | None
) -> list[str]:
    rungs = ", ".join(f"{name} at {number(y)}" for name, y in heights.items())
    message = ["A ladder, in powers of ten", f"Rungs: {rungs}"]
    if below:
        counts = [f"{n} {int((v < below[1]).sum())} of {len(v)}" for n, v in losses.items()]
        line = f"Dashed line: {below[0]} below {number(below[1])}"
        message.append(f"{line}; of the runs, {', '.join(counts)}")
    for name, values in losses.items():
        message.append(f"{name}, {len(values)} runs: {', '.join(map(number, values))}")
    return message
