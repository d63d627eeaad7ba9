"""A whole Transformer: from sentences to a batch, and a Transformer on paper."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.properties.answer import YES, Answer, RefusedError, all_of
from selfattn_book.properties.calls import call, missing

Rows = list[list[int]]
CASES: list[tuple[Rows, Rows]] = [
    ([[5, 3, 8], [4, 4, 9, 2, 7]], [[6, 6, 1, 2], [3]]),
    ([[11, 12]], [[13, 14, 15]]),
    ([[1], [2, 3], [4, 5, 6, 7], [8]], [[9, 8], [7], [6, 5], [4, 3, 2, 1, 9]]),
]
PARTS = "source", "mask", "fed", "asked"


def padded(rows: Rows, *, before: bool = False) -> Tensor:
    """Return rows of one length, padded with 0."""
    longest = max(map(len, rows))
    fill = [[0] * (longest - len(row)) for row in rows]
    pairs = zip(rows, fill, strict=True)
    return torch.tensor([more + row if before else row + more for row, more in pairs])


def right(sources: Rows, targets: Rows, numbers: dict[str, Any]) -> dict[str, Tensor]:
    """Return the right tensors by name."""
    lengths = torch.tensor([len(row) for row in sources])
    seen = torch.arange(int(lengths.max())) < lengths[:, None]
    return {
        "source": padded(sources),
        "mask": seen[:, None, None],
        "fed": padded([[numbers["start"], *row] for row in targets]),
        "asked": padded([[*row, numbers["end"]] for row in targets]),
    }


def mistakes(sources: Rows, targets: Rows, numbers: dict[str, Any]) -> dict[str, dict[str, Tensor]]:
    """Return by name what likely mistakes make, each with its sentence."""
    start, end = numbers["start"], numbers["end"]
    good, words = right(sources, targets, numbers), padded(targets)
    column = torch.full_like(words[:, :1], end)
    both = padded([[start, *row, end] for row in targets])
    left = "The padding stands in front; it belongs behind."
    long = "Start and end are both in it: it is one place too long."
    return {
        "source": {
            left: padded(sources, before=True),
            "A source has no end token here.": padded([[*row, end] for row in sources]),
            "A source has no start token here.": padded([[start, *row] for row in sources]),
        },
        "mask": {"True was taken to mean hidden.": ~good["mask"]},
        "fed": {
            left: padded([[start, *row] for row in targets], before=True),
            long: both,
            "Nothing is shifted: it is fed what it is asked for.": good["asked"],
            "The start token is missing.": words,
            "Start and end are exchanged.": padded([[end, *row] for row in targets]),
        },
        "asked": {
            left: padded([[*row, end] for row in targets], before=True),
            long: both,
            "Nothing is shifted: it is asked for what it is fed.": good["fed"],
            "The end token is missing.": words,
            "The end stands behind the padding; it belongs behind the last word.": (
                torch.cat([words, column], dim=1)
            ),
            "Start and end are exchanged.": padded([[*row, start] for row in targets]),
        },
    }


def made(batch: Callable[..., Any], sources: Rows, targets: Rows) -> dict[str, Tensor]:
    """Return what an answer makes, by name."""
    given = [[list(row) for row in rows] for rows in (sources, targets)]
    came: Any = call(batch, *given)
    if not isinstance(came, tuple | list) or len(came) != 4:
        raise RefusedError(missing("return source, mask, fed and asked", came))
    found = dict(zip(PARTS, map(torch.as_tensor, came), strict=True))
    for name, tensor in found.items():
        is_mask = name == "mask"
        wanted = "boolean" if is_mask else "made of integers"
        fits = tensor.dtype == torch.bool if is_mask else not tensor.is_floating_point()
        if not fits or (not is_mask and tensor.dtype == torch.bool):
            kind = str(tensor.dtype).removeprefix("torch.")
            raise RefusedError(Answer("dtype", f"{name} is {wanted}; got {kind}."))
    return found


def has(name: str, numbers: dict[str, Any]) -> Callable[..., Answer]:
    """Ask for one of the four tensors."""

    def same(one: Tensor, other: Tensor) -> bool:
        return one.shape == other.shape and torch.equal(one, other.to(one.dtype))

    def ask(batch: Callable[..., Any]) -> Answer:
        def one(case: tuple[Rows, Rows]) -> Answer:
            got, wanted = made(batch, *case)[name], right(*case, numbers)[name]
            if same(got, wanted):
                return YES
            rows = f"for sources {case[0]} and targets {case[1]}"
            if got.shape != wanted.shape:
                message = f"{rows}, {name} must have shape {tuple(wanted.shape)}"
                return Answer("shape", f"{message}; got {tuple(got.shape)}.")
            row = int((got != wanted).flatten(1).any(1).nonzero()[0])
            message = f"{rows}, row {row} of {name} is {got[row].flatten().tolist()}"
            return Answer("mathematics", f"{message}, which is not right.")

        def explains(message: str) -> bool:
            return all(
                same(made(batch, *case)[name], mistakes(*case, numbers)[name][message])
                for case in CASES
            )

        likely = mistakes(*CASES[0], numbers)[name]
        return all_of(map(one, CASES)).because(
            *((message, partial(explains, message)) for message in likely)
        )

    return ask


def asks(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a batch."""
    vectors = "transformer.html#from-tokens-to-vectors-and-back"
    clock = "transformer.html#two-ways-to-tell-the-time"
    message = {
        "source": ("the sources are padded", clock, 1),
        "mask": ("the mask shows what may be seen", clock, 2),
        "fed": ("the decoder is fed the start, then the words", vectors, 2),
        "asked": ("it is asked for the words, then the end", vectors, 2),
    }
    return [
        Asked(rule, has(name, numbers), section, points=points)
        for name, (rule, section, points) in message.items()
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a Transformer on paper."""
    d, n = numbers["width"], numbers["blocks"]
    source, target = numbers["source_tokens"], numbers["target_tokens"]
    ways, share = numbers["ways"], numbers["share"] / 100
    layer, network = 4 * (d * d + d), 8 * d * d + 5 * d
    wanted = {
        "tables": d * (source + 2 * target),
        "attention": 3 * n * layer,
        "networks": 2 * n * network,
        "fewer": d * target,
        "logit": math.sqrt(d),
        "floor": share * math.log(ways),
    }
    wrong: dict[str, dict[str, Any]] = {
        "tables": {
            "The unembedding is a table, too.": d * (source + target),
            "The sources have no unembedding.": 2 * d * (source + target),
        },
        "attention": {
            "The cross-attention was forgotten.": 2 * n * layer,
            "These are those of one pair of blocks.": 3 * layer,
            "The output layer was forgotten.": 3 * n * 3 * (d * d + d),
        },
        "networks": {
            "The decoder has small networks, too.": n * network,
            "These are those of one pair of blocks.": 2 * network,
        },
        "fewer": {
            "The table of the sources stays.": d * (source + target),
            "It is the table of the targets that serves twice.": d * source,
        },
        "logit": {
            "Random signs cancel for the most part.": d,
            "This is the size with a table of variance 1/D.": 1,
        },
        "floor": {
            "Only a part of the sources has several answers.": math.log(ways),
            "No model knows which of the answers comes.": 0,
            "The best probability is one of the number of ways; its logarithm is lost.": (
                share * (1 - 1 / ways)
            ),
            "Nats are logarithms to base e.": share * math.log2(ways),
        },
    }
    return gives(wanted, wrong, "transformer.html#where-the-parameters-are")


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise("batch", "def batch(sources, targets): ...", asks(numbers)),
        Exercise("on_paper", "def on_paper(): ...", on_paper(numbers)),
    ]
