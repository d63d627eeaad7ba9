"""The cost of attention: keys in pieces, and a bill."""

import math
import weakref

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory
from selfattn_book.exercises.checking.results import Described
from selfattn_book.exercises.checking.views import first, second
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import call

LENGTHS = (4, 1, 6, 3)
SECTION = "cost.html#online-softmax-flashattention"
COLLECTED = "All pieces are collected first."


def case(size=1.0, hidden=False):
    chance = torch.Generator().manual_seed(71)

    def draw(*shape):
        return torch.randn(*shape, generator=chance, dtype=torch.float64)

    pieces = Described([], f"{len(LENGTHS)} pieces")
    for i, n in enumerate(LENGTHS):
        mask = torch.ones(3, n, dtype=torch.bool)
        if hidden:
            mask = draw(3, n) > 0
            mask[0] = False  # this query attends to the null key alone
            mask[1] &= i > 0  # and this one to nothing in the first piece
        # Later keys are longer, so that later scores are higher.
        pieces.append((1.5**i * draw(n, 5), draw(n, 2), mask))
    return [(size * draw(3, 5), pieces)]


@factory
def passing(stream, query, pieces):
    """Return the program that gets the pieces of a list one by one."""
    return stream(query, (tuple(part.clone() for part in piece) for piece in pieces))


def normalized(highest, normalizer, accumulator):
    """Return the context and the logarithm of the denominator, at the end of a pass."""
    return accumulator / normalizer, (highest + normalizer.log())[:, 0]


@factory
def online(
    null_score,
    query,
    pieces,
    *,
    root=0.5,
    null=1,
    keep=(1, 1),
    rise=torch.maximum,
    base=lambda own, higher: higher,
    finish=normalized,
):
    """Return attention in one pass, with sums that shrink by factors to the powers ``keep``."""
    query = query / query.size(-1) ** root
    highest = torch.full_like(query[:, :1], null_score if null else -1e30)
    normalizer, accumulator = null * torch.ones_like(highest), torch.zeros(1)
    for key, value, mask in pieces:
        scores = (query @ key.mT).masked_fill(~mask, -math.inf)
        own = scores.amax(-1, keepdim=True)
        higher = rise(highest, own)
        shrink, lower = (highest - higher).exp(), base(own, higher)
        exponentials = (scores - lower).exp() * (lower - higher).exp()
        normalizer = shrink ** keep[0] * normalizer + exponentials.sum(-1, keepdim=True)
        accumulator = shrink ** keep[1] * accumulator + exponentials @ value
        highest = higher
        del key, value, mask
    return finish(highest, normalizer, accumulator)


@factory
def by_logarithms(null_score, query, pieces):
    mean, log_normalizer = torch.zeros(1), torch.full_like(query[:, 0], null_score)
    for key, value, mask in pieces:
        scores = (query @ key.mT / query.size(-1) ** 0.5).masked_fill(~mask, -math.inf)
        new = torch.logaddexp(log_normalizer, scores.logsumexp(1))
        mean = mean * (log_normalizer - new).exp()[:, None] + (scores - new[:, None]).exp() @ value
        log_normalizer = new
        del key, value, mask, scores
    return mean, log_normalizer


@factory
def letting_go(stream, query, pieces):
    """Return the program that refuses an answer with more than two pieces in memory."""
    refs = []

    def fetched():
        for i, piece in enumerate([*pieces, *pieces]):
            if i >= 2 and refs[i - 2]() is not None:
                reason = f"piece {i - 2} was still in memory when piece {i} was fetched."
                raise RefusedError(Answer("mathematics", reason, COLLECTED))
            key, value, mask = (part.clone() for part in piece)
            refs.append(weakref.ref(key))
            yield key, value, mask
            del key, value, mask

    call(stream, query, fetched())
    if len(refs) < 2 * len(pieces):
        reason = f"it fetched {len(refs)} of {2 * len(pieces)} pieces."
        raise RefusedError(Answer("mathematics", reason))
    return 0, 0


def stream_of(null_score):
    def late(top, normalizer, accumulator):
        return normalized(top, normalizer + math.exp(null_score), accumulator)

    wrong = {
        "The null key was forgotten.": online(null_score, null=0),
        "The null key counts once, not once a piece.": online(null_score, null=len(LENGTHS)),
        "The null key's score is not divided.": online(null_score / 5**0.5),
        "Scores are divided by the root of the dimension.": online(null_score, root=0),
        "By the end the normalizer is relative to the highest score; so must be the null key.": (
            online(null_score, null=0, finish=late)
        ),
        "Only the normalizer has to shrink? The accumulator must, too.": online(
            null_score, keep=(1, 0)
        ),
        "Only the accumulator has to shrink? The normalizer must, too.": online(
            null_score, keep=(0, 1)
        ),
        "Earlier sums must shrink when a higher score comes.": (online(null_score, keep=(0, 0))),
        "This is the last piece alone.": (
            lambda query, pieces: online(null_score, null=0)(query, [*pieces][-1:])
        ),
        "The logarithm is missing.": online(
            null_score,
            finish=lambda m, n, u: (u / n, (m.exp() * n)[:, 0]),
        ),
        "The highest score is missing in the logarithm.": online(
            null_score, finish=lambda m, n, u: (u / n, n.log()[:, 0])
        ),
        "Infinity minus infinity is nan.": (
            online(0, null=math.exp(null_score), rise=lambda highest, own: highest),
            online(null_score, base=lambda own, higher: own),
        ),
        COLLECTED: lambda query, pieces: online(null_score)(query, [*pieces]),
    }
    return Exercise(
        "def stream(query, pieces): ...",
        [
            Question("the context is attention's output", SECTION, 2, first, case),
            Question("the logarithm of the denominator is right", SECTION, 1, second, case),
            checked("hidden pieces are handled", SECTION, 1, *case(hidden=True)),
            checked("large scores are handled", SECTION, 1, *case(1e3)),
            Question("it frees each piece", SECTION, via=letting_go, cases=case),
        ],
        right=online(null_score),
        wrong=wrong,
        unusual={"logarithms": by_logarithms(null_score)},
        gate=0,
        returns=("the context", "the logarithms"),
        via=passing,
    )


def of_bill(numbers):
    width, heads = numbers["d_model"], numbers["heads"]
    length, cached = numbers["length"], numbers["cached"]
    a, b, c, d = numbers["exponentials"]
    early, most = max(a, b), max(a, b, c, d)
    strip, square = 8 * length * width**2, 4 * length**2 * width
    after = (a + b + c + d) / most
    one = math.exp(a - early) + math.exp(b - early)
    right = {
        "layer": strip + square,
        "share": square / (strip + square),
        "table": 2 * heads * length**2,
        "token": 8 * width**2 + 4 * cached * width,
        "takes_over": 4 * width,
        "normalizers": [(a + b) / early, after],
        "shrink": early / most,
    }
    wrong = {
        "Heads are narrow: their number is not in it.": {"layer": strip + heads * square},
        "Every score is followed by a weighted value: twice the square.": {
            "layer": strip + square / 2
        },
        "The output has a projection, too.": {"layer": 3 * strip / 4 + square},
        "These are multiply-adds, and each takes two FLOPs.": {
            "layer": (strip + square) / 2,
            "token": 4 * width**2 + 2 * cached * width,
        },
        "These are the projections alone.": {"layer": strip},
        "This is the other part.": {"share": strip / (strip + square)},
        "This is their quotient, not their part of the whole.": {"share": square / strip},
        "Each head has a separate table.": {"table": 2 * length**2},
        "Each number has two bytes here, not four.": {"table": 4 * heads * length**2},
        "These are numbers, not bytes.": {"table": heads * length**2},
        "The cache keeps the projections of the keys.": {
            "token": 8 * cached * width**2 + 4 * cached * width
        },
        "Each key is used twice: in a score, and in a weighted value.": {
            "token": 8 * width**2 + 2 * cached * width
        },
        "The newest token is projected, too.": {"token": 4 * cached * width},
        "There is a single query, so there is no square.": {
            "token": 8 * width**2 + 4 * cached**2 * width
        },
        "This is a layer without its feed-forward network.": {"takes_over": 2 * width},
        "This is for a hidden dimension of four times the width.": {"takes_over": 6 * width},
        "A feed-forward network has two products.": {"takes_over": 3 * width},
        "These are not relative to the highest score.": {"normalizers": [a + b, a + b + c + d]},
        "The first normalizer did not shrink.": {
            "normalizers": [(a + b) / early, (a + b) / early + (c + d) / most]
        },
        "These are exponentials already.": {
            "normalizers": [
                one,
                one * math.exp(early - most) + math.exp(c - most) + math.exp(d - most),
            ],
            "shrink": math.exp(early - most),
        },
        "It grows this way; the old scale was the smaller one.": {"shrink": most / early},
    }
    return by_hand("bill", "cost.html#counting-flops", right, wrong, points={"normalizers": 2})


def exercises(numbers):
    return [stream_of(numbers["null_score"]), of_bill(numbers)]
