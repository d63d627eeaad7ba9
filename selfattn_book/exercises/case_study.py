"""A case study: a position classifier that looks everything up in a table."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import (
    asked,
    drawn,
    likely,
    near,
    numbers,
)
from selfattn_book.experiments.words import PositionClassifier
from selfattn_book.properties.answer import (
    YES,
    Answer,
    Likely,
    RefusedError,
    all_of,
)
from selfattn_book.properties.calls import call, missing

WORDS, PLACES, WIDTH = 5, 3, 15
EVERY = torch.cartesian_prod(*[torch.arange(WORDS)] * PLACES)  # all 125 sentences
NOWHERE = "No entry of the table makes a difference."
FromTable = Callable[[Tensor], Any]


def returns_a_classifier(from_table: FromTable) -> Answer:
    """Ask for a model of the class in question, which gives one logit for each sentence."""
    logits_of(from_table, a_table())
    return YES


def gives_nothing_for_nothing(from_table: FromTable) -> Answer:
    """Ask about a table of zeros."""
    found = logits_of(from_table, torch.zeros(WORDS, PLACES))
    no = same_logits(found, 0 * found, "where the table holds nothing but zeros, ")
    even = found.mean().expand_as(found)
    return no.because(
        ("All are off alike: a bias gets in.", lambda: near(found, even)),
        (
            "The vectors of words and places get through: the path around the small network "
            "leads to the judge.",
            lambda: not near(found, even),
        ),
    )


def looks_up_one_entry(from_table: FromTable) -> Answer:
    """Ask, for each entry, which sentences have it; a factor that all share is left out."""
    entries = torch.eye(WORDS * PLACES).view(-1, WORDS, PLACES)
    nothing = logits_of(from_table, torch.zeros(WORDS, PLACES))
    moved = torch.stack([logits_of(from_table, x) - nothing for x in entries])
    wanted, shares = torch.stack([sums(x) for x in entries]), scaled(moved)
    if near(shares, wanted):
        return YES
    entry, sentence = ((shares - wanted).abs() > 1e-3).nonzero()[0].tolist()
    word, place = divmod(entry, PLACES)
    message = (
        f"a 1 in the table for word {word} at place {place} moves the logit of {text(sentence)}"
    )
    no = Answer("mathematics", f"{message} by {moved[entry, sentence]:.3g}.")
    wrong = {
        said: scaled(torch.stack([change(x) for x in entries])) for said, change in MISREAD.items()
    }
    nowhere = NOWHERE, lambda: not moved.any()
    return no.because(nowhere, *likely(shares, wrong), *of_units(shares))


def scaled(moved: Tensor) -> Tensor:
    """Return how far logits move, as shares of the farthest."""
    return moved.abs() / moved.abs().max().clamp(min=1e-6)


def of_units(shares: Tensor) -> list[Likely]:
    """Return what can be behind entries that move the wrong sentences, ``(15, 125)``."""
    answers = (shares > 1e-3).unflatten(0, (WORDS, PLACES))  # or is silent
    word = torch.nn.functional.one_hot(EVERY, WORDS).bool().mT  # (125, 5, 3)
    has_it = word.permute(1, 2, 0)
    has_word = has_it.any(1, keepdim=True).expand_as(has_it)
    return [
        (
            "A unit is on although its word is elsewhere: the bias must take one of the two away.",
            lambda: bool((answers >= has_word).all()),
        ),
    ]


def adds_them_up(from_table: FromTable) -> Answer:
    """Ask about tables of any numbers."""
    return all_of(_adds_up(from_table, a_table(seed)) for seed in range(5))


def _adds_up(from_table: FromTable, table: Tensor) -> Answer:
    found, right = logits_of(from_table, table), sums(table)
    no = same_logits(found, right)
    positive = table.abs()
    wrong = {
        "The model takes a mean, and the sum is three times as large.": right / 3,
        "It is made three times as large once too often.": 3 * right,
        "The sign is turned round.": -right,
        **{said: change(table) for said, change in MISREAD.items()},
        "All are off alike: a bias gets in.": right + (found.double() - right).mean().to(right),
    }
    backwards = found.view(WORDS, WORDS, WORDS).transpose(0, 2).flatten()
    nowhere = NOWHERE, lambda: near(found, found.mean().expand_as(found))
    order = (
        "Nothing of the order is left: without the fold of the ReLU, word and place only add up."
    )
    return no.because(
        nowhere,
        (order, lambda: near(found, backwards)),
        *likely(found, wrong),
        (
            "Negative entries go wrong, and positive ones do not: the table belongs behind the ReLU.",
            lambda: near(logits_of(from_table, positive), sums(positive)),
        ),
    )


def logits_of(from_table: FromTable, table: Tensor) -> Tensor:
    """Return the logits of all sentences, by the model that an answer makes."""
    model = asked(from_table, table)
    if not isinstance(model, PositionClassifier):
        raise RefusedError(missing("return a PositionClassifier", model))
    dtypes = {p.dtype for p in model.parameters()}
    if len(dtypes) > 1:
        names = " and ".join(sorted(str(x).removeprefix("torch.") for x in dtypes))
        message = f"all parameters of the model must have one dtype; got {names}."
        raise RefusedError(Answer("dtype", message))
    found = numbers(call(model, EVERY), "the logits", (len(EVERY),))
    message = "with its weights, a PositionClassifier(15) gives other logits than this one."
    bare = numbers(call(of_weights(model), EVERY), "the logits", (len(EVERY),))
    if near(bare, found):
        return found
    raise RefusedError(Answer("mathematics", message))


def of_weights(model: PositionClassifier) -> PositionClassifier:
    """Return a classifier of which only the weights are an answer's."""
    own, weights = PositionClassifier(WIDTH), model.state_dict()
    sizes, others = (
        {name: tuple(x.shape) for name, x in state.items()} for state in (own.state_dict(), weights)
    )
    if sizes != others:
        message = "its weights must be those of a PositionClassifier(15)"
        name = next(n for n in {**sizes, **others} if sizes.get(n) != others.get(n))
        got = f"got {others[name]} for {name}" if name in others else f"{name} is missing"
        raise RefusedError(Answer("shape", f"{message}; {got}."))
    own.to(next(model.parameters()).dtype).load_state_dict(weights)
    return own


def same_logits(found: Tensor, right: Tensor, message: str = "") -> Answer:
    """Compare logits, and tell of the sentence where they differ most."""
    if near(found, right):
        return YES
    gaps = (found.double() - right.double()).abs().nan_to_num(nan=torch.inf)
    worst = int(gaps.argmax())
    got = f"{message}the logit of {text(worst)} is {found[worst]:.3g}, not {right[worst]:.3g}"
    return Answer("mathematics", f"{got}.")


def text(sentence: int) -> str:
    """Return a sentence as the chapter writes it, such as ``"012"``."""
    return "".join(map(str, EVERY[sentence].tolist()))


def a_table(seed: int = 0) -> Tensor:
    """Draw a table."""
    return drawn(WORDS, PLACES, seed=seed)


def sums(table: Tensor) -> Tensor:
    """Return the logits that are asked for."""
    return table[EVERY, torch.arange(PLACES)].sum(1)


MISREAD: dict[str, Callable[[Tensor], Tensor]] = {
    "The table is read column by column; a row belongs to a word.": lambda table: sums(
        table.T.reshape(WORDS, PLACES)
    ),
    "The units go through the words of a place, and the table through the places of a word.": (
        lambda table: sums(table.reshape(PLACES, WORDS).T)
    ),
    "The places are counted from the end.": lambda table: sums(table.flip(1)),
    "The words are counted from the end.": lambda table: sums(table.flip(0)),
    "It does not matter where a word stands: each counts at all places.": (
        lambda table: table.sum(1)[EVERY].sum(1)
    ),
}
EXERCISES = [
    Exercise(
        "from_table",
        "def from_table(table):\n"
        "    from selfattn_book.experiments.words import PositionClassifier\n\n    ...",
        [
            Asked(
                "it returns a classifier with one logit for each sentence",
                returns_a_classifier,
                "case-study.html#exercises",
            ),
            Asked(
                "a table of zeros gives zeros",
                gives_nothing_for_nothing,
                "case-study.html#which-model-is-which",
            ),
            Asked(
                "an entry moves the sentences with its word at its place, and no others",
                looks_up_one_entry,
                "case-study.html#words-and-words-at-their-places",
                points=2,
            ),
            Asked(
                "a logit is the sum of three entries",
                adds_them_up,
                "case-study.html#words-and-words-at-their-places",
                points=2,
            ),
        ],
    )
]
check = checker(EXERCISES)
