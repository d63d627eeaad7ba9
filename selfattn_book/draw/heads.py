"""One word that looks twice, and how a strip is cut into heads, beside what one `view` makes of it."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from torch import Tensor

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.draw.canvas import (
    BOLD_LINE,
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
    names: Sequence[str],
    columns: Sequence[str],
    questions: Sequence[str],
    row: int = 0,
) -> Axes:
    r"""Draw a word that looks at all words with two heads, each of which sees one column.

    .. math:: c_h = \sum_j w_{hj}\,x_{jh}, \qquad w_{hj} \propto e^{x_{ih}\,x_{jh}}

    Args:
        x: ``(T, 2)``; a head takes its column for query, key and value; T is 2 to 4.
        names: one per word, of five letters at most.
        columns: what the two columns are called, in eight letters at most.
        questions: what the two heads ask, in twenty letters at most.
        row: which word looks.

    Returns:
        The axes.

    Raises:
        ValueError: the words do not have two columns, or they or what they are called do not fit.

    Example:
        >>> import torch
        >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]])
        >>> asked = ["Where?", "What?"]
        >>> ax = looks_twice(x, ["tree", "rock"], ["outdoors", "alive"], asked)
        >>> print(ax.get_label())
        The word tree looks twice. Head 1, where?, by the column outdoors: weights tree 0.50, rock
        0.50; average 1.00. Head 2, what?, by the column alive: weights tree 0.88, rock 0.12; average
        0.76. Side by side: 1.00, 0.76.
        >>> [text.get_text() for text in ax.texts].count("0.88")
        1
        >>> looks_twice(x[:, :1], ["tree", "rock"], ["outdoors", "alive"], asked)
        Traceback (most recent call last):
        ValueError: x must have shape (T, 2), with T from 2 to 4; got (2, 1)
        >>> looks_twice(x, ["tree", "flower"], ["outdoors", "alive"], asked)
        Traceback (most recent call last):
        ValueError: a name may have at most 5 letters; got 'flower'
    """
    if x.dim() != 2 or x.size(1) != 2 or not 2 <= len(x) <= 4:
        rule = "x must have shape (T, 2), with T from 2 to 4"
        raise ValueError(f"{rule}; got {tuple(x.shape)}")
    names = _called("name", names, len(x), 5)
    columns = _called("column", columns, 2, 8)
    questions = _called("question", questions, 2, 20)
    heads = [scaled_dot_product_attention(*[c] * 3) for c in x.split(1, dim=1)]
    weights = [table[row] for _, table in heads]
    averages = [float(context[row]) for context, _ in heads]
    told = [f"The word {names[row]} looks twice"]
    for h, (asked, column) in enumerate(zip(questions, columns, strict=True)):
        each = zip(names, map(float, weights[h]), strict=True)
        seen = ", ".join(f"{name} {number(weight)}" for name, weight in each)
        told.append(
            f"Head {h + 1}, {asked.lower()}, by the column {column}: weights {seen}; "
            f"average {number(averages[h])}"
        )
    told.append(f"Side by side: {listed(averages)}")

    def draw(width: float) -> Axes:
        phone, count = width == NARROW, len(x)
        step, long = (26, 56) if phone else (32, 150)  # of a row; of a weight of 1
        first = 62 + step / 2
        low = first + (count * step + 76) * phone  # where the bars begin
        ax = canvas(width, low + count * step + 62)
        _two_columns(ax, (56, first), step, x, names, columns, row)
        zeros = (62, 204) if phone else (236, 440)
        for h, zero in enumerate(zeros):
            rows = [low + i * step for i in range(count)]
            middle = zero + long / 2 + 12
            titles(ax, [(middle, f"head {h + 1}")], rows[0] - step / 2 - 46)
            say(ax, (middle, rows[0] - step / 2 - 24), questions[h], size=SMALL)
            for y, name, weight in zip(
                rows, names, weights[h].tolist(), strict=True
            ):
                bar(ax, (zero, y), long * weight, "weights")
                at = (zero + long * weight + 6, y)
                say(ax, at, number(weight), "weights", align="left")
                if phone:
                    say(ax, (zero - 6, y), name, align="right", size=SMALL)
            line(ax, [(zero, rows[0] - 14), (zero, rows[-1] + 14)])
        floor, centre = low + count * step + 38, sum(zeros) / 2 + long / 2 + 12
        vector(ax, (centre - 42, floor), averages, "context", width=BOLD_LINE)
        for zero, side in zip(zeros, (-1, 1), strict=True):
            x0 = zero + long / 2 + 12
            way = [(x0, low + (count - 0.5) * step + 2), (x0, floor)]
            wire(ax, [*way, (centre + 44 * side, floor)], "context")
        middle = low + count * step + 10
        say(ax, (centre, middle), "two averages", "context", size=SMALL, bold=True)
        return tell(ax, *told)

    return for_desk_and_phone(draw)


def _two_columns(
    ax: Axes,
    corner: Point,
    step: float,
    x: Tensor,
    names: Sequence[str],
    columns: Sequence[str],
    row: int,
) -> None:
    """Draw the words with their two columns; the one that looks stands out."""
    (left, first), cell = corner, (62, 24)
    for c, column in enumerate(columns):
        at = (left + (c + 0.5) * cell[0], first - step / 2 - 12)
        say(ax, at, column, size=SMALL)
    for i, (name, entries) in enumerate(zip(names, x, strict=True)):
        role, y = (
            ("query", first + i * step) if i == row else ("key", first + i * step)
        )
        look = {"bold": i == row}
        say(ax, (left - 8, y), name, role, align="right", size=SMALL, **look)
        wide = BOLD_LINE if i == row else 1
        vector(ax, (left, y), entries, role, cell=cell, digits=0, width=wide)


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
    count = len(right)
    places = {int(entry): i for i, entry in enumerate(strip.flatten())}
    cells = [
        [[divmod(places[int(e)], strip.size(1)) for e in row] for row in head]
        for heads in (right, wrong)
        for head in heads
    ]
    piles = {"right": cells[:count], "wrong": cells[count:]}
    told = [
        f"A strip of {len(names)} words and {strip.size(1)} columns becomes {count} heads"
    ]
    for way, how in (
        ("right", "Right, cut and then moved"),
        ("wrong", "Wrong on purpose, by view at once"),
    ):
        for h, pile in enumerate(piles[way]):
            told.append(
                f"{how}: head {h + 1} holds {_holds(pile, names, strip.size(1))}"
            )

    def draw(width: float) -> Axes:
        place = _on_desk if width == WIDE else _on_phone
        return tell(place(strip, right, piles, names), *told)

    return for_desk_and_phone(draw)


Pile = list[
    list[tuple[int, int]]
]  # for each place in a head: the word, and the column


def _check(strip: Tensor, right: Tensor, wrong: Tensor, names: list[str]) -> None:
    sizes = strip.dim(), right.dim()
    fits = sizes == (2, 3) and strip.shape == (
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


def _on_desk(
    strip: Tensor, right: Tensor, piles: dict[str, list[Pile]], names: Sequence[str]
) -> Axes:
    deep = len(right) * (len(strip) * CELL[1] + PILE) - PILE
    ax, top = canvas(WIDE, HEAD + deep + 36), HEAD + deep / 2
    wide, high = strip.size(1) * CELL[0], len(strip) * CELL[1]
    corner = (58.0, top - high / 2)
    _strip(ax, corner, strip, len(right), names)
    good, bad = (350.0, float(HEAD)), (534.0, float(HEAD))
    _verdicts(ax, (good, bad), right, piles, names)
    middle = good[0] + (right.size(2) * CELL[0]) / 2
    wire(ax, [(58 + wide + 10, top), (middle - 96, top)], width=BOLD_LINE)
    floor, frame = HEAD + deep + 28, HEAD + deep + 10
    way = [
        (58 + 0.75 * wide, top + high / 2 + 6),
        (58 + 0.75 * wide, floor),
        (bad[0], floor),
    ]
    wire(ax, [*way, (bad[0], frame)], "wrong", dashed=True)
    return ax


def _on_phone(
    strip: Tensor, right: Tensor, piles: dict[str, list[Pile]], names: Sequence[str]
) -> Axes:
    high = len(strip) * CELL[1]
    start = 44 + high + 36 + HEAD  # of the first head
    deep = len(right) * (high + PILE) - PILE
    ax, wide = canvas(312, start + deep + 14), strip.size(1) * CELL[0]
    left = (312 - wide) / 2
    _strip(ax, (left, 44.0), strip, len(right), names)
    good, bad = (54.0, float(start)), (204.0, float(start))
    _verdicts(ax, (good, bad), right, piles, names)
    half, end = right.size(2) * CELL[0] / 2, 44 + high
    for x, role in ((good[0] + half, "ink"), (bad[0] + half, "wrong")):
        x = min(max(x, left + 12), left + wide - 12)
        way = [(x, end + 8), (x, start - HEAD - 2)]
        wire(ax, way, role, width=BOLD_LINE, dashed=role == "wrong")
    return ax


def _strip(
    ax: Axes, corner: Point, strip: Tensor, heads: int, names: Sequence[str]
) -> None:
    """Draw the strip, with a cut between the columns of two heads."""
    (x, y), (count, total) = corner, strip.shape
    titles(ax, [(x + total * CELL[0] / 2, f"strip {shape(strip)}")], y - 32)
    _cells(
        ax,
        corner,
        [[(t, c) for c in range(total)] for t in range(count)],
        names,
        names,
    )
    wide = total // heads * CELL[0]
    for head in range(heads):
        left = x + head * wide
        say(ax, (left + wide / 2, y - 12), f"head {head + 1}", size=SMALL)
        if head:
            ends = [(left, y - 18), (left, y + count * CELL[1] + 8)]
            line(ax, ends, "ink", width=BOLD_LINE, dashed=True)


def _verdicts(
    ax: Axes,
    at: Sequence[Point],
    right: Tensor,
    piles: dict[str, list[Pile]],
    names: Sequence[str],
) -> None:
    """Draw the right heads, and the wrong ones in a dashed frame that says so."""
    wide = right.size(2) * CELL[0]
    deep = len(right) * (right.size(1) * CELL[1] + PILE) - PILE
    rows = [f"row {t + 1}" for t in range(right.size(1))]
    size = (176 if at[1][0] > 300 else 158, HEAD + deep + 8)
    middle = at[1][0] + (wide - 44) / 2
    frame = (middle, at[1][1] - HEAD + size[1] / 2 + 2)
    box(ax, frame, size, "wrong", filled=False, dashed=True, order=1)
    _piles(
        ax,
        at[0],
        piles["right"],
        names,
        names,
        ("right", "ink", "cut, then move", right),
    )
    words = ("wrong on purpose", "wrong", "view at once", right)
    _piles(ax, at[1], piles["wrong"], rows, names, words)


def _piles(
    ax: Axes,
    corner: Point,
    piles: list[Pile],
    rows: Sequence[str],
    names: Sequence[str],
    words: tuple[str, str, str, Tensor],
) -> None:
    (x, y), (verdict, role, how, right) = corner, words
    wide, high = right.size(2) * CELL[0], right.size(1) * CELL[1]
    middle = x + (wide - 44) / 2
    say(ax, (middle, y - 74), verdict, role, bold=True)
    say(ax, (middle, y - 56), how)
    say(ax, (middle, y - 39), shape(right), size=SMALL)
    for head, pile in enumerate(piles):
        top = y + head * (high + PILE)
        say(
            ax,
            (middle, top - 13),
            f"head {head + 1}: {_words(pile, names)}",
            size=SMALL,
        )
        _cells(ax, (x, top), pile, rows, names)


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
