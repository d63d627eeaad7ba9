"""Four sentences at the corners of a square: what no sum over their words can tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.draw.canvas import (
    BOLD_LINE,
    LINE,
    Point,
    box,
    canvas,
    for_desk_and_phone,
    node,
    say,
    tell,
    wire,
)
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import line_names

HIGH = 26  # pixels of a word
GAP = 4  # pixels between two words
RIM = 7  # pixels between the words of a sentence and its frame
EDGE = 8  # pixels beside the square
LEAST = 12  # pixels around the word on a side
FAR = 160  # pixels between two frames, at most
LINE_OF_TEXT = 18  # pixels from one line of text at a corner to the next
LETTERS = 7  # of the longest word
LONG = ["the two + and the two −", "have the same words"]  # in the middle
SHORT = ["both pairs", "of corners,", "+ and −,", "have the", "same words"]


def sum_square(
    tokens: Tensor,
    labels: Tensor,
    words: Sequence[str],
    corners: Sequence[str],
    notes: Sequence[str] | None = None,
    *,
    grounds: Sequence[str] | None = None,
) -> Axes:
    r"""Draw four sentences at the corners of a square, and between two of them the word they share.

    Labels alternate around the square, so opposite corners have the same one. Both pairs of opposite
    corners hold the same words at the same places, so a sum over single words gives both one total.

    .. math:: z_1 + z_3 = z_2 + z_4 \quad\text{whenever}\quad z = \textstyle\sum_t f(x_t, t) + b

    Args:
        tokens: ``(4, T)``, words by their numbers, one sentence after the other around the square,
            from the upper left corner with the clock; T is 2 or 3.
        labels: ``(4,)``, 1 and 0 in turn.
        words: the names of the words, of seven letters at most.
        corners: a short text for each sentence, such as the name of its logit.
        notes: another one.
        grounds: the role whose colour each word has, where a page has given them colours already;
            a colour for each side of the square when left out.

    Returns:
        The axes.

    Raises:
        ValueError: the sentences have another shape, a word is too long for its box, the labels do not
            alternate, or neighbours on the square do not share one word that the other two lack.

    Example:
        >>> import torch
        >>> tokens = torch.tensor([[0, 1, 2], [0, 3, 2], [4, 3, 2], [4, 1, 2]])
        >>> labels, words = torch.tensor([1, 0, 1, 0]), ["never", "fails", "here", "works", "always"]
        >>> ax = sum_square(tokens, labels, words, ["good", "bad", "good", "bad"])
        >>> print(ax.get_label())
        A square of four sentences. Plus: never fails here, good. Minus: never works here, bad.
        Plus: always works here, good. Minus: always fails here, bad. The sentences of the upper side
        share never, of the right side works, of the lower side always, of the left side fails.
        All four share here. The two plus sentences together have the same words as the two minus
        sentences.
        >>> [text.get_text() for text in ax.texts].count("never")   # two corners and a side
        3
        >>> ax = sum_square(tokens, labels, words, ["", "", "", ""], grounds=["mask"] * 5)
        >>> len({str(patch.get_facecolor()) for patch in ax.patches if patch.get_zorder() == 4})
        2
        >>> sum_square(tokens[[0, 2, 1, 3]], labels, words, ["good", "good", "bad", "bad"])
        Traceback (most recent call last):
        ValueError: neighbours on the square must share one word at its place that the other two lack;
        got tokens [[0, 1, 2], [4, 3, 2], [0, 3, 2], [4, 1, 2]]
        >>> sum_square(tokens, 1 - labels * 0, words, ["a", "b", "c", "d"])
        Traceback (most recent call last):
        ValueError: labels must be 1 and 0 in turn; got [1, 1, 1, 1]
        >>> sum_square(tokens[:3], labels, words, ["a", "b", "c", "d"])
        Traceback (most recent call last):
        ValueError: tokens must have shape (4, T), with T 2 or 3; got (3, 3)
        >>> sum_square(tokens, labels, ["sometimes"] * 5, ["a", "b", "c", "d"])
        Traceback (most recent call last):
        ValueError: a word may have at most 7 letters; got 'sometimes'
    """
    drawn = _checked(tokens, labels, words, corners, notes)
    drawn.grounds = line_names(grounds, len(words)) if grounds else []

    def draw(width: float) -> Axes:
        at = _placed(drawn, width)
        ax = canvas(width, at.height)
        _sides(ax, at, drawn)
        for i, middle in enumerate(at.middles):
            _corner(ax, at, drawn, i, middle)
        lines = SHORT if width == NARROW else LONG
        for i, text in enumerate(lines):
            below = LINE_OF_TEXT * (i - (len(lines) - 1) / 2)
            say(ax, (width / 2, at.height / 2 + below), text, size=SMALL, bold=True)
        return tell(ax, *_told(drawn))

    return for_desk_and_phone(draw)


Term = tuple[int, int]  # a place, and the word there


@dataclass
class _Square:
    """What is drawn: the sentences, what two neighbours share, and what stands at the corners."""

    sentences: list[list[Term]]
    labels: list[int]
    sides: list[Term]
    words: list[str]
    texts: list[list[str]]  # for each corner, the lines at it
    grounds: list[str] = field(default_factory=list)  # of the words

    @property
    def wide(self) -> float:
        """The width of a word in pixels."""
        shown = {self.names(term) for terms in self.sentences for term in terms}
        return max(32, 16 + 7.4 * max(map(len, shown)))

    def names(self, term: Term) -> str:
        return self.words[term[1]]

    def ground(self, term: Term) -> str:
        if self.grounds:
            return self.grounds[term[1]]
        return f"word-{self.sides.index(term)}" if term in self.sides else "muted"

    def common(self) -> list[Term]:
        return [term for term in self.sentences[0] if term not in self.sides]


@dataclass
class _At:
    """Where the corners stand, and how large they are, in pixels."""

    stacked: bool  # the words of a sentence one below the other, as on a phone
    size: Point  # of the frame of a sentence
    middles: list[Point]
    height: float


def _checked(
    tokens: Tensor,
    labels: Tensor,
    words: Sequence[str],
    corners: Sequence[str],
    notes: Sequence[str] | None,
) -> _Square:
    """Check what is given, and find what neighbours share."""
    if tokens.dim() != 2 or len(tokens) != 4 or tokens.size(1) not in (2, 3):
        rule = "tokens must have shape (4, T), with T 2 or 3"
        raise ValueError(f"{rule}; got {tuple(tokens.shape)}")
    signs = [int(label) for label in labels.tolist()]
    if signs != [1, 0, 1, 0]:
        raise ValueError(f"labels must be 1 and 0 in turn; got {signs}")
    rows = tokens.tolist()
    for word in {word for row in rows for word in row}:
        if len(words[word]) > LETTERS:
            rule = f"a word may have at most {LETTERS} letters"
            raise ValueError(f"{rule}; got {words[word]!r}")
    sentences = [list(enumerate(row)) for row in rows]
    sides = []
    for i in range(4):
        a, b, c, d = (sentences[(i + j) % 4] for j in range(4))
        sides += [term for term in a if term in b and term not in c + d]
    plus, minus = (sorted(sentences[i] + sentences[i + 2]) for i in (0, 1))
    if len(sides) != 4 or plus != minus:
        rule = "neighbours on the square must share one word at its place that the other two lack"
        raise ValueError(f"{rule}; got tokens {rows}")
    told = [line_names(text, 4) for text in (corners, notes) if text is not None]
    texts = [list(at) for at in zip(*told, strict=True)]
    return _Square(sentences, signs, sides, list(words), texts)


def _placed(drawn: _Square, width: float) -> _At:
    """Lay the square out, with the words of a sentence one below the other where it must be narrow."""
    count = len(drawn.sentences[0])
    long, short = count * (drawn.wide + GAP) - GAP, drawn.wide
    needed = 2 * (long + 2 * RIM) + drawn.wide + 2 * LEAST + 2 * EDGE
    stacked = needed > width
    across, down = (short, count) if stacked else (long, 1)
    size = (across + 2 * RIM, down * (HIGH + GAP) - GAP + 2 * RIM)
    inside = width - 2 * size[0] - 2 * EDGE  # what is left between the frames
    left = (width - min(inside, FAR)) / 2 - size[0] / 2
    top = LINE_OF_TEXT * len(drawn.texts[0]) + 4 + size[1] / 2
    low = top + size[1] + HIGH + 2 * (28 if stacked else 40)
    middles = [(left, top), (width - left, top), (width - left, low), (left, low)]
    return _At(stacked, size, middles, low + top)


def _sides(ax: Axes, at: _At, drawn: _Square) -> None:
    """Draw the sides of the square, each with the word that its two ends share."""
    ends = [*at.middles, at.middles[0]]
    for i, (a, b) in enumerate(pairwise(ends)):
        wire(ax, _between(a, b, at.size), "road", head=False)
        middle, side = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), drawn.sides[i]
        size, name = (drawn.wide, HIGH), drawn.names(side)
        box(ax, middle, size, drawn.ground(side), name, order=4)


def _between(a: Point, b: Point, size: Point) -> list[Point]:
    """Return the ends of a side, which leaves the frames of its corners free.

    >>> _between((0, 0), (100, 0), (20, 10)), _between((0, 50), (0, 0), (20, 10))
    ([(10.0, 0.0), (90.0, 0.0)], [(0.0, 45.0), (0.0, 5.0)])
    """
    x, y = (
        size[c] / 2 * (1 if b[c] > a[c] else -1 if b[c] < a[c] else 0)
        for c in (0, 1)
    )
    return [(a[0] + x, a[1] + y), (b[0] - x, b[1] - y)]


def _corner(ax: Axes, at: _At, drawn: _Square, i: int, middle: Point) -> None:
    """Draw a sentence in its frame, with its sign and its texts on the outer side."""
    plus, (x, y) = drawn.labels[i] == 1, middle
    role, edge = ("ink", BOLD_LINE) if plus else ("muted", LINE)
    box(
        ax,
        middle,
        at.size,
        role,
        filled=False,
        dashed=not plus,
        width=edge,
        order=3,
    )
    _words(ax, at, drawn, i, middle)
    away = -1 if i < 2 else 1
    outer = y + away * (at.size[1] / 2 + LINE_OF_TEXT / 2 + 2)
    lines = drawn.texts[i] if away > 0 else drawn.texts[i][::-1]
    for n, text in enumerate(lines):
        say(ax, (x, outer + away * n * LINE_OF_TEXT), text)
    inward = 1 if i in (0, 3) else -1
    sign = (x + inward * at.size[0] / 2, y + away * at.size[1] / 2)
    node(ax, sign, "+" if plus else "−", "ink" if plus else "muted", radius=9)


def _words(ax: Axes, at: _At, drawn: _Square, i: int, middle: Point) -> None:
    """Draw the words of a sentence, each on its ground."""
    centre = (len(drawn.sentences[i]) - 1) / 2
    for t, term in enumerate(drawn.sentences[i]):
        x, y = middle
        if at.stacked:
            y += (t - centre) * (HIGH + GAP)
        else:
            x += (t - centre) * (drawn.wide + GAP)
        size, name = (drawn.wide, HIGH), drawn.names(term)
        box(ax, (x, y), size, drawn.ground(term), name, order=4)


def _told(drawn: _Square) -> list[str]:
    """Say which sentences stand at the corners, and what they share."""
    told = ["A square of four sentences"]
    for terms, label, texts in zip(
        drawn.sentences, drawn.labels, drawn.texts, strict=True
    ):
        said = " ".join(drawn.names(term) for term in terms)
        told.append(f"{'Plus' if label else 'Minus'}: {said}, {', '.join(texts)}")
    sides = ("upper side share", "right side", "lower side", "left side")
    each = (
        f"of the {side} {drawn.names(term)}"
        for side, term in zip(sides, drawn.sides, strict=True)
    )
    told.append(f"The sentences {', '.join(each)}")
    if common := drawn.common():
        told.append(f"All four share {' and '.join(map(drawn.names, common))}")
    same = "the same words as the two minus sentences"
    return [*told, f"The two plus sentences together have {same}"]
