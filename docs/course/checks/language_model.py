"""A language model: the bits of an answer, and a next word on paper."""

import math
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise

CHARACTERS = torch.tensor([1, 2, 3, 5, 4, 2, 1])
Case = tuple[Tensor, Tensor, Tensor]


def case(*tokens: int, seed: int, characters: Tensor = CHARACTERS) -> Case:
    """Return logits that are drawn, with tokens and the characters of the vocabulary."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(len(tokens), 7, generator=generator)
    return logits, torch.tensor(tokens), characters


ONES = torch.ones(7, dtype=torch.int64)
CASES: dict[str, list[Case]] = {
    "short": [case(0, 3, 1, 6, 4, 2, seed=1, characters=ONES)],
    "lengths": [case(0, 3, 1, 6, 4, 2, seed=1), case(5, 5, 2, 0, 3, seed=2)],
    "long": [case(*(3 * i % 7 for i in range(20)), seed=3)],
    "same": [case(4, 4, 4, 4, 4, 4, 4, seed=4)],
}


def measured(
    prompt: int,
    *,
    shift: int = 1,
    leave: int = 0,
    unit: float = math.log(2),
    per: str = "characters of the answer",
) -> Function:
    """Return a measure of an answer, right unless told otherwise.

    Args:
        prompt: tokens of the question.
        shift: how many places before a token it is foretold.
        leave: how many tokens of the answer are left out.
        unit: nats in one unit.
        per: what the surprise is divided by.
    """

    def of(logits: Tensor, tokens: Tensor, characters: Tensor) -> Tensor:
        first = prompt + leave
        answer = tokens[first:]
        said = logits[first - shift : len(tokens) - shift].double().log_softmax(-1)
        nats = -said.gather(1, answer[:, None]).sum()
        divisors = {
            "characters of the answer": characters[answer].sum(),
            "all characters": characters[tokens].sum(),
            "tokens": torch.tensor(len(answer)),
            "nothing": torch.tensor(1),
        }
        return nats / divisors[per] / unit

    return of


def mistakes(prompt: int) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    return [
        ("These are nats, not bits.", measured(prompt, unit=1.0)),
        (
            "A place foretells the token behind it, and not its own.",
            measured(prompt, shift=0),
        ),
        (
            "The first token of the answer is left out: the question foretells it.",
            measured(prompt, leave=1),
        ),
        (
            "It is a mean over tokens, and not over characters.",
            measured(prompt, per="tokens"),
        ),
        (
            "The surprise is not divided by anything.",
            measured(prompt, per="nothing"),
        ),
        (
            "The characters of the question were counted, too.",
            measured(prompt, per="all characters"),
        ),
        ("The question itself was measured.", measured(1)),
        ("The question is one token longer.", measured(prompt - 1)),
    ]


def asks(prompt: int) -> list[Asked]:
    """Return what is asked of a measure."""
    right, wrong = measured(prompt), mistakes(prompt)
    section = "language-model.html#how-surprised-is-it"

    def asked(message: str, name: str, points: int) -> Asked:
        return Asked(message, agrees(right, CASES[name], *wrong), section, points)

    return [
        asked("tokens of one character", "short", 2),
        asked("tokens of several lengths", "lengths", 2),
        asked("a longer answer", "long", 1),
        asked("one token again and again", "same", 1),
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a next word on paper."""
    a, b, c, d = numbers["likes"]
    seen, kinds = numbers["seen"], numbers["kinds"]
    hits, shorter = numbers["hits"], 1 / numbers["shorter"]
    total, squares = a + b + c + d, a**2 + b**2 + c**2 + d**2
    roots = sum(like**0.5 for like in (a, b, c, d))
    wanted = {
        "first": a / total,
        "cold": a**2 / squares,
        "two": a / (a + b),
        "bits": math.log2(total / d),
        "counted": (hits + kinds * shorter) / (seen + kinds),
    }
    wrong = {
        "first": {"It is divided by the others, and not by all.": a / (b + c + d)},
        "cold": {
            "The likes were taken to the power 1/2: this is hot, and not cold.": a**0.5 / roots,
            "The temperature makes no difference.": a / total,
            "The share itself was squared, and not shared out again.": (a / total) ** 2,
        },
        "two": {
            "What is left must be divided by its sum.": a / total,
            "Three are left.": a / (a + b + c),
        },
        "bits": {
            "These are nats.": math.log(total / d),
            "This is the surprise at the first word.": math.log2(total / a),
        },
        "counted": {
            "This is the count alone: the shorter history has its share.": hits / seen,
            "The kinds are missing below.": (hits + kinds * shorter) / seen,
            "The shorter history is weighed by 1, and not by the kinds.": (hits + shorter)
            / (seen + 1),
        },
    }
    section = "language-model.html#it-writes"
    return gives(wanted, wrong, section, points={"cold": 2, "counted": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def bits_of_answer(logits, tokens, characters): ..."
    return [
        Exercise("bits_of_answer", stub, asks(numbers["prompt"])),
        Exercise("next_word", "def next_word(): ...", on_paper(numbers)),
    ]
