"""A case study: contradictions between sentences, and one with copies."""

import math
from collections import Counter
from itertools import combinations, combinations_with_replacement, permutations, product

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, for_credit
from selfattn_book.experiments.words import case_study, xor_sentences

PARTS = {"words at positions": lambda s: list(enumerate(s)), "words": lambda s: [*s]}
PLACES = "case-study.html#words-and-words-at-positions"


def counter(parts, select=combinations, join=lambda a, b: tuple(sorted(a + b)), **options):
    """Return the program that counts contradictions, put together from parts."""

    def count(tokens, labels):
        def pairs(label):
            rows = tokens if options.get("all_labels") else tokens[labels == label]
            rows = rows.unique(dim=0) if options.get("unique") else rows
            return Counter(join(parts(a), parts(b)) for a, b in select(rows.tolist(), 2))

        ones, zeros = pairs(1), pairs(0)
        if options.get("kinds"):
            return len(ones.keys() & zeros.keys())
        return sum(number * zeros[pair] for pair, number in ones.items())

    return count


def many(seed, vocabulary, count):
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (count, 3), generator=chance)
    return tokens, torch.randint(2, (count,), generator=chance)


def no_contradictions():
    none = torch.tensor([[0, 1, 2], [3, 4, 0], [1, 1, 2]]), torch.tensor([1, 0, 1])
    tokens, labels = xor_sentences()
    return [none, (tokens, labels.long())]


def copied_rows():
    (one, two), (tokens, labels) = xor_sentences(), case_study()
    rows = [0, 0, 1, 2, 3, 3]
    return [(one[rows], two[rows].long()), (tokens, labels.long())]


def contradictions(name):
    parts = PARTS[name]
    (other,) = (PARTS[key] for key in PARTS if key != name)
    ordered = counter(parts, permutations)
    # At one position, two words are known by their set.
    sets = {"How often a word occurs matters.": counter(parts, join=lambda a, b: frozenset(a + b))}
    wrong = (sets if name == "words" else {}) | {
        "This is the other sum: words at positions, or words.": counter(other),
        "Pairs have no order.": (ordered, lambda *case: ordered(*case) / 2),
        "The four rows must be different.": (
            counter(parts, combinations_with_replacement),
            counter(parts, lambda rows, size: product(rows, repeat=size)),
        ),
        "Each row counts by itself, copies too.": (
            counter(parts, unique=True),
            counter(parts, kinds=True),
        ),
        "The labels were not used.": counter(parts, all_labels=True),
    }
    questions = [
        checked("none is found where there is none", PLACES, 1, *no_contradictions()),
        checked("copies count", PLACES, 2, *copied_rows()),
        checked("it counts right in small data", PLACES, 3, many(1, 2, 9), many(2, 3, 11)),
        checked("and in larger data", PLACES, 2, many(3, 2, 14), many(4, 3, 18)),
    ]
    return for_credit(
        "def contradictions(tokens, labels): ...",
        questions,
        right=counter(parts),
        wrong=wrong,
        gate=2,
        returns="the count",
    )


def root(k):
    """Return the root of t⁴ = (k − 1) t + k."""
    low, high = 1.0, 3.0
    for _ in range(60):
        t = (low + high) / 2
        low, high = (t, high) if t**4 < (k - 1) * t + k else (low, t)
    return low


def on_paper(k):
    t = root(k)
    total = k * math.log(1 + t**-3) + 3 * math.log(1 + t)
    share = k / (k + 3)
    right = {
        "balance": k / 10,
        "plain": math.log(2),
        "t": t,
        "doubts": [1 / (1 + t**3), t / (1 + t)],
        "floor": total / (k + 3),
    }
    wrong = {
        "The copies have k doubts, which add up.": {"balance": 0.1},
        "The others balance all copies together.": {"balance": 1 / (10 * k)},
        "Each of the three balances the copies; they do not share.": {"balance": k / 30},
        "The answer is the mean over four sentences.": {"plain": 4 * math.log(2)},
        "The four cannot all be right.": {"plain": 0},
        "These are margins of 0, for one copy only.": {"t": 1},
        "This is the logarithm of t.": {"t": math.log(t)},
        "These are the probabilities of the right labels.": {
            "doubts": [1 - 1 / (1 + t**3), 1 / (1 + t)]
        },
        "The two are exchanged.": {"doubts": [t / (1 + t), 1 / (1 + t**3)]},
        "This is a sum over the rows.": {"floor": total},
        "There are k + 3 rows, not four.": {"floor": total / 4},
        "ln 2 is the floor for one copy.": {"floor": math.log(2)},
        "This is the price of one bag, where all share a logit.": {
            "floor": -share * math.log(share) - (1 - share) * math.log(1 - share)
        },
    }
    return by_hand("copied", PLACES, right, wrong, points={"t": 2})


def exercises(numbers):
    return [contradictions(numbers["sum"]), on_paper(numbers["copies"])]
