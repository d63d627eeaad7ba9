"""Masks: several sentences in one row, and a row on paper."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course.asking import as_numbers, gives
from selfattn_book.course.exercise import Asked, Exercise
from selfattn_book.reasons.answer import YES, Answer, RefusedError, all_of
from selfattn_book.reasons.calls import call

ROWS = (
    torch.tensor(
        [[0, 0, 0, 0, 1, 1, 1, 2, 2, -1, -1], [5, 5, 5, 5, 5, 5, 5, 5, 3, 3, -1]]
    ),
    torch.tensor([[0, 1, 1, 2, 2, 2, 3]]),
    torch.tensor(
        [[7, 7, 7, 7, 7, -1, -1], [1, 1, 1, 2, 2, 2, 2], [0, 0, 4, 4, 4, 9, -1]]
    ),
)


def right(sentence: Tensor, prompt: int) -> Tensor:
    """Return the right mask."""
    length = sentence.size(1)
    read = torch.arange(length) < prompt
    return past(length) & (same(sentence) | read) & real(sentence)


def past(length: int) -> Tensor:
    """Return what is not later."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def same(sentence: Tensor) -> Tensor:
    """Return who has the number of whom."""
    return sentence[:, :, None] == sentence[:, None, :]


def real(sentence: Tensor) -> Tensor:
    """Return where neither is padding."""
    return (sentence >= 0)[:, :, None] & (sentence >= 0)[:, None, :]


def mask_of(packed_mask: Callable[..., Any], sentence: Tensor) -> Tensor:
    """Return the mask that an answer makes, without the axis of heads."""
    made = call(packed_mask, sentence.clone())
    if made is None:
        raise RefusedError(Answer("missing", "it must return a mask; got None."))
    mask = torch.as_tensor(made)
    if mask.dtype != torch.bool:
        name = str(mask.dtype).removeprefix("torch.")
        raise RefusedError(Answer("dtype", f"a mask is boolean; got {name}."))
    rows, length = sentence.shape
    wanted = (rows, 1, length, length)
    if tuple(mask.shape) != wanted:
        told = f"for {rows} rows of {length} places the mask has shape {wanted}"
        raise RefusedError(Answer("shape", f"{told}; got {tuple(mask.shape)}."))
    return mask[:, 0]


def mistakes(prompt: int) -> list[tuple[str, Callable[[Tensor], Tensor]]]:
    """Return misconceptions, each with the mask that follows from it."""

    def seen(s: Tensor) -> Tensor:
        return same(s) | (torch.arange(s.size(1)) < prompt)

    def before(s: Tensor) -> Tensor:
        return past(s.size(1))

    padding = "Padding has the same number as padding."
    return [
        ("True was taken to mean hidden.", lambda s: ~right(s, prompt)),
        (
            "Rows and columns are exchanged: a row asks.",
            lambda s: right(s, prompt).mT,
        ),
        (padding, lambda s: right(s, prompt) | (before(s) & same(s))),
        ("Padding still asks.", lambda s: before(s) & seen(s) & (s >= 0)[:, None]),
        (
            "Padding is still seen.",
            lambda s: before(s) & seen(s) & (s >= 0)[..., None],
        ),
        ("Padding was forgotten.", lambda s: before(s) & seen(s)),
        (
            "The prompt, too, is read from left to right.",
            lambda s: ((before(s) & same(s)) | (seen(s) & ~same(s))) & real(s),
        ),
        ("The prompt was forgotten.", lambda s: before(s) & same(s) & real(s)),
        ("The prompt is one place too long.", lambda s: right(s, prompt + 1)),
        ("The prompt is one place too short.", lambda s: right(s, prompt - 1)),
        ("The sentences were forgotten.", lambda s: before(s) & real(s)),
        ("The future is not hidden.", lambda s: seen(s) & real(s)),
    ]


def follows(
    prompt: int, rule: str, where: Callable[[Tensor], Tensor]
) -> Callable[..., Answer]:
    """Ask whether a mask follows a rule, in the places of which the rule speaks."""

    def ask(packed_mask: Callable[..., Any]) -> Answer:
        def one(sentence: Tensor) -> Answer:
            mask = mask_of(packed_mask, sentence)
            wrong = (mask != right(sentence, prompt)) & where(sentence)
            if not wrong.any():
                return YES
            row, query, key = wrong.nonzero()[0].tolist()
            sees = "sees" if mask[row, query, key] else "does not see"
            place = (
                f"with {sentence[row].tolist()}, place {query} {sees} place {key}"
            )
            return Answer("mathematics", f"{place}: {rule}.")

        def explains(made: Callable[[Tensor], Tensor]) -> bool:
            return all(torch.equal(mask_of(packed_mask, s), made(s)) for s in ROWS)

        found = mistakes(prompt)
        return all_of(map(one, ROWS)).because(
            *((told, partial(explains, made)) for told, made in found)
        )

    return ask


def is_a_mask(packed_mask: Callable[..., Any]) -> Answer:
    """Ask for a boolean mask, which it is if it can be asked."""
    for sentence in ROWS:
        mask_of(packed_mask, sentence)
    return YES


def asks(prompt: int) -> list[Asked]:
    """Return what is asked of a mask."""

    def in_prompt(s: Tensor) -> Tensor:
        return torch.arange(s.size(1)) < prompt

    def asked(
        told: str,
        rule: str,
        where: Callable[[Tensor], Tensor],
        section: str,
        points: int,
    ) -> Asked:
        return Asked(
            told, follows(prompt, rule, where), f"masks.html#{section}", points
        )

    padding = "sentences-of-different-lengths-the-padding-mask"
    causal = "not-before-your-time-the-causal-mask"
    return [
        Asked(
            "it is a boolean mask, one a row for all heads",
            is_a_mask,
            f"masks.html#{padding}",
        ),
        asked(
            "nobody sees a later place",
            "it comes later",
            lambda s: ~past(s.size(1)),
            causal,
            2,
        ),
        asked(
            "a place sees its own sentence, and no other",
            "look at their sentences",
            lambda s: past(s.size(1)) & ~in_prompt(s) & real(s),
            "three-words-by-hand",
            2,
        ),
        asked(
            "later places see the prompt",
            f"the prompt has {prompt} places",
            lambda s: past(s.size(1)) & in_prompt(s) & real(s),
            "the-equation",
            1,
        ),
        asked(
            "padding sees nothing and is not seen",
            "one of them is padding",
            lambda s: past(s.size(1)) & ~real(s),
            padding,
            2,
        ),
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a row on paper."""
    a, b, c, d = numbers["likes"]
    u, v, w, x = numbers["values"]
    layers, width = numbers["layers"], numbers["width"]
    three, four = a + b + c, a + b + c + d
    late = [a / four, b / four, c / four, 0]
    wanted = {
        "weights": [a / three, b / three, c / three, 0],
        "context": (a * u + b * v + c * w) / three,
        "too_late": three / four,
        "without": (b * v + c * w) / (b + c),
        "reach": layers * (width - 1) + 1,
    }
    scores = as_numbers([a, b, c]).softmax(0)
    wrong = {
        "weights": {
            "The hidden key is still in the denominator.": late,
            "The future was not hidden.": [a / four, b / four, c / four, d / four],
            "The likes are the exponentials already.": [*scores.tolist(), 0],
        },
        "context": {
            "The hidden key is still in the denominator.": (a * u + b * v + c * w)
            / four,
            "The future was not hidden.": (a * u + b * v + c * w + d * x) / four,
            "This is the mean: the weights were left out.": (u + v + w) / 3,
        },
        "too_late": {
            "A row sums to one only if the hidden key was never counted.": 1,
            "This is what is lost.": d / four,
        },
        "without": {
            "The first key is hidden, but the last is seen.": (
                b * v + c * w + d * x
            )
            / (b + c + d),
            "The hidden keys are still in the denominator.": (b * v + c * w) / four,
            "The first key is still in the denominator.": (b * v + c * w) / three,
        },
        "reach": {
            "Neighbouring windows share a place.": layers * width,
            "The place itself belongs to it.": layers * (width - 1),
            "This is the reach of one layer.": width,
            "Reaches add; they do not multiply.": width**layers,
        },
    }
    return gives(wanted, wrong, "masks.html#the-equation", points={"weights": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise(
            "packed_mask", "def packed_mask(sentence): ...", asks(numbers["prompt"])
        ),
        Exercise("masked_row", "def masked_row(): ...", on_paper(numbers)),
    ]
