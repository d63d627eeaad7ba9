"""LayerNorm of three numbers, seen along (1, 1, 1): every point moves to one circle."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import number
from selfattn_book.draw.style import GREY, as_array, book_style, sentences
from selfattn_book.figures.vectors import vectors

# Two directions of the plane that is orthogonal to (1, 1, 1).
PLANE = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]).T / np.sqrt([2.0, 6.0])
RADIUS = np.sqrt(3)  # of the circle of the outputs of a norm


@book_style
def norm_circle(x: Tensor, normed: Tensor, names: Sequence[str]) -> Axes:
    """Draw where a norm moves points of three numbers, ``(N, 3)``, seen along (1, 1, 1).

    In this view two points that differ by one number, added to all entries, are one; and the norm's
    outputs are on a circle of radius √3.

    Example:
        >>> import torch
        >>> x = torch.tensor([[3.0, 1.0, -4.0], [0.5, 0.0, -0.5]])
        >>> normed = torch.nn.functional.layer_norm(x, (3,))
        >>> print(norm_circle(x, normed, ["far", "near"]).get_label())
        Points of three numbers, seen along (1, 1, 1), and a circle of radius 1.73 around the middle.
        far moves in, from distance 5.10. near moves out, from distance 0.71.
    """
    before, after = (as_array(y).astype(float) @ PLANE for y in (x, normed))
    far, ends = np.hypot(*before.T), np.hypot(*after.T)
    message = [
        f"{name} moves {'in' if away > end else 'out'}, from distance {number(away)}"
        for name, away, end in zip(names, far, ends, strict=True)
    ]
    ax = vectors(before, names, moved=after)
    ax.set_axis_off()
    for line in ax.lines[:2]:  # in this view, the axes mean nothing
        line.remove()
    ax.margins(x=0.2, y=0.05)
    around = np.linspace(0, 2 * np.pi, 73)
    ax.plot(RADIUS * np.cos(around), RADIUS * np.sin(around), color=GREY, linewidth=1)
    nearest = np.abs(np.exp(1j * around[:, None]) - after @ [1, 1j] / RADIUS).min(axis=1)
    angle = around[nearest.argmax()]  # furthest from all points
    end = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
    ax.plot([0, end[0]], [0, end[1]], color=GREY, linewidth=1, linestyle="--")
    middle = 0.5 * end[0], 0.5 * end[1]
    ax.annotate("√3", middle, xytext=(4, 4), textcoords="offset points")
    seen = "Points of three numbers, seen along (1, 1, 1)"
    opening = f"{seen}, and a circle of radius {number(RADIUS)} around the middle"
    ax.set_label(sentences(opening, *message))
    return ax
