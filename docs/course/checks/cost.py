"""What attention costs: keys that pass by, and a bill."""

import math
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import as_numbers, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.properties.answer import YES, Answer, RefusedError, all_of, equal
from selfattn_book.properties.calls import call

Piece = tuple[Tensor, Tensor, Tensor]
Stream = Callable[..., Any]
QUERIES, WIDTH, WIDE = 3, 5, 2
LENGTHS = (4, 1, 6, 3)
SECTION = "cost.html#a-softmax-that-never-sees-its-whole-row"


def drawn(size: float = 1.0, hidden: bool = False) -> tuple[Tensor, list[Piece]]:
    """Return queries and pieces; some may hide themselves from some queries."""
    chance = torch.Generator().manual_seed(71)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=chance, dtype=torch.float64)

    pieces = []
    for i, n in enumerate(LENGTHS):
        mask = torch.ones(QUERIES, n, dtype=torch.bool)
        if hidden:
            mask = draw(QUERIES, n) > 0
            mask[0] = False  # this query sees nothing but the silent key
            mask[1] &= i > 0  # and this one nothing in the first piece
        # Later keys are longer, so that later scores are higher.
        pieces.append((1.5**i * draw(n, WIDTH), draw(n, WIDE), mask))
    return size * draw(QUERIES, WIDTH), pieces


def whole(pieces: list[Piece]) -> Piece:
    """Return all pieces as one."""
    keys, values, masks = zip(*pieces, strict=True)
    return torch.cat(keys), torch.cat(values), torch.cat(masks, dim=1)


def right(
    query: Tensor,
    pieces: list[Piece],
    silence: float,
    *,
    root: bool = True,
    divided: bool = False,
    silent: int = 1,
) -> tuple[Tensor, Tensor]:
    """Return context and logarithm of the denominator, in one go; or with a mistake."""
    key, value, mask = whole(pieces)
    scale = query.size(-1) ** 0.5
    scores = (query @ key.mT / (scale if root else 1)).masked_fill(~mask, -math.inf)
    c = silence / (scale if divided else 1)
    quiet = torch.full_like(query[:, :1], c).expand(-1, silent)
    log_total = torch.cat([scores, quiet], dim=1).logsumexp(1)
    return (scores - log_total[:, None]).exp() @ value, log_total


def pass_of(
    query: Tensor, pieces: list[Piece], silence: float, *, kind: str
) -> tuple[Tensor, Tensor]:
    """Return what one pass with a mistake in it makes."""
    query = query / query.size(-1) ** 0.5
    highest = torch.full_like(query[:, :1], silence)
    total = torch.ones_like(highest)
    mixture = torch.zeros(len(query), pieces[0][1].size(1), dtype=query.dtype)
    for key, value, mask in pieces:
        scores = (query @ key.mT).masked_fill(~mask, -math.inf)
        higher = torch.maximum(highest, scores.amax(-1, keepdim=True))
        shrink, shares = (highest - higher).exp(), (scores - higher).exp()
        of_total = torch.ones_like(shrink) if "total" in kind else shrink
        of_mixture = torch.ones_like(shrink) if "mixture" in kind else shrink
        if kind == "last":
            total, mixture = 0 * total, 0 * mixture
        total = of_total * total + shares.sum(-1, keepdim=True)
        mixture = of_mixture * mixture + shares @ value
        highest = higher
    return mixture / total, (highest + total.log())[:, 0]


def mistakes(
    silence: float,
) -> list[tuple[str, Callable[..., tuple[Tensor, Tensor]]]]:
    """Return misconceptions, each with what follows from it."""

    def bare(query: Tensor, pieces: list[Piece]) -> tuple[Tensor, Tensor]:
        context, log_total = right(query, pieces, silence)
        return context, log_total.exp()

    def late(query: Tensor, pieces: list[Piece]) -> tuple[Tensor, Tensor]:
        key, value, mask = whole(pieces)
        scores = query @ key.mT / query.size(-1) ** 0.5
        scores = scores.masked_fill(~mask, -math.inf)
        highest = scores.amax(1, keepdim=True)
        shares = (scores - highest).exp()
        total = shares.sum(1, keepdim=True) + math.exp(silence)
        return shares @ value / total, (highest + total.log())[:, 0]

    def relative(query: Tensor, pieces: list[Piece]) -> tuple[Tensor, Tensor]:
        key, _, mask = whole(pieces)
        context, log_total = right(query, pieces, silence)
        scores = query @ key.mT / query.size(-1) ** 0.5
        highest = scores.masked_fill(~mask, -math.inf).amax(1)
        return context, log_total - highest.clamp(min=silence)

    both = partial(pass_of, silence=silence)
    times = partial(right, silence=silence)
    return [
        ("The silent key was forgotten.", partial(times, silent=0)),
        ("The silent key counts once, not once a piece.", partial(times, silent=4)),
        ("The silent key's score is not divided.", partial(times, divided=True)),
        (
            "Scores are divided by the root of the width.",
            partial(times, root=False),
        ),
        (
            "By the end the total is relative to the highest score; so must be the silent key.",
            late,
        ),
        (
            "Only the total has to shrink? The mixture must, too.",
            partial(both, kind="mixture"),
        ),
        (
            "Only the mixture has to shrink? The total must, too.",
            partial(both, kind="total"),
        ),
        (
            "What was gathered before must shrink when a higher score comes.",
            partial(both, kind="total mixture"),
        ),
        ("This is the last piece alone.", partial(both, kind="last")),
        ("The logarithm is missing.", bare),
        ("The highest score is missing in the logarithm.", relative),
    ]


def streamed(stream: Stream, query: Tensor, pieces: list[Piece]) -> tuple[Tensor, Tensor]:
    """Return what an answer makes of pieces that pass by, if it may be such a thing."""
    passing = (tuple(part.clone() for part in piece) for piece in pieces)
    made = call(stream, query.clone(), passing)
    if not isinstance(made, tuple | list) or len(made) != 2:
        got = "None" if made is None else type(made).__name__
        message = "it must return the context and a logarithm for each query"
        raise RefusedError(Answer("missing", f"{message}; got {got}."))
    found = (
        as_numbers(made[0], "the context"),
        as_numbers(made[1], "the logarithms"),
    )
    shapes = (len(query), pieces[0][1].size(1)), (len(query),)
    for name, own, shape in zip(("context", "logarithms"), found, shapes, strict=True):
        if tuple(own.shape) != shape:
            message = f"the {name} must have shape {shape}; got {tuple(own.shape)}."
            raise RefusedError(Answer("shape", message))
    return found


def asks(
    silence: float, part: int, *, size: float = 1.0, hidden: bool = False
) -> Callable[[Stream], Answer]:
    """Ask for the context, or for the logarithms."""

    def ask(stream: Stream) -> Answer:
        query, pieces = drawn(size, hidden)
        found = streamed(stream, query, pieces)[part]
        wanted = right(query, pieces, silence)[part]
        slack = 1e-4 * (1 + float(wanted.abs().max()))
        if equal(found, wanted, slack):
            return YES
        gaps = (found - wanted).abs().nan_to_num(nan=math.inf)
        gap = float(gaps.max())
        name = ("the context", "the logarithm of the denominator")[part]
        no = Answer("mathematics", f"{name} is off by up to {gap:.3g}.")

        def explains(mistake: Callable[..., tuple[Tensor, Tensor]]) -> bool:
            return equal(found, mistake(query, pieces)[part], slack)

        likely = ((message, partial(explains, other)) for message, other in mistakes(silence))
        lost = ("Infinity met infinity: nan.", lambda: bool(found.isnan().any()))
        return no.because(*likely, lost)

    return ask


def lets_go(stream: Stream) -> Answer:
    """Ask whether a piece is free when the one after the next is fetched."""
    query, pieces = drawn()
    refs: list[weakref.ref[Tensor]] = []
    kept: list[int] = []

    def passing() -> Iterator[Piece]:
        for i, piece in enumerate([*pieces, *pieces]):
            if i >= 2 and refs[i - 2]() is not None:
                kept.append(i - 2)
            key, value, mask = (part.clone() for part in piece)
            refs.append(weakref.ref(key))
            yield key, value, mask
            del key, value, mask

    call(stream, query, passing())
    if len(refs) < 2 * len(pieces):
        message = f"it fetched {len(refs)} of {2 * len(pieces)} pieces."
        return Answer("mathematics", message)
    if not kept:
        return YES
    message = f"piece {kept[0]} was still in memory when piece {kept[0] + 2} was fetched."
    return Answer("mathematics", message, "All pieces are collected first.")


def of_stream(silence: float) -> list[Asked]:
    """Return what is asked of a stream."""

    def large(stream: Stream) -> Answer:
        return all_of(asks(silence, part, size=1e3)(stream) for part in (0, 1))

    def blind(stream: Stream) -> Answer:
        return all_of(asks(silence, part, hidden=True)(stream) for part in (0, 1))

    return [
        Asked("the context is that of attention", asks(silence, 0), SECTION, 2),
        Asked("the logarithm is that of the denominator", asks(silence, 1), SECTION, 1),
        Asked("hidden pieces do no harm", blind, SECTION, 1),
        Asked("large scores do no harm", large, SECTION, 1),
        Asked("it lets each piece go", lets_go, SECTION, 1),
    ]


def of_bill(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a bill."""
    width, heads = numbers["d_model"], numbers["heads"]
    length, cached = numbers["length"], numbers["cached"]
    a, b, c, d = numbers["likes"]
    first, most = max(a, b), max(a, b, c, d)
    strip, square = 4 * length * width**2, 2 * length**2 * width
    after = (a + b + c + d) / most
    wanted = {
        "layer": strip + square,
        "share": square / (strip + square),
        "table": 2 * heads * length**2,
        "token": 4 * width**2 + 2 * cached * width,
        "takes_over": 4 * width,
        "totals": [(a + b) / first, after],
        "shrink": first / most,
    }
    one = math.exp(a - first) + math.exp(b - first)
    wrong = {
        "layer": {
            "Heads are narrow: their number is not in it.": strip + heads * square,
            "Every score is followed by a weighted value: twice the square.": (strip + square / 2),
            "The output has a projection, too.": 3 * strip / 4 + square,
            "These are the projections alone.": strip,
        },
        "share": {
            "This is the other part.": strip / (strip + square),
            "This is their quotient, not the share of the whole.": square / strip,
        },
        "table": {
            "Each head has a table of its own.": 2 * length**2,
            "Each number has two bytes here, not four.": 4 * heads * length**2,
            "These are numbers, not bytes.": heads * length**2,
        },
        "token": {
            "The cache keeps the projections of the keys.": (
                4 * cached * width**2 + 2 * cached * width
            ),
            "Each key is met twice: in a score, and in a weighted value.": (
                4 * width**2 + cached * width
            ),
            "The newest token is projected, too.": 2 * cached * width,
            "A single query asks, so there is no square.": (4 * width**2 + 2 * cached**2 * width),
        },
        "takes_over": {
            "This is a layer without its feed-forward part.": 2 * width,
            "This is for a feed-forward part of four times the width.": 6 * width,
            "It goes there and back: two products.": 3 * width,
        },
        "totals": {
            "These are not relative to the highest score.": [a + b, a + b + c + d],
            "The first total did not shrink.": [
                (a + b) / first,
                (a + b) / first + (c + d) / most,
            ],
            "The likes are exponentials already.": [
                one,
                one * math.exp(first - most) + math.exp(c - most) + math.exp(d - most),
            ],
        },
        "shrink": {
            "It grows this way; the old scale was the smaller one.": most / first,
            "The likes are exponentials already.": math.exp(first - most),
        },
    }
    return gives(wanted, wrong, "cost.html#count-before-you-time", points={"totals": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    asked = of_stream(numbers["silence"])
    return [
        Exercise("stream", "def stream(query, pieces): ...", asked),
        Exercise("bill", "def bill(): ...", of_bill(numbers)),
    ]
