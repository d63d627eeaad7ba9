"""Many heads: heads that share."""

from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.asking import Function, agrees
from selfattn_book.course.exercise import Asked, Exercise

Case = tuple[Tensor, Tensor, Tensor]


def case(seed: int, batch: int, heads: int, groups: int) -> Case:
    """Return queries, keys and values whose sizes all differ."""
    chance = torch.Generator().manual_seed(seed)
    shapes = ((heads, 3, 7), (groups, 5, 7), (groups, 5, 2))
    return tuple(  # type: ignore[return-value]
        torch.randn(batch, *shape, generator=chance, dtype=torch.float64)
        for shape in shapes
    )


def neighbours(x: Tensor, times: int) -> Tensor:
    """Give each head to so many heads that follow each other."""
    return x.repeat_interleave(times, dim=1)


def in_turn(x: Tensor, times: int) -> Tensor:
    """Give the heads one after the other, and begin again."""
    return x.repeat(1, times, 1, 1)


def first(x: Tensor, times: int) -> Tensor:
    """Give the first head to all."""
    return x[:, :1].expand(-1, times * x.size(1), -1, -1)


def averaged(x: Tensor, times: int) -> Tensor:
    """Give the mean of all heads to all."""
    return x.mean(1, keepdim=True).expand(-1, times * x.size(1), -1, -1)


def side_by_side(x: Tensor) -> Tensor:
    """Merge the heads word by word."""
    return x.transpose(1, 2).flatten(2)


def scrambled(x: Tensor) -> Tensor:
    """Merge the heads without moving the axes."""
    return x.reshape(len(x), x.size(2), -1)


def interleaved(x: Tensor) -> Tensor:
    """Merge the heads entry by entry."""
    return x.permute(0, 2, 3, 1).flatten(2)


def attention(
    share: Function, merge: Function = side_by_side, divisor: float = 7**0.5
) -> Function:
    """Return grouped attention, put together from parts."""

    def grouped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        times = query.size(1) // key.size(1)
        key, value = share(key, times), share(value, times)
        return merge((query @ key.mT / divisor).softmax(-1) @ value)

    return grouped


def of_all(share: Function) -> Function:
    """Divide by the root of the width of all heads."""
    return lambda q, k, v: attention(share, divisor=(7 * q.size(1)) ** 0.5)(q, k, v)


def asks(sharing: str) -> list[Asked]:
    """Return what is asked."""
    share, other = (
        (neighbours, in_turn) if sharing == "neighbours" else (in_turn, neighbours)
    )
    wrong = [
        (
            "The heads are shared the other way: neighbours, or in turn.",
            attention(other),
        ),
        (
            "Words and heads are scrambled: move the axes first.",
            attention(share, scrambled),
        ),
        (
            "The heads stand side by side, not entry by entry.",
            attention(share, interleaved),
        ),
        (
            "They are shared the other way, and scrambled: move the axes first.",
            attention(other, scrambled),
        ),
        ("The divisor is missing.", attention(share, divisor=1.0)),
        ("The divisor is the root of the width.", attention(share, divisor=7.0)),
        ("The divisor is that of one head.", of_all(share)),
        ("All heads use the first keys and values.", attention(first)),
        ("All heads use the mean of the keys and values.", attention(averaged)),
        (
            "Only the values are shared as they should be.",
            lambda q, k, v: attention(
                lambda x, n: share(x, n) if x is v else other(x, n)
            )(q, k, v),
        ),
    ]
    equation = "many-heads.html#the-equation"
    merge = "many-heads.html#cut-and-move-or-scramble"
    one_word = [
        tuple(x[:, :, :1] if n == 0 else x for n, x in enumerate(case(5, 2, 4, 2)))
    ]
    asked: list[tuple[str, list[Any], str, int]] = [
        (
            "with as many keys as queries it is what it was",
            [case(1, 2, 3, 3)],
            equation,
            1,
        ),
        ("one head of keys can serve all", [case(2, 3, 4, 1)], equation, 1),
        (
            "groups share as they should",
            [case(3, 2, 6, 3), case(4, 3, 6, 2)],
            merge,
            4,
        ),
        ("a single word is no exception", one_word, merge, 1),
    ]
    right = attention(share)
    return [
        Asked(told, agrees(right, cases, *wrong), section, points)
        for told, cases, section, points in asked
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise(
            "grouped",
            "def grouped(query, key, value): ...",
            asks(numbers["sharing"]),
        )
    ]
