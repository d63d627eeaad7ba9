"""Activation patching: a hidden state of one forward pass, copied into another."""

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, both_widths, canvas

LETTERS, STATES = (40, 256), (108, 188)  # pixels: the middles of letters and states of two passes
BOX, STATE, BETWEEN = 28, 20, 148  # pixels: heights of letter and state; the wire between passes


def patching(text: str, changed: str, position: int) -> Canvas:
    """Draw how the state at a position comes from the pass of a changed text into that of a text.

    The texts differ in one letter; dashed, the way on which layer 1 may have moved it.

    Example:
        >>> print(patching("abcab", "abdab", 3).get_label())
        Two forward passes through layer 1, of a b d a b and of a b c a b. The state at letter 4 of the
        first is copied into the second; from its states, layer 2 predicts the next letter.
    """
    last = len(text) - 1

    def draw(width: float) -> Canvas:
        ax = canvas(width, 300)
        pitch = min((width - 8) / len(text), 52)
        xs = [width / 2 + pitch * (i - last / 2) for i in range(len(text))]
        wide = min(0.8 * pitch, 34)
        for letters, y, z in zip((changed, text), LETTERS, STATES, strict=True):
            down = 1 if z > y else -1
            for i, (x, letter) in enumerate(zip(xs, letters, strict=True)):
                own, patched = letters is text, i == position
                role = "value" if letter != text[i] else "query" if i == last else "ink"
                ax.box((x, y), (wide, BOX), role, letter, filled=role != "ink")
                if not (own and patched):
                    way = [(x, y + down * BOX / 2), (x, z - down * STATE / 2)]
                    ax.wire(way, "muted", width=1)
                look = "value" if patched else "query" if own and i == last else "muted"
                edge = BOLD_LINE if patched else 1
                ax.box((x, z), (wide, STATE), look, filled=look != "muted", width=edge)
        x, (upper, lower) = xs[position], STATES
        (new,) = (i for i in range(len(text)) if changed[i] != text[i])
        way = [(xs[new] + 6, LETTERS[0] + BOX / 2), (x - 6, upper - STATE / 2)]
        ax.wire(way, "value", width=1, dashed=True)
        ax.wire([(x, upper + STATE / 2), (x, lower - STATE / 2)], "value", width=BOLD_LINE)
        way = [(x + 8, lower - STATE / 2), (x + 8, BETWEEN), (xs[-1] - wide / 2, BETWEEN)]
        ax.wire(way, "query", width=BOLD_LINE)
        way = [(xs[-1], lower - STATE / 2), (xs[-1], BETWEEN + BOX / 2)]
        ax.wire(way, "query", width=BOLD_LINE)
        ax.box((xs[-1], BETWEEN), (wide, BOX), "query", "?", bold=True)
        ax.note(((x + xs[-1]) / 2, BETWEEN - 11), "through layer 2", "query")
        for y, name in (
            (12, "the other text, through layer 1"),
            (286, "the original text, through layer 1"),
        ):
            ax.note((xs[0] - wide / 2, y), name, "muted", align="left", bold=True)
        passes = f"of {' '.join(changed)} and of {' '.join(text)}"
        copied = f"The state at letter {position + 1} of the first is copied into the second"
        return ax.describe(
            f"Two forward passes through layer 1, {passes}",
            f"{copied}; from its states, layer 2 predicts the next letter",
        )

    return both_widths(draw)
