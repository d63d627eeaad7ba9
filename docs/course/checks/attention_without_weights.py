"""Attention without weights: listen to the others."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.asking import agrees
from selfattn_book.course.exercise import Asked, Exercise

Weigh = Callable[[Tensor], Tensor]


def words(seed: int, length: int, width: int, size: float = 1.0) -> tuple[Tensor]:
    """Return random words."""
    chance = torch.Generator().manual_seed(seed)
    return (
        size * torch.randn(length, width, generator=chance, dtype=torch.float64),
    )


def scores(x: Tensor) -> Tensor:
    """Return the scores of all pairs."""
    return x @ x.T / x.size(1) ** 0.5


def own(s: Tensor) -> Tensor:
    """Return where a word meets itself."""
    return torch.eye(len(s), dtype=torch.bool)


def right(s: Tensor) -> Tensor:
    """Return the weights of the others."""
    return s.masked_fill(own(s), -torch.inf).softmax(-1)


def asks(keep: float) -> list[Asked]:
    """Return what is asked."""

    def with_weights(weigh: Weigh, share: float = keep) -> Weigh:
        def listen(x: Tensor) -> Tensor:
            if len(x) == 1:
                return x
            return share * x + (1 - share) * weigh(scores(x)) @ x

        return listen

    def late(s: Tensor) -> Tensor:
        return s.softmax(-1).masked_fill(own(s), 0)

    wrong = [
        (
            "Each word still listens to itself.",
            with_weights(lambda s: s.softmax(-1)),
        ),
        (
            "A score of 0 hides nothing: its exponential is 1.",
            with_weights(lambda s: s.masked_fill(own(s), 0).softmax(-1)),
        ),
        ("The weights of the others do not sum to one.", with_weights(late)),
        ("The two shares are exchanged.", with_weights(right, 1 - keep)),
        ("The share that a word keeps is missing.", with_weights(right, 0.0)),
        (
            "The share of the others is not 1 minus what is kept.",
            lambda x: keep * x + right(scores(x)) @ x,
        ),
        (
            "The divisor is missing.",
            lambda x: keep * x + (1 - keep) * right(x @ x.T) @ x,
        ),
        (
            "The divisor is the root of the width.",
            lambda x: keep * x + (1 - keep) * right(x @ x.T / x.size(1)) @ x,
        ),
        (
            "The divisor counts words, not the width.",
            lambda x: keep * x + (1 - keep) * right(x @ x.T / len(x) ** 0.5) @ x,
        ),
        (
            "The shares sum to one along the columns; a row asks.",
            with_weights(lambda s: s.masked_fill(own(s), -torch.inf).softmax(0)),
        ),
        (
            "This is the plain mean of the others.",
            with_weights(lambda s: right(torch.zeros_like(s))),
        ),
    ]
    equation = "attention-without-weights.html#the-equation"
    by_hand = "attention-without-weights.html#four-words-by-hand"
    good = with_weights(right)
    two, more = [words(1, 2, 3)], [words(2, 5, 3), words(3, 4, 7)]
    large = [words(4, 6, 2, 4.0)]
    alone = [words(5, 1, 3)]
    return [
        Asked(
            "two words listen to each other alone",
            agrees(good, two, *wrong),
            by_hand,
            2,
        ),
        Asked(
            "more words share by their scores",
            agrees(good, more, *wrong),
            equation,
            2,
        ),
        Asked(
            "so they do where scores are large",
            agrees(good, large, *wrong),
            equation,
        ),
        Asked("a word alone stays as it is", agrees(good, alone, *wrong), by_hand),
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [Exercise("listen", "def listen(X): ...", asks(numbers["keep"]))]
