"""One step of decoding with or without a KV cache: what is computed, what is read, and the work."""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from selfattn_book.draw.canvas import BOLD_LINE, Canvas, Point, both_widths, canvas, listed
from selfattn_book.draw.layout import NARROW
from selfattn_book.draw.live import begin, live

# Pixels: the middle of the queries, the left end of the keys, the width and height of a cell, half an
# input, the middle of the outputs, the wire back to the inputs, and the upper end of the first row.
_Places = namedtuple("_Places", "query left wide high half out back top")
DESK, PHONE = _Places(78, 98, 36, 30, 14, 414, 444, 122), _Places(13, 28, 28, 27, 12, 270, 296, 176)
INPUTS, KEYS, VALUES = -76, -44, -20  # pixels from the first row
EMPTY: Any = {"filled": False, "dashed": True, "width": 1}


def decoding_work(
    points: Tensor,
    weights: Tensor,
    step: int,
    *,
    outputs: Tensor | None = None,
    given: int = 1,
    cached: bool = True,
) -> Canvas:
    """Draw one step of decoding in a self-attention layer, and count keys and scores up to it.

    The points ``(T + 1, 2)`` are the given ones, then the predicted ones; ``weights`` is ``(T, T)``.
    ``outputs`` are the outputs of all rows, ``(T, 2)``, by default the next points.
    Steps count from 1, and the first takes all given points.

    Example:
        >>> import torch
        >>> points = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
        >>> print(decoding_work(points, torch.eye(3), 2, given=2).get_label())
        Step 2 of decoding with a KV cache. 1 point goes in, (1.00, 1.00). Computed: 1 key, 3 scores.
        Read from the cache: 2 keys. (1.00, -1.00) comes out. Computed up to this step: keys 3 cached,
        5 uncached; scores 7 cached, 13 uncached.
    """
    outputs = points[1:] if outputs is None else outputs
    shown = _step(points, outputs, weights, step, given, cached)
    new, t = shown["new"], shown["positions"]
    totals, most = _work(step, given), _work(len(weights) - given + 1, given)[1]
    read = f"Read from the cache: {_counted(t - new, 'key')}" if new < t else ""
    message = [
        f"Step {step} of decoding {'with' if cached else 'without'} a KV cache",
        f"{_go_in(new)}, {', '.join(f'({listed(p)})' for p in points[t - new : t])}",
        f"Computed: {_computed(new, t)}",
        read,
        f"({listed(points[t])}) comes out",
        _so_far(totals),
    ]

    def draw(width: float) -> Canvas:
        narrow = width == NARROW
        at = PHONE if narrow else DESK
        bottom = at.top + at.high * len(weights)
        ax = canvas(width, bottom + (138 if narrow else 6))
        live(ax, _layer, "layer", shown, at=at._asdict())
        title = [_title(step, cached), _go_in(new), f"{_computed(new, t)} computed"]
        live(ax, _lines, "title", title, at=(0, 10) if narrow else (464, 22))
        _name_rows(ax, at, narrow)
        x, y = (0, bottom + 22) if narrow else (464, 112)
        ax.note((x, y), "computed up to this step", "muted", align="left", bold=True)
        for i, (name, role) in enumerate((("keys", "key"), ("scores", "weights"))):
            left, upper = (x + 164 * i, y + 22) if narrow else (x, y + 28 + 76 * i)
            ax.note((left, upper), name, role, align="left", bold=True)
            unit = (46 if narrow else 72) / most[i]
            value = [totals[0][i], totals[1][i], cached]
            live(ax, _bars, name, value, at=(left, upper + 20), unit=unit, role=role)
        _legend(ax, (0, bottom + 108) if narrow else (464, bottom - 46), narrow)
        return ax.describe(*message)

    state: dict[str, Any] = {"points": points, "outputs": outputs, "weights": weights}
    state |= {"given": given, "step": step, "cached": cached}
    return begin(both_widths(draw), "decoding", **state)


def _step(
    points: Tensor, outputs: Tensor, weights: Tensor, step: int, given: int, cached: bool
) -> Mapping[str, Any]:
    """Return the positions up to a step, and how many of them are new, and go in."""
    positions = given + step - 1
    added = given if step == 1 else 1
    unit = float(points.abs().max()) or 1.0
    return {
        "points": (points / unit).tolist(),
        "outputs": (outputs / unit).tolist(),
        "weights": weights.tolist(),
        "positions": positions,
        "added": added,
        "new": added if cached else positions,
    }


def _work(steps: int, given: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return how many keys and scores some steps compute with a cache, and without one.

    >>> _work(4, given=2)
    ((5, 16), (14, 54))
    """
    lengths = range(given, given + steps)
    cached = given + steps - 1, given**2 + sum(lengths[1:])
    return cached, (sum(lengths), sum(t**2 for t in lengths))


def _counted(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _go_in(new: int) -> str:
    return f"{_counted(new, 'point')} {'goes' if new == 1 else 'go'} in"


def _computed(new: int, positions: int) -> str:
    return f"{_counted(new, 'key')}, {_counted(new * positions, 'score')}"


def _title(step: int, cached: bool) -> str:
    """Name a step; with a cache the first is the prefill, and all others are decode steps."""
    return f"Step {step}: {('prefill' if step == 1 else 'decode') if cached else 'whole sequence'}"


def _so_far(totals: Sequence[Sequence[int]]) -> str:
    keys, scores = ("{} cached, {} uncached".format(*both) for both in zip(*totals, strict=True))
    return f"Computed up to this step: keys {keys}; scores {scores}"


def _name_rows(ax: Canvas, at: _Places, narrow: bool) -> None:
    """Name the inputs, keys, values, queries and outputs."""
    top = at.top
    ax.note((at.out, top - 14), "out" if narrow else "outputs", "muted")
    rows = {"in": INPUTS}
    if not narrow:
        rows = {"inputs": INPUTS, "keys": KEYS, "values": VALUES, "queries": at.high / 2}
    for name, down in rows.items():
        ax.note((0, top + down), name, "muted", align="left")


def _legend(ax: Canvas, at: Point, narrow: bool) -> None:
    """Say what the boxes mean."""
    for i, name in enumerate(("computed now", "from the cache", "computed, then masked")):
        x, y = (
            (at[0] + (0, 130, 0)[i], at[1] + (0, 0, 20)[i]) if narrow else (at[0], at[1] + 20 * i)
        )
        if i == 2:
            ax.masked((x + 9, y), (18, 14))
        else:
            ax.box((x + 9, y), (18, 14), "key", filled=i == 0, width=1)
        ax.note((x + 26, y), name, align="left")


def _lines(ax: Canvas, texts: Sequence[str], at: Point) -> None:
    """Write lines of text, the first one bold."""
    for i, text in enumerate(texts):
        ax.say((at[0], at[1] + 20 * i), text, align="left", bold=i == 0)


def _bars(ax: Canvas, value: Sequence[int], at: Point, unit: float, role: str) -> None:
    """Draw what is computed with a cache, and without one; the way that is drawn above is bold."""
    *counts, cached = value
    for i, (name, count) in enumerate(zip(("cached", "uncached"), counts, strict=True)):
        y, bold = at[1] + 19 * i, bool(cached) == (i == 0)
        ax.note((at[0], y), name, align="left", bold=bold)
        ax.hbar((at[0] + 66, y), unit * count, role, thick=11)
        ax.note((at[0] + 71 + unit * count, y), str(count), role, align="left", bold=bold)


def _layer(ax: Canvas, shown: Mapping[str, Any], at: Mapping[str, float]) -> None:
    """Draw inputs, keys and values above a grid of queries by keys, and the outputs beside it."""
    place, t, points = _Places(**at), shown["positions"], shown["points"]
    xs = [place.left + (s + 0.5) * place.wide for s in range(len(shown["weights"]))]
    first, added = t - shown["new"], t - shown["added"]
    for s, x in enumerate(xs):
        status = "later" if s >= t else "kept" if s < first else "again" if s < added else "new"
        _column(ax, x, place, s + 1, status)
        if s <= t:
            role = "context" if s == t else "query" if s >= first else "muted"
            _dot(ax, (x, place.top + INPUTS), place.half, points[s], role)
    for i in range(first, t):
        _row(ax, place, i, xs[:t], shown["weights"][i])
        role = "context" if i == t - 1 else "muted"
        out = (place.out, place.top + (i + 0.5) * place.high)
        width = BOLD_LINE if i == t - 1 else 1
        ax.box(out, (2 * place.half, place.high - 4), role, filled=False, width=width)
        _dot(ax, out, place.half, shown["outputs"][i], role)
    if first:
        at_old = (place.left + 2, place.top + 0.5 * first * place.high)
        ax.note(at_old, "not computed again", "muted", align="left")
    if t < len(xs):
        y, back, up = (
            place.top + (t - 0.5) * place.high,
            place.back,
            place.top + INPUTS - place.half - 14,
        )
        way = [(place.out + place.half, y), (back, y), (back, up), (xs[t], up), (xs[t], up + 13)]
        ax.wire(way, "context", width=2)


def _column(ax: Canvas, x: float, at: _Places, s: int, status: str) -> None:
    """Draw an input with its key and value: new, computed again, kept in the cache, or later."""
    top, size, fresh = at.top, (at.wide - 4, 20), status in ("new", "again")
    frame = (x, top + INPUTS), (2 * at.half, 2 * at.half)
    look: Any = EMPTY if status == "later" else {"filled": False, "width": 1}
    ax.box(*frame, "query" if fresh else "residual", **look)
    look = {"filled": fresh, "bold": status == "new", "width": BOLD_LINE if status == "new" else 1}
    for name, down in (("key", KEYS), ("value", VALUES)):
        if status == "later":
            ax.box((x, top + down), size, "residual", **EMPTY)
        else:
            ax.box((x, top + down), size, name, f"{name[0]}{s}", text_size=13, **look)


def _row(ax: Canvas, at: _Places, i: int, xs: Sequence[float], weights: Sequence[float]) -> None:
    """Draw a query with its weights; keys after its position are masked."""
    y, size = at.top + (i + 0.5) * at.high, (at.wide - 4, at.high - 4)
    ax.box((at.query, y), (at.wide - 6, 20), "query", f"q{i + 1}", text_size=13)
    for s, x in enumerate(xs):
        if s > i:
            ax.masked((x, y), size)
            continue
        ax.box((x, y), size, "weights", width=1)
        long = size[0] - 8
        ax.hbar((x - long / 2, y), long * weights[s], "weights", thick=8)


def _dot(ax: Canvas, at: Point, half: float, point: Sequence[float], role: str) -> None:
    """Draw a point in the square around the origin."""
    place = (at[0] + 0.6 * half * point[0], at[1] - 0.6 * half * point[1])
    ax.disc(place, 3 if role == "muted" else 4, role)
