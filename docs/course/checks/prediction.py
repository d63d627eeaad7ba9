"""Predicting one step at a time: a cache that forgets."""

from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees, as_numbers
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.properties.answer import YES, Answer, RefusedError
from selfattn_book.properties.calls import call

Step = tuple[Tensor, Tensor, Tensor]
Conversation = tuple[Tensor, Tensor, Tensor]


def conversation(seed: int, length: int) -> Conversation:
    """Return queries, keys and values of all places."""
    chance = torch.Generator().manual_seed(seed)
    shapes = (2, length, 3), (2, length, 3), (2, length, 5)
    query, key, value = (2 * torch.randn(*s, generator=chance, dtype=torch.float64) for s in shapes)
    return query, key, value


def steps(talk: Conversation) -> list[Step]:
    """Return what each step is given."""
    return [(q, k, v) for q, k, v in zip(*(x.split(1, 1) for x in talk), strict=True)]


def rolled(roll: Function) -> Function:
    """Return what an answer says step by step, as one tensor."""

    def contexts(*talk: Tensor) -> Tensor:
        cache: list[Any] = []
        said = [context_of(roll, step, cache) for step in steps(talk)]  # type: ignore[arg-type]
        return torch.cat(said, 1)

    return contexts


def context_of(roll: Function, step: Step, cache: list[Any]) -> Tensor:
    """Return the context of a step, or refuse what is none."""
    context = as_numbers(call(roll, *(x.clone() for x in step), cache))
    if tuple(context.shape) != (2, 1, 5):
        message = f"a context must have shape (2, 1, 5); got {tuple(context.shape)}."
        raise RefusedError(Answer("shape", message))
    return context


def at_once(
    window: int,
    first: int,
    *,
    past: int = 0,
    twice: bool = False,
    scaled: bool = True,
) -> Function:
    """Return attention of all places at once, with a mask of what each may see."""

    def contexts(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        place = torch.arange(query.size(1))
        back = place[:, None] - place
        near, begin = (back >= past) & (back < window + past), place < first
        mask = (near | begin) & (back >= past)
        mask = mask | (~mask.any(1, keepdim=True) & (back == 0))
        scores = query @ key.mT / (3**0.5 if scaled else 1.0)
        if twice:
            scores = scores + (near & begin) * torch.log(torch.tensor(2.0))
        return scores.masked_fill(~mask, -torch.inf).softmax(-1) @ value

    return contexts


def mistakes(window: int, first: int) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    return [
        ("Nothing is ever forgotten.", at_once(10**6, 0)),
        (
            "The window is one too wide: it counts the newest place.",
            at_once(window + 1, first),
        ),
        (
            "The window is one too narrow: it counts the newest place.",
            at_once(window - 1, first),
        ),
        ("The first places are forgotten.", at_once(window, 0)),
        ("One of the first places is forgotten.", at_once(window, first - 1)),
        ("One more of the first places is kept.", at_once(window, first + 1)),
        (
            "The first places are part of the window.",
            at_once(max(1, window - first), first),
        ),
        (
            "A place that is among the first and in the window counts twice.",
            at_once(window, first, twice=True),
        ),
        ("The newest place does not see itself.", at_once(window, first, past=1)),
        ("The divisor is missing.", at_once(window, first, scaled=False)),
        ("Only the newest place is seen: the cache stays empty.", at_once(1, 0)),
    ]


def is_small(window: int, first: int) -> Function:
    """Ask that a cache stays small, and that the contexts of short sentences are right."""

    def ask(roll: Function) -> Answer:
        talk, cache = conversation(5, 12), []  # type: ignore[var-annotated]
        most = 2 * (3 + 5) * (window + first)
        wanted = at_once(window, first)(*talk)
        for number, step in enumerate(steps(talk)):
            said = context_of(roll, step, cache)
            held = sum(x.numel() for x in flat(cache))
            if held > most:
                message = (
                    f"after {number + 1} steps the cache holds {held} numbers; {most} are enough."
                )
                return Answer("mathematics", message)
            if not torch.allclose(said[:, 0], wanted[:, number], atol=1e-4):
                return Answer("mathematics", f"the context of step {number + 1} is not right.")
        return YES

    return ask


def flat(held: Any) -> list[Tensor]:
    """Return all tensors that a cache holds."""
    if isinstance(held, dict):
        held = list(held.values())
    if isinstance(held, list | tuple) or hasattr(held, "popleft"):
        return [x for one in held for x in flat(one)]
    return [torch.as_tensor(held)] if hasattr(held, "shape") else []


def are_apart(window: int, first: int) -> Function:
    """Ask for two conversations in turn."""

    def right(roll: Function, talk: Conversation) -> bool:
        return torch.allclose(rolled(roll)(*talk), at_once(window, first)(*talk), atol=1e-4)

    def ask(roll: Function) -> Answer:
        talks = [conversation(6, 7), conversation(7, 7)]
        caches: list[list[Any]] = [[], []]
        said = [
            context_of(roll, step, cache)
            for pair in zip(*map(steps, talks), strict=True)
            for step, cache in zip(pair, caches, strict=True)
        ]
        each = [torch.cat(said[number::2], 1) for number in (0, 1)]
        wanted = [at_once(window, first)(*talk) for talk in talks]
        if all(torch.allclose(*pair, atol=1e-4) for pair in zip(each, wanted, strict=True)):
            return YES
        no = Answer("mathematics", "two conversations in turn are not as each alone.")
        return no.because(
            (
                "Something is kept outside of the cache.",
                lambda: right(roll, talks[0]),
            )
        )

    return ask


def asks(window: int, first: int) -> list[Asked]:
    """Return what is asked of a step."""
    right, wrong = at_once(window, first), mistakes(window, first)

    def agree(*talks: Conversation) -> Function:
        asked = agrees(right, list(talks), *wrong)
        return lambda roll: asked(rolled(roll))

    cache, wrong_cache = (
        "prediction.html#the-cache",
        "prediction.html#when-is-a-cache-wrong",
    )
    short = conversation(1, window)
    return [
        Asked("while all is in the window, nothing is lost", agree(short), cache, 2),
        Asked(
            "then the oldest are forgotten, and the first are not",
            agree(short, conversation(2, 11)),
            cache,
            4,
        ),
        Asked("the cache stays small", is_small(window, first), wrong_cache, 2),
        Asked(
            "two conversations are kept apart",
            are_apart(window, first),
            wrong_cache,
            1,
        ),
    ]


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    asked = asks(numbers["window"], numbers["first"])
    return [Exercise("roll", "def roll(query, key, value, cache): ...", asked)]
