"""What each position of a text predicts: the next token, and how probable it was."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.scene import Node, column, grid, label, probability_bars, show
from selfattn_book.draw.style import Numbers, as_array
from selfattn_book.figures.token_figures import visible

NOTHING = 1e-5  # of a sum of probabilities, but rounding
HEADS = ("input", "target", "probability", "nats")
# a token, the next one, its probability, its surprisal, and whether it is the model's first choice
Step = tuple[str, str, float, str, bool]


def shifted_targets(tokens: Sequence[str], probabilities: Numbers, first: Sequence[bool]) -> Canvas:
    """Draw what each position of a text predicts: the next token, with its probability ``(T,)``.

    A target that is the model's first choice is bold.

    Example:
        >>> ax = shifted_targets(["And", " God", " said"], np.array([0.1, 0.5]), [False, True])
        >>> print(ax.get_label())
        Each position predicts the next token. “And” is followed by “ God”, with probability 0.10,
        a surprisal of 2.30 nats. “ God” is followed by “ said”, the first choice, with probability
        0.50, a surprisal of 0.69 nats.
    """
    each = as_array(probabilities).tolist()
    steps = [
        (now, then, p, number(-np.log(p)), chosen)
        for now, then, p, chosen in zip(tokens, tokens[1:], each, first, strict=False)
    ]
    message = [
        f"“{now}” is followed by “{then}”, {'the first choice, ' * chosen}with "
        f"probability {number(p)}, a surprisal of {nats} nats"
        for now, then, p, nats, chosen in steps
    ]

    def draw(width: float) -> Canvas:
        ax = _down(steps) if width == NARROW else _across(steps)
        return ax.describe("Each position predicts the next token", *message)

    return both_widths(draw)


def _across(steps: Sequence[Step]) -> Canvas:
    """Draw columns, from left to right."""
    ax, left = canvas(WIDE, 236), 78
    pitch = (WIDE - left) / len(steps)
    for y, name in zip((20, 100, 180, 222), HEADS, strict=True):
        ax.note((0, y), name, "muted", align="left")
    ax.line([(left, 200), (WIDE, 200)])
    for i, (now, then, p, nats, chosen) in enumerate(steps):
        x = left + (i + 0.5) * pitch
        ax.box((x, 20), (pitch - 8, 28), "query", visible(now))
        ax.wire([(x, 36), (x, 84)], "context", width=2)
        ax.box((x, 100), (pitch - 8, 28), "context", visible(then), **_mark(chosen))
        if i + 1 < len(steps):  # the answer is read next
            points = [(x + 12, 84), (x + pitch - 12, 36)]
            ax.wire(points, "muted", width=1, dashed=True, head=False)
        ax.vbar((x, 200), 52 * p, "context", thick=24)
        ax.note((x, 190 - 52 * p), number(p))
        ax.note((x, 222), nats)
    return ax


def _down(steps: Sequence[Step]) -> Canvas:
    """Draw rows, from top to bottom."""
    ax = canvas(NARROW, 30 + 36 * len(steps))
    for x, name in zip((40, 140, 226, 294), HEADS, strict=True):
        ax.note((x, 10), name, "muted")
    for i, (now, then, p, nats, chosen) in enumerate(steps):
        y = 44 + 36 * i
        ax.box((40, y), (76, 26), "query", visible(now), text_size=13)
        ax.wire([(80, y), (98, y)], "context", width=2)
        ax.box((140, y), (80, 26), "context", visible(then), text_size=13, **_mark(chosen))
        ax.hbar((190, y), 44 * p, "context", thick=14)
        ax.note((194 + 44 * p, y), number(p), align="left")
        ax.note((294, y), nats)
    return ax


def _mark(chosen: bool) -> dict[str, Any]:
    """Return the look of a target: bold if it is the first choice."""
    return {"bold": True, "width": BOLD_LINE} if chosen else {}


def next_tokens(
    tokens: Sequence[str] | Mapping[str, Sequence[str]], distributions: Mapping[str, Numbers]
) -> Canvas:
    """Draw distributions of the next token side by side, each as a column of bars.

    The last bar is for all other tokens together.

    Args:
        tokens: the tokens that are drawn, the same for all settings or by setting; V is at most 10.
        distributions: for each setting their probabilities, ``(V,)``.

    Example:
        >>> ax = next_tokens(["a", "b"], {"plain": [0.5, 0.25], "top-k 1": [1.0, 0.0]})
        >>> print(ax.get_label())
        The next token. plain: “a” 0.50, “b” 0.25, others 0.25. top-k 1: “a” 1.00, “b” none,
        others none.
    """
    settings = {}
    for name, values in distributions.items():
        own = tokens[name] if isinstance(tokens, Mapping) else tokens
        pairs = list(zip(own, as_array(values).tolist(), strict=True))
        rest = 1 - sum(p for _, p in pairs)
        rest = rest if rest > NOTHING else 0.0
        drawn = [(visible(token), p) for token, p in pairs] + [("others", rest)]
        each = [(f"“{token}”", p) for token, p in pairs] + [("others", rest)]
        alt = ", ".join(f"{token} {number(p) if p > 0 else 'none'}" for token, p in each)
        settings[name] = drawn, f"{name}: {alt}"

    def build(narrow: bool) -> Node:
        panels = []
        for name, (pairs, alt) in settings.items():
            head, long = label(name, bold=True, align="left"), 192 if narrow else 82
            bars = probability_bars(pairs, "context", start=72, long=long)
            panels.append(column(head, bars, gap=6, align=0, alt=alt))
        return grid(panels, 1 if narrow else 3, gap=16)

    return show(build, "The next token")
