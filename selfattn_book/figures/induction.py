"""Induction heads: two layers of attention that copy what followed an earlier copy of a letter."""

from collections.abc import Sequence

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas

LETTER, NOTE, ANSWER = 48, 156, 262  # pixels: the middles of letters, notes and answer
BOX, TALL = 30, 48  # pixels: the heights of a letter, and of a letter with its note


def induction_heads(text: str, back: int = 1) -> Canvas:
    """Draw the two steps by which the last letter of a text finds what followed its earlier copy.

    In layer 1 each letter notes the letter before it, or with ``back=2`` the two letters before it.

    Example:
        >>> print(induction_heads("cabdc").get_label())
        Copying in two steps, after c a b d c. Layer 1: each letter attends to the one before it, and
        notes it: a notes c, b notes a, d notes b, c notes d. Layer 2: the last c looks for the letter
        that noted c, finds a at position 1, and says that a comes next.
        >>> print(induction_heads("cabdc", back=2).get_label())
        Copying in two steps, after c a b d c. Layer 1: each letter attends to the two before it, and
        notes them: a notes c, b notes ca, d notes ab, c notes bd. Layer 2: the last c looks for the
        letter that noted c two back, finds b at position 2, and says that a, which b noted, comes
        next.
    """
    copy, last = text.index(text[-1]), len(text) - 1
    found, answer = copy + back, text[copy + 1]
    notes = [text[max(0, i - back) : i] for i in range(len(text))]

    def draw(width: float) -> Canvas:
        ax = canvas(width, ANSWER + 22)
        pitch = min((width - 8) / len(text), 100)
        xs = [width / 2 + pitch * (i - last / 2) for i in range(len(text))]
        for i in range(len(text)):
            _layer_one(ax, i, xs, text, notes, (copy, found, back))
        x, start, foot = xs[found], xs[-1] - 12, NOTE + TALL / 2
        way = [(start, foot), (start, foot + 26), (x, foot + 26), (x, foot)]
        ax.wire(way, "query", width=BOLD_LINE)
        asks = f"after {text[-1]}?" if back == 1 else f"{text[-1]} two back?"
        ax.note(((x + xs[-1]) / 2, foot + 16), asks, "query")
        at = (xs[-1] - 18, ANSWER)
        ax.box(at, (104, BOX), "context", f"next: {answer}", bold=True, width=BOLD_LINE)
        way = [(x - 14, foot), (x - 14, ANSWER), (at[0] - 52, ANSWER)]
        ax.wire(way, "value", width=BOLD_LINE)
        states = NOTE if pitch == 100 else foot + 16  # beside the states, where there is room
        for y, name in ((12, "the text"), (states, "after layer 1"), (ANSWER, "after layer 2")):
            ax.note((4, y), name, "muted", align="left", bold=True)
        return ax.describe(
            f"Copying in two steps, after {' '.join(text)}", *_told(text, notes, copy, back)
        )

    return both_widths(draw)


def _layer_one(
    ax: Canvas,
    i: int,
    xs: Sequence[float],
    text: str,
    notes: Sequence[str],
    places: tuple[int, int, int],
) -> None:
    """Draw a letter, what it notes, and which later letters note it."""
    (copy, found, back), x, last = places, xs[i], len(text) - 1
    sources = {copy: "value"} if back == 1 else {copy: "key", copy + 1: "value"}
    role = "query" if i == last else sources.get(i, "muted")
    ax.box((x, LETTER), (34, BOX), role, text[i], filled=role != "muted")
    ax.wire([(x, LETTER + BOX / 2), (x, NOTE - TALL / 2)], "muted", width=1)
    for step in range(1, min(back, last - i) + 1):  # layer 1
        way = [(x + 6, LETTER + BOX / 2), (xs[i + step] - 6, NOTE - TALL / 2)]
        kind, width = (role, BOLD_LINE) if i + step == found else ("muted", 1)
        ax.wire(way, kind, width=width, dashed=i + step != found)
    role = "query" if i == last else "key" if i == found else "muted"
    pitch, edge = xs[1] - xs[0], BOLD_LINE if i == found else 1
    ax.box((x, NOTE), (min(0.88 * pitch, 74), TALL), role, filled=role != "muted", width=edge)
    ax.say((x, NOTE - 10), text[i], bold=True)
    noted = f"after {notes[i]}" if i else "the first"
    if pitch < 60:  # on a narrow screen
        noted = f"({notes[i]})" if i else "–"
    ax.note((x, NOTE + 11), noted, bold=i == found)


def _told(text: str, notes: Sequence[str], copy: int, back: int) -> list[str]:
    """Say what each layer does."""
    found, answer, last = copy + back, text[copy + 1], text[-1]
    noted = ", ".join(f"{text[i]} notes {notes[i]}" for i in range(1, len(text)))
    before, them = ("the one before it", "it") if back == 1 else ("the two before it", "them")
    looked = f"noted {last}" if back == 1 else f"noted {last} two back"
    said = answer if back == 1 else f"{answer}, which {text[found]} noted,"
    return [
        f"Layer 1: each letter attends to {before}, and notes {them}: {noted}",
        f"Layer 2: the last {last} looks for the letter that {looked}, finds {text[found]} at "
        f"position {found}, and says that {said} comes next",
    ]
