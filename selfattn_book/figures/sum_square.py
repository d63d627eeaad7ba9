"""Four sentences at the corners of a square, which no sum over their words can tell apart."""

from collections.abc import Sequence

from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, LINE, Canvas
from selfattn_book.draw.scene import Node, column, frame, label, note, part, row, show, slot, space

HIGH = 26  # pixels of a word
LONG = ["the two + and the two −", "have the same words"]  # in the middle
SHORT = ["both pairs", "of corners,", "+ and −,", "have the", "same words"]
SIDES = ("upper side share", "right side", "lower side", "left side")
Term = tuple[int, int]  # a position, and the word there


def sum_square(
    tokens: Tensor,
    labels: Tensor,
    words: Sequence[str],
    corners: Sequence[str],
    *,
    grounds: Sequence[str] | None = None,
) -> Canvas:
    """Draw four sentences at the corners of a square, and between two of them the word they share.

    Tokens are ``(4, T)``, clockwise from the upper left corner, and labels alternate. Both pairs of
    opposite corners have the same words at the same positions, so a sum over single words is the
    same for both pairs. Each corner has a text.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [0, 3, 2], [4, 3, 2], [4, 1, 2]])
        >>> labels, words = torch.tensor([1, 0, 1, 0]), ["never", "fails", "here", "works", "always"]
        >>> print(sum_square(tokens, labels, words, ["good", "bad", "good", "bad"]).get_label())
        A square of four sentences. Plus: never fails here, good. Minus: never works here, bad.
        Plus: always works here, good. Minus: always fails here, bad. The sentences of the upper side
        share never, of the right side works, of the lower side always, of the left side fails.
        All four share here. The two plus sentences together have the same words as the two minus
        sentences.
    """
    sentences = [list(enumerate(tokens_)) for tokens_ in tokens.tolist()]
    shared = _shared(sentences)
    signs = ["Plus" if sign else "Minus" for sign in labels.tolist()]
    wide = max(32, 16 + 7.4 * max(len(words[n]) for n in set(tokens.flatten().tolist())))

    said = [" ".join(words[n] for n in sentence) for sentence in tokens.tolist()]
    each = [f"of the {side} {words[n]}" for side, (_, n) in zip(SIDES, shared, strict=True)]
    common = " and ".join(words[n] for at, n in sentences[0] if (at, n) not in shared)
    message = [
        "A square of four sentences",
        *(f"{sign}: {s}, {corner}" for sign, s, corner in zip(signs, said, corners, strict=True)),
        f"The sentences {', '.join(each)}",
        f"All four share {common}" if common else "",
        "The two plus sentences together have the same words as the two minus sentences",
    ]

    def word(term: Term) -> Node:
        role = f"word-{shared.index(term)}" if term in shared else "muted"
        return part(words[term[1]], grounds[term[1]] if grounds else role, width=wide, height=HIGH)

    def build(narrow: bool) -> Node:
        width, count = (304 if narrow else 632), len(sentences[0])
        stack, across = row, count * (wide + 4) + 10
        if 2 * across + wide + 40 > width + 8:
            stack, across = column, wide + 14
        between = min(width - 2 * across, 160)
        boxes = [
            _sentence(stack(*map(word, terms), gap=4), i, plus=signs[i] == "Plus")
            for i, terms in enumerate(sentences)
        ]
        sides, names = [word(term) for term in shared], [label(corner) for corner in corners]
        parts = SHORT if narrow else LONG
        middle = column(*(note(t, bold=True, width=between) for t in parts), gap=1)
        lines = [
            (names[0], space(0), names[1]),
            (boxes[0], sides[0], boxes[1]),
            (sides[3], middle, sides[1]),
            (boxes[3], sides[2], boxes[2]),
            (names[3], space(0), names[2]),
        ]
        rows = [row(slot(a, across), slot(b, between), slot(c, across), gap=0) for a, b, c in lines]
        root = column(rows[0], column(*rows[1:4], gap=16), rows[4], gap=4)
        for i, side in enumerate(sides):
            root.link(boxes[i], side, "residual", head=False)
            root.link(side, boxes[(i + 1) % 4], "residual", head=False)
        return root

    return show(build, *message)


def _shared(sentences: Sequence[Sequence[Term]]) -> list[Term]:
    """Return the word that each sentence shares with the next one, but not with the other two."""
    shared = []
    for i in range(4):
        a, b, c, d = (sentences[(i + j) % 4] for j in range(4))
        shared += [term for term in a if term in b and term not in [*c, *d]]
    return shared


def _sentence(words: Node, i: int, *, plus: bool) -> Node:
    """Draw a sentence in its frame, with its sign at the corner."""
    role, across = ("ink" if plus else "muted"), float(i in (0, 3))
    drawn = frame(words, role, pad=7, width=BOLD_LINE if plus else LINE, dashed=not plus)
    drawn.paint = lambda ax, _: ax.node(
        drawn.at(across, float(i > 1)), "+" if plus else "−", role, radius=9
    )
    return drawn
