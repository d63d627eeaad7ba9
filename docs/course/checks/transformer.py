"""The full Transformer: from sentences to a batch, and a Transformer on paper."""

import math

import torch
from torch import Tensor

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import Exercise, checked, factory
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import missing

PARTS = "source", "mask", "fed", "asked"
TEXTS = [
    ([[5, 3, 8], [4, 4, 9, 2, 7]], [[6, 6, 1, 2], [3]]),
    ([[11, 12]], [[13, 14, 15]]),
    ([[1], [2, 3], [4, 5, 6, 7], [8]], [[9, 8], [7], [6, 5], [4, 3, 2, 1, 9]]),
]


def padded(rows, before=False):
    longest = max(map(len, rows))
    fill = [[0] * (longest - len(row)) for row in rows]
    pairs = zip(rows, fill, strict=True)
    return torch.tensor([more + row if before else row + more for row, more in pairs])


@factory
def batch(source, fed, asked, sources, targets, *, before=False):
    """Return the program that puts these tokens around each row, and pads the rows."""
    lengths = torch.tensor([len(row) for row in sources])
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    one, two, three = (
        padded([[*first, *row, *last] for row in rows], before)
        for rows, (first, last) in ((sources, source), (targets, fed), (targets, asked))
    )
    return one, mask[:, None, None], two, three


@factory
def then(program, part, change, *rows):
    parts = zip(PARTS, program(*rows), strict=True)
    return tuple(change(x) if name == part else x for name, x in parts)


@factory
def part_of(program, sources, targets, name):
    parts = program(sources, targets)
    if not isinstance(parts, tuple | list) or len(parts) != len(PARTS):
        raise RefusedError(missing("return source, mask, fed and asked", parts))
    part = parts[PARTS.index(name)]
    if isinstance(part, Tensor) and part.is_floating_point():
        wanted = "boolean" if name == "mask" else "made of integers"
        got = str(part.dtype).removeprefix("torch.")
        raise RefusedError(Answer("dtype", f"{name} is {wanted}; got {got}."))
    return tensor_of(part, name)


def on_paper(numbers):
    d, n = numbers["width"], numbers["blocks"]
    source, target = numbers["source_tokens"], numbers["target_tokens"]
    ways, share = numbers["ways"], numbers["share"] / 100
    layer, network = 4 * (d * d + d), 8 * d * d + 5 * d
    right = {
        "tables": d * (source + 2 * target),
        "attention": 3 * n * layer,
        "networks": 2 * n * network,
        "fewer": d * target,
        "logit": math.sqrt(d),
        "floor": share * math.log(ways),
    }
    wrong = {
        "The unembedding is a table, too.": {"tables": d * (source + target)},
        "The sources have no unembedding.": {"tables": 2 * d * (source + target)},
        "The cross-attention was forgotten.": {"attention": 2 * n * layer},
        "These are those of one pair of blocks.": {"attention": 3 * layer, "networks": 2 * network},
        "The output layer was forgotten.": {"attention": 3 * n * 3 * (d * d + d)},
        "The decoder has feed-forward networks, too.": {"networks": n * network},
        "The table of the sources stays.": {"fewer": d * (source + target)},
        "It is the table of the targets that serves twice.": {"fewer": d * source},
        "Random signs cancel for the most part.": {"logit": d},
        "This is the size with a table of variance 1/D.": {"logit": 1},
        "Only a part of the sources has several answers.": {"floor": math.log(ways)},
        "No model can know which of the answers comes.": {"floor": 0},
        "The best probability is one of the number of ways; its logarithm is lost.": {
            "floor": share * (1 - 1 / ways)
        },
        "Nats are logarithms to base e.": {"floor": share * math.log2(ways)},
    }
    return by_hand("on_paper", "transformer-deeper.html#where-the-parameters-are", right, wrong)


def exercises(numbers):
    start, end = numbers["start"], numbers["end"]
    words, first, last, both = ([], []), ([start], []), ([], [end]), ([start], [end])

    def asked(message, part, points, section):
        cases = [(*rows, part) for rows in TEXTS]
        return checked(message, f"transformer.html#{section}", points, *cases)

    vectors, clock = "token-embedding-and-unembedding", "the-task-two-ways-to-tell-the-time"
    wrong = {
        "The padding is in front; it must be at the end.": batch(words, first, last, before=True),
        "A source has no end token here.": batch(last, first, last),
        "A source has no start token here.": batch(first, first, last),
        "True was taken to mean hidden.": (
            then(batch(words, first, last), "mask", torch.logical_not)
        ),
        "Start and end are both in it: it is one position too long.": batch(words, both, both),
        "Nothing is shifted: the decoder's input is its target.": batch(words, last, last),
        "Nothing is shifted: the decoder's target is its input.": batch(words, first, first),
        "The start token is missing.": batch(words, words, last),
        "The end token is missing.": batch(words, first, words),
        "The end token is after the padding; it must be after the last word.": then(
            batch(words, first, words),
            "asked",
            lambda x: torch.cat([x, torch.full_like(x[:, :1], end)], dim=1),
        ),
        "Start and end are exchanged.": batch(words, ([end], []), ([], [start])),
    }
    exercise = Exercise(
        "def batch(sources, targets): ...",
        [
            asked("the sources are padded", "source", 1, clock),
            asked("the mask is True where a position may be attended to", "mask", 2, clock),
            asked("the decoder input is the start, then the words", "fed", 2, vectors),
            asked("the target is the words, then the end", "asked", 2, vectors),
        ],
        right=batch(words, first, last),
        wrong=wrong,
        gate=2,
        returns="the tensor",
        via=part_of,
    )
    return [exercise, on_paper(numbers)]
