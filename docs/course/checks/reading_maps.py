"""Reading maps: cells taken out of a map, and what a cell brings."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.properties.answer import YES, Answer, RefusedError, all_of
from selfattn_book.properties.calls import call

Case = tuple[Tensor, Tensor]
TakeOut = Callable[[Tensor, Tensor], Any]
SIZES = ((3, 2, 11, 4), (2, 3, 7, 3), (1, 1, 13, 5))  # texts, heads, length, tokens


def case(size: tuple[int, int, int, int]) -> Case:
    """Draw causal maps, and tokens of which some come again; the last row has one cell only."""
    count, heads, length, kinds = size
    chance = torch.Generator().manual_seed(length)
    scores = 2 * torch.randn(count, heads, length, length, generator=chance).double()
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(later, -torch.inf).softmax(-1)
    return weights, torch.randint(kinds, (count, length), generator=chance)


def all_on_it(steps: int) -> Case:
    """Make a map of which one row has all of its weight in a cell that is to go."""
    length = 8
    weights = torch.eye(length, dtype=torch.float64).repeat(1, 2, 1, 1)
    tokens = torch.arange(length)[None].clone()
    tokens[0, -1] = 0  # a copy of the first
    weights[0, 1, -1] = 0.0
    weights[0, 1, -1, steps] = 1.0
    return weights, tokens


def cases(steps: int) -> tuple[Case, ...]:
    """Return what an answer is asked about."""
    return (*map(case, SIZES), all_on_it(steps))


def cells_of(tokens: Tensor, steps: int, *, round_: bool = False, latest: bool = False) -> Tensor:
    """Return the cells that are to go, or those of a misconception."""
    length = tokens.size(1)
    past = torch.ones(length, length, dtype=torch.bool).tril()
    cells = tokens[:, :, None] == tokens[:, None, :].roll(steps, dims=-1)
    if not round_:
        cells[:, :, :steps] = False
    cells = cells & past
    if latest:
        cells = cells & (cells.flip(-1).cumsum(-1).flip(-1) == 1)
    return cells[:, None]


def out(given: Case, cells: Callable[[Tensor], Tensor], *, shared: bool = True) -> Tensor:
    """Return maps without some cells."""
    weights, tokens = given
    left = weights.masked_fill(cells(tokens), 0)
    total = left.sum(-1, keepdim=True)
    if not shared:
        return left.where(total > 0, weights)
    return torch.where(total > 0, left / total.where(total > 0, 1), weights)


def made(take_out: TakeOut, given: Case) -> Tensor:
    """Return the maps that an answer makes, if they are maps, and nothing else was changed."""
    weights, tokens = (x.clone() for x in given)
    result = call(take_out, weights, tokens)
    if result is None:
        raise RefusedError(Answer("missing", "it must return maps; got None."))
    found = tensor_of(result, "the maps")
    if found.shape != weights.shape:
        message = f"maps of shape {tuple(weights.shape)} stay maps of this shape"
        raise RefusedError(Answer("shape", f"{message}; got {tuple(found.shape)}."))
    return found.detach().double()


def mistakes(steps: int) -> list[tuple[str, Callable[[Case], Tensor]]]:
    """Return misconceptions, each with the maps that follow from it."""

    def past(tokens: Tensor) -> Tensor:
        length = tokens.size(1)
        return torch.ones(length, length, dtype=torch.bool).tril(-1)

    def own(tokens: Tensor) -> Tensor:
        return ((tokens[:, :, None] == tokens[:, None]) & past(tokens))[:, None]

    right = partial(cells_of, steps=steps)
    found: list[tuple[str, Callable[[Case], Tensor]]] = [
        (
            "The rows were not shared out again.",
            partial(out, cells=right, shared=False),
        ),
        ("The copies themselves were taken out.", partial(out, cells=own)),
        (
            "The last tokens have come round to the first keys.",
            partial(out, cells=partial(right, round_=True)),
        ),
        (
            "Only the latest copy was looked at.",
            partial(out, cells=partial(right, latest=True)),
        ),
        (
            "Rows and columns are exchanged: a row asks.",
            partial(out, cells=lambda tokens: right(tokens).mT),
        ),
        (
            "These are the cells that were to go; the others were to stay.",
            partial(out, cells=lambda tokens: ~right(tokens)),
        ),
        ("Nothing was taken out.", lambda given: given[0]),
    ]
    for other in {1, 2, 3, 4} - {steps}:
        message = f"The cells stand {other} steps behind the copy, not {steps}."
        cells = partial(cells_of, steps=other)
        found.append((message, partial(out, cells=cells)))
    return found


def is_map(steps: int) -> Callable[[TakeOut], Answer]:
    """Ask for maps of the right shape."""

    def ask(take_out: TakeOut) -> Answer:
        for given in cases(steps):
            made(take_out, given)
        return YES

    return ask


def is_right(steps: int) -> Callable[[TakeOut], Answer]:
    """Ask for the right maps, of those that were drawn."""

    def ask(take_out: TakeOut) -> Answer:
        drawn = cases(steps)[:-1]

        def one(given: Case) -> Answer:
            wanted = out(given, partial(cells_of, steps=steps))
            off = (made(take_out, given) - wanted).abs()
            if torch.allclose(off, torch.zeros_like(off), atol=1e-5):
                return YES
            place = (~(off <= 1e-5)).nonzero()[0].tolist()
            text, head, query, key = place
            message = f"of text {text}, head {head}, the cell ({query}, {key}) is wrong"
            tokens = given[1][text].tolist()
            return Answer("mathematics", f"{message}, with the tokens {tokens}.")

        def explains(wrong: Callable[[Case], Tensor]) -> bool:
            return all(
                torch.allclose(made(take_out, given), wrong(given), atol=1e-5) for given in drawn
            )

        named = ((message, partial(explains, wrong)) for message, wrong in mistakes(steps))
        return all_of(map(one, drawn)).because(*named)

    return ask


def keeps_what_would_be_lost(steps: int) -> Callable[[TakeOut], Answer]:
    """Ask about a row that has all of its weight in a cell that is to go."""

    def ask(take_out: TakeOut) -> Answer:
        given = all_on_it(steps)
        row = made(take_out, given)[0, 1, -1]
        if torch.allclose(row, given[0][0, 1, -1], atol=1e-5):
            return YES
        said = ", ".join(f"{value:.3f}" for value in row.tolist())
        message = "a row that would lose all of its weight stays as it was"
        return Answer("mathematics", f"{message}; got {said}.")

    return ask


def leaves_alone(steps: int) -> Callable[[TakeOut], Answer]:
    """Ask whether the maps that were given are still the same."""

    def ask(take_out: TakeOut) -> Answer:
        for given in cases(steps):
            made(take_out, given)  # what is no map is refused
            weights, tokens = (x.clone() for x in given)
            call(take_out, weights, tokens)
            if not weights.equal(given[0]) or not tokens.equal(given[1]):
                message = "the maps and tokens that are given must not change; they did."
                return Answer("mathematics", message)
        return YES

    return ask


def asks(steps: int) -> list[Asked]:
    """Return what is asked of the maps."""
    page = "reading-maps.html#"
    bright = f"{page}does-the-bright-letter-matter"
    return [
        Asked("they are maps, as many as before", is_map(steps), bright),
        Asked(
            "the cells are gone, and the rest has their share",
            is_right(steps),
            f"{page}letters-that-come-again",
            4,
        ),
        Asked(
            "a row that would lose all stays",
            keeps_what_would_be_lost(steps),
            bright,
        ),
        Asked("what was given is not changed", leaves_alone(steps), bright),
    ]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of a row on paper."""
    parts, values = numbers["parts"], numbers["values"]
    keys, width = numbers["keys"], numbers["width"]
    total, bright = sum(parts), parts.index(max(parts))
    products = [p * v for p, v in zip(parts, values, strict=True)]
    adds = [product / total for product in products]
    rest = sum(products) - products[bright]
    wanted = {
        "contributions": adds,
        "bright": bright,
        "most": adds.index(max(adds)),
        "hidden": rest / (total - parts[bright]),
        "directions": keys - width - 1,
    }
    wrong = {
        "contributions": {
            "These are the weights; a key adds its value times its weight.": [
                part / total for part in parts
            ],
            "The parts have not been divided by their sum.": products,
        },
        "bright": {
            "Places are counted from 0.": bright + 1,
            "This is the largest value, not the brightest cell.": values.index(max(values)),
        },
        "most": {
            "The brightest cell need not contribute most.": bright,
            "Places are counted from 0.": adds.index(max(adds)) + 1,
        },
        "hidden": {
            "The masked key is still in the denominator.": rest / total,
            "This is the context with nothing masked.": sum(products) / total,
        },
        "directions": {
            "The sum of the row is an equation, too.": keys - width,
            "Each equation takes one away; this adds.": keys + width + 1,
            "These are the equations.": width + 1,
        },
    }
    # What a number happens to share with a misconception is no misconception.
    named = {
        key: {message: value for message, value in table.items() if value != wanted[key]}
        for key, table in wrong.items()
    }
    section = "reading-maps.html#exercises"
    return gives(wanted, named, section, points={"contributions": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise("take_out", "def take_out(weights, tokens): ...", asks(numbers["steps"])),
        Exercise("read_a_row", "def read_a_row(): ...", on_paper(numbers)),
    ]
