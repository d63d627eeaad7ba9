"""Induction heads: two layers of attention that copy what followed an earlier copy of a letter."""

from itertools import pairwise

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas

LETTER, NOTE, ANSWER = 48, 156, 262  # pixels: the middles of letters, notes and answer
BOX, TALL = 30, 48  # pixels: the heights of a letter, and of a letter with its note


def induction_heads(text: str) -> Canvas:
    """Draw the two steps by which the last letter of a text finds what followed its earlier copy.

    Example:
        >>> print(induction_heads("cabdc").get_label())
        Copying in two steps, after c a b d c. Layer 1: each letter attends to the one before it, and
        notes it: a notes c, b notes a, d notes b, c notes d. Layer 2: the last c looks for the letter
        that noted c, finds a at position 1, and says that a comes next.
    """
    found, last = text.index(text[-1]) + 1, len(text) - 1
    noted = ", ".join(f"{after} notes {before}" for before, after in pairwise(text))

    def draw(width: float) -> Canvas:
        ax = canvas(width, ANSWER + 22)
        pitch = min((width - 8) / len(text), 100)
        xs = [width / 2 + pitch * (i - last / 2) for i in range(len(text))]
        foot = NOTE + TALL / 2
        for i, (x, letter) in enumerate(zip(xs, text, strict=True)):
            role = "query" if i == last else "value" if i == found - 1 else "muted"
            ax.box((x, LETTER), (34, BOX), role, letter, filled=role != "muted")
            ax.wire([(x, LETTER + BOX / 2), (x, NOTE - TALL / 2)], "muted", width=1)
            if i < last:  # layer 1
                way = [(x + 6, LETTER + BOX / 2), (xs[i + 1] - 6, NOTE - TALL / 2)]
                kind, width_ = ("value", BOLD_LINE) if i + 1 == found else ("muted", 1)
                ax.wire(way, kind, width=width_, dashed=i + 1 != found)
            role = "query" if i == last else "key" if i == found else "muted"
            size, edge = (min(0.88 * pitch, 74), TALL), BOLD_LINE if i == found else 1
            ax.box((x, NOTE), size, role, filled=role != "muted", width=edge)
            ax.say((x, NOTE - 10), letter, bold=True)
            ax.note((x, NOTE + 11), f"after {text[i - 1]}" if i else "the first", bold=i == found)
        x, start = xs[found], xs[-1] - 12
        way = [(start, foot), (start, foot + 26), (x, foot + 26), (x, foot)]
        ax.wire(way, "query", width=BOLD_LINE)
        ax.note(((x + xs[-1]) / 2, foot + 16), "which letter followed?", "query")
        at = (xs[-1] - 18, ANSWER)
        ax.box(at, (104, BOX), "context", f"next: {text[found]}", bold=True, width=BOLD_LINE)
        way = [(x - 14, foot), (x - 14, ANSWER), (at[0] - 52, ANSWER)]
        ax.wire(way, "value", width=BOLD_LINE)
        for y, name in ((12, "the text"), (foot + 16, "layer 1"), (ANSWER, "layer 2")):
            ax.note((4, y), name, "muted", align="left", bold=True)
        return ax.describe(
            f"Copying in two steps, after {' '.join(text)}",
            f"Layer 1: each letter attends to the one before it, and notes it: {noted}",
            f"Layer 2: the last {text[-1]} looks for the letter that noted {text[-1]}, finds "
            f"{text[found]} at position {found}, and says that {text[found]} comes next",
        )

    return both_widths(draw)
