"""One softmax over scores that grow with the dimension, and what the divisor makes of it."""

from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import Canvas, Point, both_widths, canvas, listed, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live
from selfattn_book.figures.live_marks import bars, meter
from selfattn_book.measure.softmax import entropy

MOST = 4  # the largest score with a bar of its own length
READINGS = ("keys that share the weight", "largest derivative of a weight")


def divided_scores(
    query: Tensor, keys: Tensor, step: int, *, power: float = 0.5, scale: float = 1.0
) -> Canvas:
    """Draw the softmax of the scores of ``2**step`` entries, divided by a power of the dimension.

    The query is ``(D,)`` and the keys ``(S, D)``; ``scale`` multiplies all their entries.

    Example:
        >>> import torch
        >>> print(divided_scores(torch.ones(4), torch.eye(2, 4), 2).get_label())
        Dimension 4, scores divided by 2.00. Scores: 0.50, 0.50. Weights: 0.50, 0.50.
        Keys that share the weight, by the entropy: 2.00 of 2. Largest derivative: 0.250.
    """
    steps = range(query.numel().bit_length())
    products = [[round(float(key[: 2**i] @ query[: 2**i]), 6) for key in keys] for i in steps]
    divisor = 2.0 ** (step * power)
    scores = keys.new_tensor(products[step]) * scale**2 / divisor
    weights, count = scores.softmax(0), len(keys)
    shared, slope = float(entropy(weights).exp()), float((weights * (1 - weights)).max())
    texts = [f"{number(shared)} of {count}", f"{number(slope, 3)} of at most 0.250"]
    message = [
        f"Dimension {2**step}, scores divided by {number(divisor)}",
        f"Scores: {listed(scores)}",
        f"Weights: {listed(weights)}",
        f"Keys that share the weight, by the entropy: {texts[0]}",
        f"Largest derivative: {number(slope, 3)}",
    ]

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        pitch, zero, unit, start, long = (24, 98, 8, 194, 70) if narrow else (26, 190, 24, 420, 150)
        ys = [50 + pitch * i for i in range(count)]
        ax = canvas(width, ys[-1] + (120 if narrow else 76))
        for at, text in (((zero, 14), "scores"), ((start + long / 2, 14), "weights")):
            ax.say(at, text, "muted", bold=True)
        for i, y in enumerate(ys):
            ax.note((0, y), f"{'' if narrow else 'key '}{i + 1}", align="left")
        live(
            ax, bars, "scores", scores.tolist(), zero=zero, ys=ys, unit=unit, role="ink", most=MOST
        )
        live(ax, bars, "weights", weights.tolist(), zero=start, ys=ys, unit=long, role="weights")
        if not narrow:
            middle = (ys[0] + ys[-1]) / 2
            ax.box((356, middle), (32, ys[-1] - ys[0] + 32), text="")
            ax.say((356, middle), "softmax", turned=True)
        shares: list[Any] = [(shared - 1) / (count - 1), 4 * slope]
        for i, (name, share) in enumerate(zip(READINGS, shares, strict=True)):
            y = ys[-1] + (46 + 38 * i if narrow else 40 + 24 * i)
            end: Point = (0, y + 17) if narrow else (250, y)
            ax.note((0, y) if narrow else (240, y), name, align="left" if narrow else "right")
            live(ax, meter, f"share{i}", share, at=end, long=long, role="value")
            live(ax, _reading, f"reading{i}", texts[i], at=(end[0] + long + 8, end[1]))
        return ax.describe(*message)

    state = {"products": products, "step": step, "power": power, "scale": scale}
    return begin(both_widths(draw), "why-divide", **state)


def _reading(ax: Canvas, text: str, at: Point) -> None:
    """Write what a meter shows."""
    ax.note(at, text, align="left")
