"""A trained encoder-decoder at work: the word that it reads, its attention maps, what it writes."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, number
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live
from selfattn_book.figures.rounded_weights import rounded

LETTERS = "·abcdefghij"  # the first is the start symbol
MAPS = "encoder self-attention", "decoder self-attention", "cross-attention"
INPUTS = "its own letters", "the true letters", "an ‘a’ each time", "only start symbols"


def reversal_maps(model: nn.Module, source: Tensor, row: int = 0, *, given: int = 0) -> Canvas:
    """Draw how an encoder-decoder, with rounded weights, reverses a word ``(T,)``, letter by letter.

    ``row`` is the letter of the output that is followed. The decoder's input, by ``given``: 0 is what
    the decoder has written so far; 1, the true letters (teacher forcing); 2, the letter a; 3, start
    symbols alone.
    The model has the parts of chapter 12's ``Seq2Seq``.
    """
    model, packed = rounded(model)
    shifted, written, maps = _run(model, source, given)
    word, read, output = ("".join(LETTERS[i] for i in x) for x in (source, shifted, written))
    names = ((word, word), (read, read), (read, word))
    shown = [
        {"rows": rows, "columns": columns, "weights": w.tolist(), "row": row}
        for (rows, columns), w in zip(names, maps, strict=True)
    ]
    shown[0]["row"] = -1
    answers = {"written": output, "right": word[::-1], "row": row}

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        cell, count = (20, len(word)) if narrow else (25, len(word))
        side = cell * count
        xs, ys = ((26, 186, 26), (92, 92, 150 + side)) if narrow else ((26, 218, 410), (92, 92, 92))
        ax = canvas(width, ys[-1] + side + 8)
        ax.note((4, 18), "source", "muted", align="left", bold=True)
        pitch = 40 if narrow else 48
        live(ax, _word, "word", word, at=(60, 18), pitch=pitch)
        for i, (x, y, title) in enumerate(zip(xs, ys, MAPS, strict=True)):
            ax.note((x - 22, y - 34), title, "muted", align="left", bold=True)
            _ground(ax, (x, y), cell, count)
            live(ax, _map, f"map{i}", shown[i], corner=(x, y), cell=cell)
        live(ax, _answers, "answers", answers, at=(xs[2] + side, ys[2]), cell=cell)
        return ax.describe(*_told(word, read, output, maps))

    state = {"word": word, "row": row, "given": given, "model": packed, "inputs": INPUTS}
    return begin(both_widths(draw), "reversal", **state)


def _run(model: nn.Module, source: Tensor, given: int) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Return the decoder's input ``(T,)``, the letters that it writes, and the three maps ``(T, T)``."""
    maps: list[Tensor] = []
    parts = (model.get_submodule(f"{name}_attention") for name in ("encoder", "self", "cross"))
    hooks = [p.register_forward_hook(lambda *call: maps.append(call[2][1][0, 0])) for p in parts]
    shifted = torch.stack([source.flip(0), source.flip(0), 0 * source + 1, 0 * source])[given]
    shifted = torch.cat([0 * source[:1], shifted[:-1]])
    for i in range(1, len(source) if given == 0 else 0):
        shifted[i] = model(source[None], shifted[None, :i])[0][0, -1].argmax()
    maps.clear()
    written = model(source[None], shifted[None])[0][0].argmax(-1)
    for hook in hooks:
        hook.remove()
    return shifted, written, maps


def _told(word: str, read: str, written: str, maps: Sequence[Tensor]) -> list[str]:
    """Say what is read and written, and where each map has the largest weight of each row."""
    message = [f"The source {word}; the decoder reads {read} and writes {written}"]
    for title, rows, columns, weights in zip(
        MAPS, (word, read, read), (word, read, word), maps, strict=True
    ):
        each = (
            f"{letter} to {columns[int(w.argmax())]} {number(float(w.max()))}"
            for letter, w in zip(rows, weights, strict=True)
        )
        message.append(f"Largest weights of the {title}: {', '.join(each)}")
    return message


def _ground(ax: Canvas, corner: Point, cell: float, count: int) -> None:
    """Draw the cells of a map, without their weights."""
    for i, j in product(range(count), range(count)):
        at = (corner[0] + (j + 0.5) * cell, corner[1] + (i + 0.5) * cell)
        ax.box(at, (cell - 1, cell - 1), "residual", width=0)


def _word(ax: Canvas, word: str, at: Point, pitch: float) -> None:
    """Draw the letters of the source."""
    for i, letter in enumerate(word):
        ax.box((at[0] + (i + 0.5) * pitch, at[1]), (pitch - 4, 28), "key", letter, bold=True)


def _map(ax: Canvas, shown: Mapping[str, Any], corner: Point, cell: float) -> None:
    """Draw a map: the area of each square is a weight."""
    (x, y), count = corner, len(shown["columns"])
    for j, letter in enumerate(shown["columns"]):
        ax.say((x + (j + 0.5) * cell, y - 11), letter, "key")
    for i, letter in enumerate(shown["rows"]):
        middle, followed = y + (i + 0.5) * cell, i == shown["row"]
        ax.say((x - 11, middle), letter, "query", bold=followed)
        for j, weight in enumerate(shown["weights"][i]):
            at, size = x + (j + 0.5) * cell, (cell - 4) * weight**0.5
            if weight > 0.0005:
                ax.hbar((at - size / 2, middle), size, "weights", thick=size)
        if followed:
            look: Any = {"filled": False, "width": BOLD_LINE, "order": 5}
            ax.box((x + count * cell / 2, middle), (count * cell, cell), "query", **look)


def _answers(ax: Canvas, shown: Mapping[str, Any], at: Point, cell: float) -> None:
    """Draw what is written beside the rows of the last map, and what is wrong."""
    x, y = at
    ax.note((x + 38, y - 11), "writes", "muted", bold=True)
    for i, (letter, right) in enumerate(zip(shown["written"], shown["right"], strict=True)):
        middle = y + (i + 0.5) * cell
        ax.wire([(x + 4, middle), (x + 24, middle)], "context", width=1)
        role = "context" if letter == right else "wrong"
        look: Any = {"dashed": letter != right, "bold": i == shown["row"]}
        ax.box((x + 38, middle), (cell - 2, cell - 4), role, letter, width=1, **look)
        if letter != right:
            ax.note((x + 56, middle), f"not {right}", "wrong", align="left")
