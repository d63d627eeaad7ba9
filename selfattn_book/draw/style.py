"""The style of all figures, and figures with a text alternative.

Lines differ by marker and dash as well as by color, so that they can be told apart in gray print.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from torch import Tensor

from selfattn_book.draw.colors import light
from selfattn_book.draw.layout import WIDE, draw_sheet, picture, svg
from selfattn_book.draw.sheet import INCH, POINT, SMALL

INK, GREY = light("ink"), light("residual")
BLUE, ORANGE = light("query"), light("key")
TEXT, NOTE = 14 / POINT, SMALL / POINT  # sizes in points, as matplotlib counts

_INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
_SMALL = ("axes.labelsize", "font.size", "legend.fontsize", "xtick.labelsize", "ytick.labelsize")
_CLEAR = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
_STYLE: dict[Any, Any] = {
    **dict.fromkeys(_INKED, INK),
    **dict.fromkeys(_SMALL, NOTE),
    **dict.fromkeys(_CLEAR, "none"),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": TEXT,
    "figure.constrained_layout.use": True,
    "figure.dpi": INCH,
    "figure.titlesize": TEXT,
    "legend.borderaxespad": 0.3,
    "legend.handlelength": 1.8,
    "legend.handletextpad": 0.5,
    "path.simplify_threshold": 0.3,  # pixels
}

Numbers = ArrayLike | Tensor
P = ParamSpec("P")
R = TypeVar("R")


def book_style(function: Callable[P, R]) -> Callable[P, R]:
    """Draw in the book's style, and leave matplotlib's own settings as they were."""

    @wraps(function)
    def styled(*args: P.args, **kwargs: P.kwargs) -> R:
        with plt.rc_context(_STYLE):
            result = function(*args, **kwargs)
            interactive = plt.isinteractive()
        # A notebook's backend turns this on when it is first used; do not undo it.
        matplotlib.interactive(interactive)
        return result

    return styled


class DescribedFigure(Figure):
    """A figure that carries its text alternative, made from the data of its axes.

    A notebook shows it as SVG with that text as its label. A figure with a drawing for a phone,
    ``phone``, is shown in exactly its own size in pixels.
    """

    phone: "DescribedFigure | None" = None

    @property
    def stale(self) -> bool:
        """Always false, so that a notebook does not draw the figure a second time."""
        return False

    @stale.setter
    def stale(self, _: bool) -> None:
        pass

    def text_alternative(self) -> str:
        """Join the labels of the axes, from left to right."""
        return " ".join(str(ax.get_label()) for ax in self.axes if ax.get_label())

    @book_style
    def to_svg(self) -> str:
        """Return the figure as SVG with its text alternative, in the page's colors."""
        text = self.text_alternative()
        if self.phone:
            return svg([draw_sheet(self, "wide"), draw_sheet(self.phone, "narrow")], text)
        return picture(self, text)

    def _ipython_display_(self) -> None:
        """Show the SVG instead of the notebook's PNG."""
        from IPython.display import display  # installed whenever IPython calls this

        text = self.text_alternative()
        display({"image/svg+xml": self.to_svg(), "text/plain": text}, raw=True)


@book_style
def panels(columns: int = 1, *, width: float = 4.0, height: float = 3.2) -> list[Axes]:
    """Open a figure with some axes side by side.

    Each has a width and a height in inches, less in proportion where they would not fit on a page.

    Example:
        >>> left, right = panels(2, width=3, height=2)
        >>> left.figure is right.figure, left.figure.get_size_inches()
        (True, array([6., 2.]))
    """
    shrunk = min(1, WIDE / (INCH * columns * width))
    size = (shrunk * columns * width, shrunk * height)
    figure = plt.figure(FigureClass=DescribedFigure, figsize=size)
    return list(figure.subplots(1, columns, squeeze=False).flat)


def as_array(values: Numbers) -> np.ndarray:
    """Convert numbers to NumPy; a tensor may require a gradient, or have a dtype unknown to NumPy.

    Example:
        >>> import torch
        >>> as_array(torch.tensor([0.5, 2.0], dtype=torch.bfloat16, requires_grad=True))
        array([0.5, 2. ])
        >>> as_array(torch.tensor([True]))
        array([ True])
    """
    if not isinstance(values, Tensor):
        return np.asarray(values)
    values = values.detach().cpu()
    return (values.double() if values.is_floating_point() else values).numpy()


def sentences(*parts: str) -> str:
    """Join parts as sentences.

    Example:
        >>> sentences("A curve", "", "It falls")
        'A curve. It falls.'
    """
    return " ".join(f"{part}." for part in parts if part)
