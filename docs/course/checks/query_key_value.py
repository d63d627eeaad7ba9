"""Query, key, value: attention with a null key."""

from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Exercise, questions_of
from selfattn_book.exercises.checking.numbers import normal
from selfattn_book.exercises.checking.results import Case, Program


def case(seed: int, *sizes: int, lead: tuple[int, ...] = (), size: float = 1.0) -> Case:
    """Return queries, keys and values of T, S, D and E."""
    queries, keys, width, out = sizes
    shapes = (queries, width), (keys, width), (keys, out)
    query, key, value = normal(seed, *((*lead, *shape) for shape in shapes))
    return size * query, key, value


def same_sign(sign: float) -> Case:
    """Return queries and keys with scores in the thousands, all of one sign."""
    chance = torch.Generator().manual_seed(8)
    query = 40 + torch.rand(3, 4, generator=chance, dtype=torch.float64)
    key = sign * (40 + torch.rand(5, 4, generator=chance, dtype=torch.float64))
    return query, key, torch.randn(5, 2, generator=chance, dtype=torch.float64)


def with_null_key(score: float) -> Program:
    """Return attention with a null key of this score."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = query @ key.mT / query.size(-1) ** 0.5
        null = torch.full_like(scores[..., :1], score)
        weights = torch.cat([scores, null], -1).softmax(-1)
        return weights[..., :-1] @ value

    return attend


def with_zero_value(score: float) -> Program:
    """Return the right program in another form: one more value, of zeros."""

    def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        scores = torch.nn.functional.pad(
            query @ key.mT / query.size(-1) ** 0.5, (0, 1), value=score
        )
        return scores.softmax(-1) @ torch.cat([value, torch.zeros_like(value[..., :1, :])], -2)

    return attend


def wrong(score: float) -> dict[str, Program]:
    """Return wrong programs by their misconceptions."""

    def scores(q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT / q.size(-1) ** 0.5

    def moved(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        s = scores(q, k)
        e = (s - s.amax(-1, keepdim=True)).exp()
        return e / (e.sum(-1, keepdim=True) + torch.tensor(score).exp()) @ v

    def naive(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        e = scores(q, k).exp()
        return e / (e.sum(-1, keepdim=True) + torch.tensor(score).exp()) @ v

    def undivided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return with_null_key(score)(q * q.size(-1) ** 0.5, k, v)

    def divided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return with_null_key(score / q.size(-1) ** 0.5)(q, k, v)

    def added(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        e = scores(q, k).softmax(-1)
        return e / (1 + score) @ v

    def averaged(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        null = 1 - with_null_key(score)(q, k, torch.ones_like(v[..., :1]))
        return with_null_key(score)(q, k, v) + null * v.mean(-2, keepdim=True)

    return {
        "There is no null key.": lambda q, k, v: scores(q, k).softmax(-1) @ v,
        "The null score is a score already; it is not divided.": divided,
        "The scores of the keys must be divided, too.": undivided,
        "The null score is 0 here.": with_null_key(0.0),
        "The null score has the other sign.": with_null_key(-score),
        "The largest score was subtracted from the keys, but not from the null score.": moved,
        "The score itself was added to the denominator, not its exponential.": added,
        "The value of the null key is zero.": averaged,
        "Exponentials of large scores are infinite: subtract the largest score.": naive,
    }


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    score = numbers["null_score"]
    equation = "query-key-value.html#the-attention-layer-equation-and-code"
    search = "query-key-value.html#attention-as-a-soft-search"
    cases = {
        "the null key has its weight": (search, 2, [case(1, 2, 3, 4, 2)]),
        "also for other sizes": (equation, 2, [case(2, 5, 2, 7, 3), case(3, 1, 1, 3, 3)]),
        "and for batches": (equation, 1, [case(4, 4, 3, 5, 2, lead=(2, 3))]),
        "large scores leave no weight for the null key": (search, 2, [same_sign(1.0)]),
        "where nothing fits, the context is zero": (search, 1, [same_sign(-1.0)]),
    }
    return [
        Exercise(
            "attend_or_not",
            "def attend_or_not(query, key, value): ...",
            questions_of(cases),
            right=with_null_key(score),
            wrong=wrong(score),
            unusual={"a zero value for the null key": with_zero_value(score)},
            returns="the context",
            tolerance=1e-5,
        )
    ]
