"""What each position of a text predicts: the next token, and how probable it was."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from selfattn_book.draw.canvas import (
    Canvas,
    canvas,
    for_desk_and_phone,
    number,
)
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import as_array, as_vector
from selfattn_book.figures.token_figures import visible


def shifted_targets(pieces: Sequence[str], shares: Tensor | np.ndarray) -> Canvas:
    """Draw what each position of a text predicts: the next token, and how much of it was foreseen.

    Args:
        pieces: the T + 1 tokens of a text, as texts; T is 1 to 8.
        shares: ``(T,)``, the probability given to each token but the first, by those before it.

    Example:
        >>> ax = shifted_targets(["And", " God", " said"], np.array([0.1, 0.5]))
        >>> print(ax.get_label())
        Each position predicts the next token. “And” is followed by “ God”, with probability 0.10,
        a surprise of 2.30 nats. “ God” is followed by “ said”, with probability 0.50, a surprise
        of 0.69 nats.
    """
    foreseen = as_array(shares)
    steps = list(zip(pieces, pieces[1:], foreseen.tolist(), strict=False))
    message = [
        f"“{now}” is followed by “{then}”, with probability {number(share)}, a surprise "
        f"of {number(-np.log(share))} nats"
        for now, then, share in steps
    ]

    def draw(width: float) -> Canvas:
        ax = _down(steps) if width == NARROW else _across(steps)
        return ax.describe("Each position predicts the next token", *message)

    return for_desk_and_phone(draw)


def _across(steps: Sequence[tuple[str, str, float]]) -> Canvas:
    """Columns, from left to right."""
    ax, left = canvas(WIDE, 236), 78
    pitch = (WIDE - left) / len(steps)
    for y, name in ((20, "reads"), (100, "answers"), (180, "probability"), (222, "nats")):
        ax.note((0, y), name, "muted", align="left")
    ax.line([(left, 200), (WIDE, 200)])
    for i, (now, then, share) in enumerate(steps):
        x = left + (i + 0.5) * pitch
        ax.box((x, 20), (pitch - 8, 28), "query", visible(now))
        ax.wire([(x, 36), (x, 84)], "context", width=2)
        ax.box((x, 100), (pitch - 8, 28), "context", visible(then))
        if i + 1 < len(steps):  # what has been answered is read next
            points = [(x + 12, 84), (x + pitch - 12, 36)]
            ax.wire(points, "muted", width=1, dashed=True, head=False)
        ax.vbar((x, 200), 52 * share, "context", thick=24)
        ax.note((x, 190 - 52 * share), number(share))
        ax.note((x, 222), number(-np.log(share)))
    return ax


def _down(steps: Sequence[tuple[str, str, float]]) -> Canvas:
    """Rows, from top to bottom."""
    ax = canvas(NARROW, 30 + 36 * len(steps))
    for x, name in ((40, "reads"), (140, "answers"), (226, "probability"), (294, "nats")):
        ax.note((x, 10), name, "muted")
    for i, (now, then, share) in enumerate(steps):
        y = 44 + 36 * i
        ax.box((40, y), (76, 26), "query", visible(now), text_size=SMALL)
        ax.wire([(80, y), (98, y)], "context", width=2)
        ax.box((140, y), (80, 26), "context", visible(then), text_size=SMALL)
        ax.hbar((190, y), 44 * share, "context", thick=14)
        ax.note((194 + 44 * share, y), number(share), align="left")
        ax.note((294, y), number(-np.log(share)))
    return ax


def next_tokens(names: Sequence[str], distributions: Mapping[str, Tensor | np.ndarray]) -> Canvas:
    """Draw distributions of the next token side by side, each as a column of bars.

    Args:
        names: of the tokens that are drawn; V at most 10.
        distributions: for each setting the probabilities of these, ``(V,)``.

    Example:
        >>> ax = next_tokens(["a", "b"], {"plain": [0.5, 0.25], "top-k 1": [1.0, 0.0]})
        >>> print(ax.get_label())
        The next token. plain: “a” 0.50, “b” 0.25, others 0.25. top-k 1: “a” 1.00, “b” none.
    """
    shares = {name: as_vector(name, values) for name, values in distributions.items()}
    message = [f"{name}: {_said(names, values)}" for name, values in shares.items()]

    def draw(width: float) -> Canvas:
        columns = 1 if width == NARROW else 3
        rows = -(-len(shares) // columns)
        height = 24 * len(names) + 52
        ax = canvas(width, rows * height)
        for i, (name, values) in enumerate(shares.items()):
            x, y = width / columns * (i % columns), height * (i // columns) + 12
            ax.say((x, y), name, align="left", bold=True)
            _bars(ax, (x, y + 28), width / columns, names, values)
        return ax.describe("The next token", *message)

    return for_desk_and_phone(draw)


def _bars(
    ax: Canvas, at: tuple[float, float], width: float, names: Sequence[str], shares: np.ndarray
) -> None:
    """Draw one distribution; what is left out has no bar."""
    (x, y), left = at, 72
    for i, (name, share) in enumerate(zip(names, shares, strict=True)):
        role, line_at = ("ink" if share > 0 else "muted"), y + 24 * i
        ax.note((x + left - 8, line_at), visible(name), role, align="right")
        length = (width - left - 56) * float(share)
        ax.hbar((x + left, line_at), length, "context", thick=14)
        value = number(share) if share > 0 else "–"
        ax.note((x + left + length + 5, line_at), value, role, align="left")


def _said(names: Sequence[str], shares: np.ndarray) -> str:
    parts = [
        f"“{name}” {number(share) if share > 0 else 'none'}"
        for name, share in zip(names, shares, strict=True)
    ]
    rest = 1 - float(shares.sum())
    return ", ".join(parts + [f"others {number(rest)}"] * (rest > 0.005))
