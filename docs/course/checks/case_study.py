"""A case study, solved: find the contradictions, and one with copies."""

import math
from collections import Counter
from collections.abc import Callable, Hashable
from itertools import combinations, permutations, product
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.answer_checks import Function, agrees, gives
from selfattn_book.exercises.checking.exercise import Asked, Exercise
from selfattn_book.experiments.words import case_study, xor_sentences

Parts = Callable[[list[int]], list[Hashable]]
PARTS: dict[str, Parts] = {
    "placed words": lambda s: list(enumerate(s)),
    "words": lambda s: [*s],
}


def counter(parts: Parts, **others: Any) -> Function:
    """Return the count of contradictions, put together from parts."""
    select, join = others.get("select", combinations), others.get("join", _together)
    labelled = others.get("labelled", True)

    def count(tokens: Tensor, labels: Tensor) -> int:
        def pairs(label: int) -> Counter[Hashable]:
            rows = tokens[labels == label] if labelled else tokens
            kept = rows.unique(dim=0) if others.get("unique") else rows
            pairs_of_rows = select(kept.tolist(), 2)
            return Counter(join(parts(a), parts(b)) for a, b in pairs_of_rows)

        ones, zeros = pairs(1), pairs(0)
        if others.get("kinds"):
            return len(ones.keys() & zeros.keys())
        return sum(number * zeros[pair] for pair, number in ones.items())

    return count


def _together(one: list[Any], two: list[Any]) -> Hashable:
    """Return what two sentences have together, each part as often as it occurs."""
    return tuple(sorted(one + two))


def with_itself(rows: list[Any], size: int) -> Any:
    """Return all pairs without order, of a row with itself as well."""
    return ((rows[i], rows[j]) for i in range(len(rows)) for j in range(i, len(rows)))


def mistakes(name: str) -> list[tuple[str, Function]]:
    """Return misconceptions, each with what follows from it."""
    parts, other = (
        PARTS[name],
        PARTS["words" if name == "placed words" else "placed words"],
    )
    ordered = counter(parts, select=permutations)
    half = lambda t, y: ordered(t, y) / 2  # noqa: E731
    return [
        ("This is the other sum: placed words, or words.", counter(other)),
        ("Pairs have no order.", ordered),
        ("Pairs have no order.", half),
        ("Four different rows are asked for.", counter(parts, select=with_itself)),
        (
            "Four different rows are asked for.",
            counter(parts, select=lambda r, n: product(r, repeat=n)),
        ),
        (
            "How often a word occurs matters.",
            counter(parts, join=lambda a, b: frozenset(a + b)),
        ),
        ("Each row counts by itself, copies too.", counter(parts, unique=True)),
        ("Each row counts by itself, copies too.", counter(parts, kinds=True)),
        ("The labels were not looked at.", counter(parts, labelled=False)),
    ]


def many(seed: int, vocabulary: int, count: int) -> tuple[Tensor, Tensor]:
    """Return random sentences, with copies and contradictions."""
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (count, 3), generator=chance)
    return tokens, torch.randint(2, (count,), generator=chance)


def asks(name: str) -> list[Asked]:
    """Return what is asked of a count."""
    right, wrong = counter(PARTS[name]), mistakes(name)
    tokens, labels = case_study()
    one, two = xor_sentences()
    certificate = "case-study.html#a-proof-that-fits-in-a-list"
    places = "case-study.html#words-and-words-at-their-places"
    none = torch.tensor([[0, 1, 2], [3, 4, 0], [1, 1, 2]]), torch.tensor([1, 0, 1])
    copies = one[[0, 0, 1, 2, 3, 3]], two[[0, 0, 1, 2, 3, 3]].long()
    asked: list[tuple[str, list[tuple[Tensor, Tensor]], str, int]] = [
        (
            "none is found where there is none",
            [none, (one, two.long())],
            certificate,
            1,
        ),
        ("copies count", [copies, (tokens, labels.long())], places, 2),
        (
            "it counts right in small data",
            [many(1, 2, 9), many(2, 3, 11)],
            certificate,
            3,
        ),
        ("and in larger data", [many(3, 2, 14), many(4, 3, 18)], certificate, 2),
    ]
    return [
        Asked(message, agrees(right, cases, *wrong), section, points)
        for message, cases, section, points in asked
    ]


def root(k: int) -> float:
    """Return the root of t⁴ = (k − 1) t + k."""
    low, high = 1.0, 3.0
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if t**4 < (k - 1) * t + k else (low, t)
    return low


def on_paper(k: int) -> list[Asked]:
    """Return what is asked of a contradiction with copies."""
    t = root(k)
    total = k * math.log(1 + t**-3) + 3 * math.log(1 + t)
    share = k / (k + 3)
    wanted = {
        "balance": k / 10,
        "plain": math.log(2),
        "t": t,
        "doubts": [1 / (1 + t**3), t / (1 + t)],
        "floor": total / (k + 3),
    }
    wrong: dict[str, dict[str, Any]] = {
        "balance": {
            "The copies have k doubts, which add up.": 0.1,
            "The others balance all copies together.": 1 / (10 * k),
            "Each of the three balances the copies; they do not share.": k / 30,
        },
        "plain": {
            "The mean over four sentences is asked for.": 4 * math.log(2),
            "The four cannot all be right.": 0,
        },
        "t": {
            "These are margins of 0, for one copy only.": 1,
            "This is the logarithm of t.": math.log(t),
        },
        "doubts": {
            "These are the probabilities of the right labels.": [
                1 - 1 / (1 + t**3),
                1 / (1 + t),
            ],
            "The two are exchanged.": [t / (1 + t), 1 / (1 + t**3)],
        },
        "floor": {
            "This is a sum over the rows.": total,
            "There are k + 3 rows, not four.": total / 4,
            "ln 2 is the floor for one copy.": math.log(2),
            "This is the price of one bag, where all share a logit.": -share * math.log(share)
            - (1 - share) * math.log(1 - share),
        },
    }
    section = "case-study.html#words-and-words-at-their-places"
    return gives(wanted, wrong, section, points={"t": 2})


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    stub = "def contradictions(tokens, labels): ..."
    return [
        Exercise("contradictions", stub, asks(numbers["sum"])),
        Exercise("copied", "def copied(): ...", on_paper(numbers["copies"])),
    ]
