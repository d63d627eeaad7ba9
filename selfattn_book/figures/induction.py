"""How two layers of attention can copy: one tells each letter what came before it, one looks that up."""

from itertools import pairwise
from typing import Any

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, canvas, for_desk_and_phone

LEVELS = (48, 156, 262)  # pixels: the middles of letters, notes and answer
BOX, NOTE = 30, 48  # pixels: the heights of a letter, and of a letter with its note

NAMES = (12, LEVELS[1] + NOTE / 2 + 16, LEVELS[2])  # pixels: of what stands there


def induction_heads(text: str) -> Canvas:
    """Draw the two steps by which the last letter of a text finds what followed its earlier copy.

    Args:
        text: 3 to 6 letters; the last one has one earlier copy.

    Example:
        >>> ax = induction_heads("cabdc")
        >>> print(ax.get_label())
        Copying in two steps, after c a b d c. Layer 1: each letter attends to the one before it, and
        notes it: a notes c, b notes a, d notes b, c notes d. Layer 2: the last c looks for the letter
        that noted c, finds a at position 1, and says that a comes next.
        >>> sum(text.get_text() == "after c" for text in ax.texts)
        1
    """
    found = _found(text)
    noted = [f"{after} notes {before}" for before, after in pairwise(text)]
    message = (
        f"Copying in two steps, after {' '.join(text)}",
        "Layer 1: each letter attends to the one before it, and notes it: " + ", ".join(noted),
        f"Layer 2: the last {text[-1]} looks for the letter that noted {text[-1]}, finds "
        f"{text[found]} at position {found}, and says that {text[found]} comes next",
    )

    def draw(width: float) -> Canvas:
        ax = canvas(width, LEVELS[2] + 22)
        pitch = min((width - 8) / len(text), 100)
        xs = [width / 2 + pitch * (i - (len(text) - 1) / 2) for i in range(len(text))]
        _letters(ax, xs, text, found)
        _notes(ax, xs, text, found)
        _answer(ax, xs, text[found], found)
        for y, name in zip(NAMES, ("the text", "layer 1", "layer 2"), strict=True):
            ax.note((4, y), name, "muted", align="left", bold=True)
        return ax.describe(*message)

    return for_desk_and_phone(draw)


def _found(text: str) -> int:
    """Return what the last letter finds, behind its one earlier copy."""
    return text.index(text[-1]) + 1


def _letters(ax: Canvas, xs: list[float], text: str, found: int) -> None:
    """Draw the text, and what layer 1 passes on."""
    top, below = LEVELS[0] + BOX / 2, LEVELS[1] - NOTE / 2
    for i, (x, letter) in enumerate(zip(xs, text, strict=True)):
        last = i == len(text) - 1
        role = "query" if last else "value" if i == found - 1 else "muted"
        ax.box((x, LEVELS[0]), (34, BOX), role, letter, filled=last or i == found - 1)
        ax.wire([(x, top), (x, below)], "muted", width=1)
        if not last:
            used = i + 1 == found
            look: dict[str, Any] = {
                "role": "value" if used else "muted",
                "width": BOLD_LINE if used else 1,
            }
            ax.wire([(x + 6, top), (xs[i + 1] - 6, below)], dashed=not used, **look)


def _notes(ax: Canvas, xs: list[float], text: str, found: int) -> None:
    """Draw each letter with its note of the one before it."""
    size = (min(0.88 * (xs[1] - xs[0]), 74), NOTE)
    for i, (x, letter) in enumerate(zip(xs, text, strict=True)):
        role = "query" if i == len(text) - 1 else "key" if i == found else "muted"
        wide = BOLD_LINE if i == found else 1
        ax.box((x, LEVELS[1]), size, role, filled=role != "muted", width=wide)
        ax.say((x, LEVELS[1] - 10), letter, bold=True)
        note = f"after {text[i - 1]}" if i else "the first"
        ax.note((x, LEVELS[1] + 11), note, bold=i == found)


def _answer(ax: Canvas, xs: list[float], letter: str, found: int) -> None:
    """Draw how the last letter asks, and what comes of it."""
    foot = LEVELS[1] + NOTE / 2
    turn = foot + 26
    asks = [(xs[-1] - 12, foot), (xs[-1] - 12, turn), (xs[found], turn), (xs[found], foot)]
    ax.wire(asks, "query", width=BOLD_LINE)
    middle = ((xs[found] + xs[-1]) / 2, turn - 10)
    ax.note(middle, "who stands after me?", "query")
    at = (xs[-1] - 18, LEVELS[2])
    ax.box(at, (104, BOX), "context", f"next: {letter}", bold=True, width=BOLD_LINE)
    way = [(xs[found] - 14, foot), (xs[found] - 14, LEVELS[2]), (at[0] - 52, LEVELS[2])]
    ax.wire(way, "value", width=BOLD_LINE)
