"""States of two corners of a square, grouped by their own corner and the one beside it."""

import numpy as np
from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.curves import COLORS
from selfattn_book.draw.style import as_array, book_style, panels, sentences

CORNERS = "abcd"
SIDES = ("ab", "bc", "cd", "da")


@book_style
def state_groups(
    states: Tensor,
    corners: Tensor,
    *,
    named: str = "",
    digits: int = 1,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw the states of sources of two corners, ``(B, 2, 2)``, in a color for each corner.

    ``corners`` are the numbers 0 to 3 of the corners, ``(B, 2)``. Group ``ab`` is the states of
    corner a where the other corner is b. A name is written on each ``"group"``, or on each
    ``"side"`` of the square.

    Example:
        >>> import torch
        >>> states, corners = torch.tensor([[[0.0, 1.0], [2.0, 3.0]]]), torch.tensor([[0, 1]])
        >>> print(state_groups(states, corners, title="One walk").get_label())
        One walk. The means of the states. ab (0.0, 1.0), ba (2.0, 3.0).
    """
    ax = panels(1, width=4.4, height=3.4)[0] if ax is None else ax
    ax.margins(0.1)
    found, own, beside = as_array(states), as_array(corners), as_array(corners.flip(1))
    means = []
    for side in SIDES:
        groups = {}
        for name in (side, side[::-1]):
            i, j = map(CORNERS.index, name)
            group = found[(own == i) & (beside == j)]
            if len(group):
                groups[name] = group
                ax.plot(*group.T, ".", color=COLORS[i], markersize=4)
                means.append(f"{name} ({', '.join(f'{x:.{digits}f}' for x in group.mean(0))})")
        if named == "side" and groups:
            groups = {", ".join(groups): np.concatenate(list(groups.values()))}
        for name, group in groups.items() if named else ():
            top = (group[:, 0].mean(), group[:, 1].max())
            ax.annotate(name, top, xytext=(0, 5), textcoords="offset points", ha="center")
    ax.set_title(title)
    ax.set_label(sentences(title, "The means of the states", ", ".join(means)))
    return ax
