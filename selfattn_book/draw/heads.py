"""One word that looks twice, and how a strip is cut into heads, beside what one `view` makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import (
    BOLD_LINE,
    LINE,
    TEXT,
    Point,
    bar,
    box,
    canvas,
    for_desk_and_phone,
    line,
    listed,
    number,
    say,
    shape,
    tell,
    titles,
    vector,
    wire,
)
from selfattn_book.draw.layout import NARROW, WIDE
from selfattn_book.draw.sheet import SMALL
from selfattn_book.draw.style import line_names

CELL = (34, 24)  # pixels
PILE = 28  # pixels between two heads, for the name of the lower one
HEAD = 90  # pixels for what stands above the first head


def looks_twice(
    x: Tensor,
    value: Tensor,
    names: Sequence[str],
    columns: Sequence[str],
    questions: Mapping[str, str],
    *,
    row: int = 0,
) -> Axes:
    r"""Draw a word that looks at all words with two heads, which ask by one column each.

    Both bring back the same third column.

    .. math:: c_h = \sum_j w_{hj}\,v_j, \qquad w_{hj} \propto e^{x_{ih}\,x_{jh}}

    Args:
        x: ``(T, 2)``; a head takes its column for query and key; T is 2 to 4.
        value: ``(T, 1)``, whole numbers; what both heads average.
        names: one per word, of five letters at most.
        columns: what the two columns and the values are called, in eight letters at most.
        questions: by what each of the two heads asks, in six letters at most, and what it asks, in
            twenty.
        row: which word looks.

    Returns:
        The axes.

    Raises:
        ValueError: the words do not have two columns and a value, or they or what they are called do
            not fit.

    Example:
        >>> import torch
        >>> x, value = torch.tensor([[1.0, 1.0], [1.0, -1.0]]), torch.tensor([[1.0], [-1.0]])
        >>> columns = ["outdoors", "alive", "soft"]
        >>> asked = {"place": "Where?", "life": "What?"}
        >>> ax = looks_twice(x, value, ["tree", "rock"], columns, asked)
        >>> print(ax.get_label())
        The word tree looks twice, and each time brings back an average of the column soft: tree 1,
        rock -1. Head 1, by place, where?, compares the column outdoors: weights tree 0.50, rock
        0.50; average 0.00. Head 2, by life, what?, compares the column alive: weights tree 0.88,
        rock 0.12; average 0.76. Side by side: 0.00, 0.76.
        >>> [text.get_text() for text in ax.texts if "0.88" in text.get_text()]
        ['0.88 × 1']
        >>> [text.get_text() for text in ax.texts if "0.12" in text.get_text()]
        ['0.12 × (−1)']
        >>> [text.get_text() for text in ax.texts if "head" in text.get_text()]
        ['head 1: by place', 'head 2: by life']
        >>> looks_twice(x[:, :1], value, ["tree", "rock"], columns, asked)
        Traceback (most recent call last):
        ValueError: x must have shape (T, 2), with T from 2 to 4; got (2, 1)
        >>> looks_twice(x, x, ["tree", "rock"], columns, asked)
        Traceback (most recent call last):
        ValueError: value must have shape (2, 1); got (2, 2)
        >>> looks_twice(x, value, ["tree", "flower"], columns, asked)
        Traceback (most recent call last):
        ValueError: a name may have at most 5 letters; got 'flower'
    """
    drawn = _looking(x, value, names, columns, questions, row=row)

    def draw(width: float) -> Axes:
        at = PHONE if width == NARROW else DESK
        first = 62 + at.step / 2
        low = first + (len(x) * at.step + 76) * at.is_phone  # where the bars begin
        ax = canvas(width, low + len(x) * at.step + 62)
        _columns(ax, drawn, (56, first), at.step)
        for head in (0, 1):
            _head(ax, drawn, head, at, low)
        _side_by_side(ax, drawn, at, low)
        return tell(ax, *_told(drawn))

    return for_desk_and_phone(draw)


@dataclass
class _Looks:
    """What is drawn: the words, what is asked of them, and what comes of it."""

    x: Tensor
    value: list[float]
    names: list[str]
    columns: list[str]
    by: list[str]
    questions: list[str]
    row: int
    weights: list[Tensor]  # for each head, of the word that looks
    averages: list[float]


@dataclass
class _Bars:
    """Where the bars of the two heads stand, in pixels."""

    step: float  # from row to row
    long: float  # of a weight of 1
    zeros: tuple[float, float]  # where the bars of each head begin
    is_phone: bool

    def middle(self, head: int) -> float:
        return self.zeros[head] + self.long / 2 + 18


DESK = _Bars(32, 108, (274, 456), is_phone=False)
PHONE = _Bars(26, 48, (60, 204), is_phone=True)


def _looking(
    x: Tensor,
    value: Tensor,
    names: Sequence[str],
    columns: Sequence[str],
    questions: Mapping[str, str],
    *,
    row: int,
) -> _Looks:
    """Check what is given, and compute what is drawn."""
    if x.dim() != 2 or x.size(1) != 2 or not 2 <= len(x) <= 4:
        rule = "x must have shape (T, 2), with T from 2 to 4"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    if value.shape != (len(x), 1):
        rule = f"value must have shape ({len(x)}, 1)"
        raise ValueError(f"{rule}; got {tuple(value.shape)}")
    names = _called("name", names, len(x), 5)
    columns = _called("column", columns, 3, 8)
    by = _called("name of a head", list(questions), 2, 6)
    asks = _called("question", list(questions.values()), 2, 20)
    asked = x.split(1, dim=1)
    heads = [
        scaled_dot_product_attention(column, column, value) for column in asked
    ]
    weights = [table[row] for _, table in heads]
    averages = [float(context[row]) for context, _ in heads]
    brought = value.flatten().tolist()
    return _Looks(x, brought, names, columns, by, asks, row, weights, averages)


def _told(drawn: _Looks) -> list[str]:
    """Say what is drawn."""
    held = ", ".join(
        f"{name} {number(value, 0)}"
        for name, value in zip(drawn.names, drawn.value, strict=True)
    )
    told = [
        f"The word {drawn.names[drawn.row]} looks twice, and each time brings back an average "
        f"of the column {drawn.columns[2]}: {held}"
    ]
    asked = zip(drawn.by, drawn.questions, drawn.columns[:2], strict=True)
    for h, (by, question, column) in enumerate(asked):
        each = zip(drawn.names, drawn.weights[h].tolist(), strict=True)
        seen = ", ".join(f"{name} {number(weight)}" for name, weight in each)
        told.append(
            f"Head {h + 1}, by {by}, {question.lower()}, compares the column {column}: "
            f"weights {seen}; average {number(drawn.averages[h])}"
        )
    return [*told, f"Side by side: {listed(drawn.averages)}"]


def _columns(ax: Axes, drawn: _Looks, corner: Point, step: float) -> None:
    """Draw the words with their two columns and their value; the one that looks stands out."""
    (left, first), cell = corner, (60, 24)
    for c, column in enumerate(drawn.columns):
        at = (left + (c + 0.5) * cell[0] + 8 * (c == 2), first - step / 2 - 12)
        say(ax, at, column, "value" if c == 2 else "ink", size=SMALL)
    for i, (name, entries) in enumerate(zip(drawn.names, drawn.x, strict=True)):
        looks, y = i == drawn.row, first + i * step
        role = "query" if looks else "key"
        say(ax, (left - 8, y), name, role, align="right", size=SMALL, bold=looks)
        wide = BOLD_LINE if looks else 1
        vector(ax, (left, y), entries, role, cell=cell, digits=0, width=wide)
        brought = [drawn.value[i]]
        at = (left + 2 * cell[0] + 8, y)
        vector(ax, at, brought, "value", cell=cell, digits=0, width=1)


def _head(ax: Axes, drawn: _Looks, head: int, at: _Bars, low: float) -> None:
    """Draw what one head asks, its weights as bars, and the value that each weight meets."""
    rows = [low + i * at.step for i in range(len(drawn.x))]
    zero, middle, top = at.zeros[head], at.middle(head), rows[0] - at.step / 2
    titles(ax, [(middle, f"head {head + 1}: by {drawn.by[head]}")], top - 46)
    say(ax, (middle, top - 24), drawn.questions[head], size=SMALL)
    weights, size = drawn.weights[head].tolist(), SMALL if at.is_phone else TEXT
    for i, (y, weight) in enumerate(zip(rows, weights, strict=True)):
        bar(ax, (zero, y), at.long * weight, "weights")
        end = (zero + at.long * weight + 6, y)
        met = _times(weight, drawn.value[i])
        say(ax, end, met, "weights", align="left", size=size)
        if at.is_phone:
            say(ax, (zero - 6, y), drawn.names[i], align="right", size=SMALL)
    line(ax, [(zero, rows[0] - 14), (zero, rows[-1] + 14)])


def _times(weight: float, value: float) -> str:
    """Write a product; a factor below zero stands in parentheses.

    >>> _times(0.5, 2), _times(0.5, -1)
    ('0.50 × 2', '0.50 × (−1)')
    """
    text = number(value, 0).replace("-", "−")
    return f"{number(weight)} × {f'({text})' if value < 0 else text}"


def _side_by_side(ax: Axes, drawn: _Looks, at: _Bars, low: float) -> None:
    """Draw the average of each head, below the rule of its sum, and both as one vector."""
    high = low + len(drawn.x) * at.step
    floor, centre = high + 38, sum(at.zeros) / 2 + at.long / 2 + 18
    vector(ax, (centre - 42, floor), drawn.averages, "context", width=BOLD_LINE)
    for head, side in enumerate((-1, 1)):
        x, rule = at.middle(head), high - at.step / 2 + 2
        ends = [(at.zeros[head], rule), (2 * x - at.zeros[head], rule)]
        line(ax, ends, "context", width=LINE)
        way = [(x, rule), (x, floor)]
        wire(ax, [*way, (centre + 44 * side, floor)], "context")
    of = "" if at.is_phone else f" of {drawn.columns[2]}"
    averages = f"two averages{of}"
    say(ax, (centre, high + 10), averages, "context", size=SMALL, bold=True)


def _called(what: str, given: Sequence[str], count: int, letters: int) -> list[str]:
    """Return what is written, or raise unless each has its place.

    >>> _called("column", ["out of doors"], 1, 8)
    Traceback (most recent call last):
    ValueError: a column may have at most 8 letters; got 'out of doors'
    """
    texts = line_names(given, count)
    for text in texts:
        if len(text) > letters:
            rule = f"a {what} may have at most {letters} letters"
            raise ValueError(f"{rule}; got {text!r}")
    return texts


def cut_into_heads(
    strip: Tensor, right: Tensor, wrong: Tensor, names: Sequence[str]
) -> Axes:
    r"""Draw a strip of words beside the heads that are cut from it, rightly and wrongly.

    Each entry has the colour of its word, and is called by the word's first letter and its column;
    so a head that misses a word misses a colour.

    Args:
        strip: ``(T, H * d)``, all entries different; T is 2 to 4, H 2 or 3, and H * d at most 6.
        right: ``(H, T, d)``, head :math:`h` holding its :math:`d` columns of every word.
        wrong: ``(H, T, d)``, the same entries in another order.
        names: one per word, of five letters at most, which begin with different letters.

    Returns:
        The axes.

    Raises:
        ValueError: the strip has another size or has an entry twice, the right heads are wrong, the
            wrong ones are right or have other entries, or the names do not tell words apart.

    Example:
        >>> import torch
        >>> strip = torch.arange(16).view(4, 4)
        >>> right, wrong = strip.unflatten(1, (2, 2)).transpose(0, 1), strip.view(2, 4, 2)
        >>> words = ["tree", "rock", "nurse", "chair"]
        >>> ax = cut_into_heads(strip, right, wrong, words)
        >>> print(ax.get_label())
        A strip of 4 words and 4 columns becomes 2 heads. Right, cut and then moved: head 1 holds
        columns 1, 2 of every word. Right, cut and then moved: head 2 holds columns 3, 4 of every
        word. Wrong on purpose, by view at once: head 1 holds every column of tree, rock only.
        Wrong on purpose, by view at once: head 2 holds every column of nurse, chair only.
        >>> [text.get_text() for text in ax.texts].count("n3")   # in the strip, and on both sides
        3
        >>> cut_into_heads(strip, wrong, wrong, words)
        Traceback (most recent call last):
        ValueError: right must hold the strip's columns, head by head
        >>> cut_into_heads(strip, right, right, words)
        Traceback (most recent call last):
        ValueError: wrong must hold the strip's entries in another order than right
        >>> cut_into_heads(0 * strip, right, wrong, words)
        Traceback (most recent call last):
        ValueError: strip must hold each entry once
        >>> cut_into_heads(strip, right, wrong, ["oak", "pupil", "teacher", "tree"])
        Traceback (most recent call last):
        ValueError: names must begin with different letters and have at most 5; got oak, pupil, ...
        >>> cut_into_heads(strip[:, :3], right, wrong, words)
        Traceback (most recent call last):
        ValueError: strip (T, H * d) and right (H, T, d) must fit, with T from 2 to 4, H 2 or 3, and
        H * d up to 6; got (4, 3) and (2, 4, 2)
    """
    names = line_names(names, len(strip))
    _check(strip, right, wrong, names)
    places = {int(entry): i for i, entry in enumerate(strip.flatten())}
    rightly, wrongly = (
        [
            [[divmod(places[int(e)], strip.size(1)) for e in row] for row in head]
            for head in heads
        ]
        for heads in (right, wrong)
    )
    drawn = _Cut(strip, right, rightly, wrongly, names)

    def draw(width: float) -> Axes:
        ax = _on_desk(drawn) if width == WIDE else _on_phone(drawn)
        return tell(ax, *_told_of_cut(drawn))

    return for_desk_and_phone(draw)


Pile = list[
    list[tuple[int, int]]
]  # for each place in a head: the word, and the column


@dataclass
class _Cut:
    """What is drawn: the strip, and the heads that are cut from it in two ways."""

    strip: Tensor
    right: Tensor
    rightly: list[Pile]
    wrongly: list[Pile]
    names: list[str]

    @property
    def wide(self) -> float:
        """The width of a head in pixels."""
        return self.right.size(2) * CELL[0]

    @property
    def high(self) -> float:
        """The height of a head, and of the strip."""
        return len(self.strip) * CELL[1]

    @property
    def deep(self) -> float:
        """The height of all heads, one below the other."""
        return len(self.right) * (self.high + PILE) - PILE


def _check(strip: Tensor, right: Tensor, wrong: Tensor, names: list[str]) -> None:
    _check_sizes(strip, right)
    if len(strip.unique()) != strip.numel():
        raise ValueError("strip must hold each entry once")
    if not right.equal(strip.unflatten(1, (len(right), -1)).transpose(0, 1)):
        raise ValueError("right must hold the strip's columns, head by head")
    same_entries = wrong.shape == right.shape and wrong.unique().equal(
        right.unique()
    )
    if not same_entries or wrong.equal(right):
        rule = "wrong must hold the strip's entries in another order than right"
        raise ValueError(rule)
    if len({name[:1] for name in names}) < len(names) or max(map(len, names)) > 5:
        rule = "names must begin with different letters and have at most 5"
        raise ValueError(f"{rule}; got {', '.join(names)}")


def _check_sizes(strip: Tensor, right: Tensor) -> None:
    fits = (strip.dim(), right.dim()) == (2, 3) and strip.shape == (
        right.size(1),
        len(right) * right.size(2),
    )
    if not fits or not (
        2 <= len(strip) <= 4 and len(right) in (2, 3) and strip.size(1) <= 6
    ):
        rule = "strip (T, H * d) and right (H, T, d) must fit"
        limits = "with T from 2 to 4, H 2 or 3, and H * d up to 6"
        raise ValueError(
            f"{rule}, {limits}; got {tuple(strip.shape)} and {tuple(right.shape)}"
        )


def _told_of_cut(drawn: _Cut) -> list[str]:
    """Say what each head holds."""
    (words, total), heads = drawn.strip.shape, len(drawn.right)
    told = [f"A strip of {words} words and {total} columns becomes {heads} heads"]
    for how, piles in (
        ("Right, cut and then moved", drawn.rightly),
        ("Wrong on purpose, by view at once", drawn.wrongly),
    ):
        for h, pile in enumerate(piles):
            held = _holds(pile, drawn.names, total)
            told.append(f"{how}: head {h + 1} holds {held}")
    return told


def _on_desk(drawn: _Cut) -> Axes:
    ax, top = canvas(WIDE, HEAD + drawn.deep + 36), HEAD + drawn.deep / 2
    wide = drawn.strip.size(1) * CELL[0]
    _strip(ax, (58.0, top - drawn.high / 2), drawn)
    good, bad = (350.0, float(HEAD)), (534.0, float(HEAD))
    _verdicts(ax, (good, bad), drawn)
    middle = good[0] + drawn.wide / 2
    wire(ax, [(58 + wide + 10, top), (middle - 96, top)], width=BOLD_LINE)
    floor, frame = HEAD + drawn.deep + 28, HEAD + drawn.deep + 10
    x = 58 + 0.75 * wide
    way = [(x, top + drawn.high / 2 + 6), (x, floor), (bad[0], floor)]
    wire(ax, [*way, (bad[0], frame)], "wrong", dashed=True)
    return ax


def _on_phone(drawn: _Cut) -> Axes:
    start = 44 + drawn.high + 36 + HEAD  # of the first head
    ax, wide = canvas(312, start + drawn.deep + 14), drawn.strip.size(1) * CELL[0]
    left, end = (312 - wide) / 2, 44 + drawn.high
    _strip(ax, (left, 44.0), drawn)
    good, bad = (54.0, float(start)), (204.0, float(start))
    _verdicts(ax, (good, bad), drawn)
    half = drawn.wide / 2
    for x, role in ((good[0] + half, "ink"), (bad[0] + half, "wrong")):
        x = min(max(x, left + 12), left + wide - 12)
        way = [(x, end + 8), (x, start - HEAD - 2)]
        wire(ax, way, role, width=BOLD_LINE, dashed=role == "wrong")
    return ax


def _strip(ax: Axes, corner: Point, drawn: _Cut) -> None:
    """Draw the strip, with a cut between the columns of two heads."""
    (x, y), (count, total), names = corner, drawn.strip.shape, drawn.names
    titles(ax, [(x + total * CELL[0] / 2, f"strip {shape(drawn.strip)}")], y - 32)
    cells = [[(t, c) for c in range(total)] for t in range(count)]
    _cells(ax, corner, cells, names, names)
    for head in range(len(drawn.right)):
        left = x + head * drawn.wide
        say(ax, (left + drawn.wide / 2, y - 12), f"head {head + 1}", size=SMALL)
        if head:
            ends = [(left, y - 18), (left, y + drawn.high + 8)]
            line(ax, ends, "ink", width=BOLD_LINE, dashed=True)


def _verdicts(ax: Axes, at: Sequence[Point], drawn: _Cut) -> None:
    """Draw the right heads, and the wrong ones in a dashed frame that says so."""
    size = (176 if at[1][0] > 300 else 158, HEAD + drawn.deep + 8)
    middle = at[1][0] + (drawn.wide - 44) / 2
    frame = (middle, at[1][1] - HEAD + size[1] / 2 + 2)
    box(ax, frame, size, "wrong", filled=False, dashed=True, order=1)
    for corner, words in (
        (at[0], ("right", "ink", "cut, then move")),
        (at[1], ("wrong on purpose", "wrong", "view at once")),
    ):
        _verdict(ax, (corner[0] + (drawn.wide - 44) / 2, corner[1]), words, drawn)
    _piles(ax, at[0], drawn, drawn.rightly, drawn.names)
    rows = [f"row {t + 1}" for t in range(len(drawn.names))]
    _piles(ax, at[1], drawn, drawn.wrongly, rows)


def _verdict(ax: Axes, at: Point, words: tuple[str, str, str], drawn: _Cut) -> None:
    (x, y), (verdict, role, how) = at, words
    say(ax, (x, y - 74), verdict, role, bold=True)
    say(ax, (x, y - 56), how)
    say(ax, (x, y - 39), shape(drawn.right), size=SMALL)


def _piles(
    ax: Axes, corner: Point, drawn: _Cut, piles: list[Pile], rows: Sequence[str]
) -> None:
    """Draw heads one below the other."""
    (x, y), middle = corner, corner[0] + (drawn.wide - 44) / 2
    for head, pile in enumerate(piles):
        top = y + head * (drawn.high + PILE)
        text = f"head {head + 1}: {_words(pile, drawn.names)}"
        say(ax, (middle, top - 13), text, size=SMALL)
        _cells(ax, (x, top), pile, rows, drawn.names)


def _cells(
    ax: Axes, corner: Point, cells: Pile, rows: Sequence[str], names: Sequence[str]
) -> None:
    """Draw entries on the ground of their word."""
    (x, y), (w, h) = corner, CELL
    for t, row in enumerate(cells):
        say(ax, (x - 7, y + (t + 0.5) * h), rows[t], align="right", size=SMALL)
        for c, (word, column) in enumerate(row):
            middle = (x + (c + 0.5) * w, y + (t + 0.5) * h)
            text = f"{names[word][0]}{column + 1}"
            box(ax, middle, CELL, f"word-{word}", text, width=1)


def _words(pile: Pile, names: Sequence[str]) -> str:
    """Say whose entries a head holds.

    >>> _words([[(1, 0)], [(0, 0)]], ["a", "b", "c"]), _words([[(0, 0)], [(1, 0)]], ["a", "b"])
    ('a, b only', 'every word')
    """
    held = sorted({word for row in pile for word, _ in row})
    if len(held) == len(names):
        return "every word"
    return f"{', '.join(names[word] for word in held)} only"


def _holds(pile: Pile, names: Sequence[str], total: int) -> str:
    columns = sorted({column for row in pile for _, column in row})
    which = f"columns {', '.join(str(column + 1) for column in columns)}"
    return f"{which if len(columns) < total else 'every column'} of {_words(pile, names)}"
