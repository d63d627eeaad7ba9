"""A whole Transformer: greedy decoding, up to the end token."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.properties.answer import STOPS, YES, Answer, RefusedError, all_of
from selfattn_book.properties.calls import call, missing

VOCABULARY, START, END = 11, 3, 7
LENGTHS = (9, 5)
Write = Callable[[Callable[[Tensor], Tensor], int, int, int], Any]


@dataclass
class Model:
    """A decoder that knows all tokens so far, and their order; it counts how often it is asked.

    Args:
        number: which one of many.
        ends: behind how many tokens the end is the likeliest; never when left out.
    """

    number: int
    ends: int | None = None

    asked: list[Tensor] = field(default_factory=list)

    def anew(self) -> "Model":
        """Return the same model, which has not been asked yet."""
        return Model(self.number, self.ends)

    def __call__(self, target: Tensor) -> Tensor:
        """Return logits ``(1, T, V)`` for tokens ``(1, T)``."""
        self.asked.append(target)
        if len(self.asked) > 50:
            raise RefusedError(Answer("exception", "the model was asked 50 times."))
        tokens = torch.as_tensor(target)
        if tokens.ndim != 2 or len(tokens) != 1:
            message = "logits_of takes tokens of shape (1, t)"
            raise RefusedError(Answer("shape", f"{message}; got {tuple(tokens.shape)}."))
        table = drawn(997, VOCABULARY, seed=self.number)
        table[:, [START, END]] = -9.0  # only the rule below writes one of these
        rows, place = [], 0
        for count, token in enumerate(tokens[0].tolist(), start=1):
            place = (31 * place + int(token) + 1) % len(table)
            row = table[place].clone()
            if count - 1 == self.ends:
                row[END] = 9.0
            rows.append(row)
        return torch.stack(rows)[None]


@dataclass(frozen=True)
class Way:
    """A way to write, which is the right one unless a setting says otherwise."""

    row: int = -1
    sign: int = 1
    newest: bool = False
    own: bool = True
    stops: bool = True
    end: bool = False
    start: bool = False
    more: int = 0

    def write(self, model: Model, length: int) -> list[int]:
        """Return what comes of it."""
        target = [START]
        for _ in range(length + self.more):
            fed = target[-1:] if self.newest else target if self.own else [START]
            logits = model(torch.tensor([fed]))[0]
            token = int((self.sign * logits[self.row]).argmax())
            if self.stops and token == END:
                target += [END] * self.end
                break
            target.append(token)
        return target if self.start else target[1:]


RIGHT = Way()
OF_TOKENS = {
    "The first row of the logits was read: what comes next stands in the last.": Way(row=0),
    "The least of the logits was taken, not the greatest.": Way(sign=-1),
    "Only the newest token was handed over: without a cache, the model needs all of them.": (
        Way(newest=True)
    ),
    "The model never reads its own tokens: each step is fed the start alone.": Way(own=False),
    "The start stands in what comes back; nobody has written it.": Way(start=True),
}
OF_LENGTH = {
    "One token too many was written.": Way(more=1),
    "One token too few was written: the start does not count.": Way(more=-1),
}
OF_END = {
    "The end stands in what comes back; it says that nothing more comes.": Way(end=True),
    "It goes on behind the end.": Way(stops=False),
}


def returns_tokens(write: Write) -> Answer:
    """Ask for a list of tokens, which it is if it can be asked."""
    written(write, Model(1), LENGTHS[0])
    return YES


def is_greedy(write: Write) -> Answer:
    """Ask for the likeliest token of each step, of models that never end."""
    return all_of(
        as_wanted(write, Model(number), length, {**OF_TOKENS, **OF_LENGTH})
        for number in (1, 2, 5)
        for length in LENGTHS
    )


def stops_at_the_end(write: Write) -> Answer:
    """Ask for what stands before the end, and for nothing more."""
    return all_of(
        as_wanted(write, Model(number, ends), 9, {**OF_END, **OF_TOKENS})
        for number, ends in ((1, 4), (2, 1))
    )


def asks_no_more_than_needed(write: Write) -> Answer:
    """Ask how often the model is asked."""
    for ends, wanted in ((4, 5), (None, 9)):
        model = Model(1, ends)
        written(write, model, 9)
        if len(model.asked) != wanted:
            where = f"that ends behind {ends} tokens" if ends else "that never ends"
            message = f"a model {where} was asked {len(model.asked)} times, not {wanted}"
            return Answer("mathematics", f"{message}, where length is 9.")
    return YES


def says_nothing(write: Write) -> Answer:
    """Ask about a model that ends before its first word."""
    return as_wanted(write, Model(1, 0), 9, OF_END)


def as_wanted(write: Write, model: Model, length: int, mistakes: dict[str, Way]) -> Answer:
    """Compare what is written with what is right, and with what likely mistakes write."""
    got, wanted = written(write, model, length), RIGHT.write(model.anew(), length)
    if got == wanted:
        return YES

    def explains(way: Way) -> bool:
        other = model.anew()
        same = got == way.write(other, length)
        return same and [len(x[0]) for x in other.asked] == [len(x[0]) for x in model.asked]

    message = f"where {wanted} is to be written, with length = {length}, it wrote {got}."
    return Answer("mathematics", message).because(
        *((said, partial(explains, way)) for said, way in mistakes.items())
    )


def written(write: Write, model: Model, length: int) -> list[int]:
    """Return what an answer writes, as a list of integers, if it is one."""
    came: Any = call(write, model, START, END, length)
    if came is None:
        raise RefusedError(missing("return a list of tokens", came))
    try:
        listed = [row.tolist() if isinstance(row, Tensor) else row for row in came]
        tokens = torch.as_tensor(listed)
    except STOPS:
        raise RefusedError(missing("return a list of tokens", came)) from None
    if tokens.ndim != 1 and tokens.numel():
        message = f"one token after the other must come back; got shape {tuple(tokens.shape)}."
        raise RefusedError(Answer("shape", message))
    if tokens.is_floating_point() and tokens.numel():
        message = "tokens are integers; it returned numbers with a decimal point."
        raise RefusedError(Answer("dtype", message))
    return tokens.flatten().tolist()


WRITES = "transformer.html#it-writes"
EXERCISES = [
    Exercise(
        "write",
        "def write(logits_of, start, end, length):\n    ...",
        [
            Asked("it returns tokens", returns_tokens, "transformer.html#exercises"),
            Asked(
                "it writes the likeliest token of each step",
                is_greedy,
                WRITES,
                points=2,
            ),
            Asked("it stops before the end token", stops_at_the_end, WRITES),
            Asked(
                "it asks the model no more often than needed",
                asks_no_more_than_needed,
                WRITES,
            ),
            Asked(
                "a model that ends at once has written nothing",
                says_nothing,
                WRITES,
            ),
        ],
    )
]
check = checker(EXERCISES)
