"""What a mean forgets: the price of one look, and copies that contradict each other."""

import math
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

from selfattn_book.course import asking
from selfattn_book.course.exercise import Asked, Exercise

Case = tuple[Tensor, Tensor]
Look = Callable[[list[int]], Hashable]


def grouped(look: Look, tokens: Tensor, labels: Tensor) -> list[list[int]]:
    """Return the labels of each group of sentences that look alike."""
    groups: dict[Hashable, list[int]] = {}
    for sentence, label in zip(tokens.tolist(), labels.tolist(), strict=True):
        groups.setdefault(look(sentence), []).append(label)
    return list(groups.values())


def entropy(group: list[int]) -> float:
    """Return the least loss of a group."""
    shares = [sum(group) / len(group), 1 - sum(group) / len(group)]
    return -sum(share * math.log(share) for share in shares if share > 0)


def loss_of(look: Look) -> Callable[[Tensor, Tensor], float]:
    """Return the function that computes the least loss of what sees sentences so."""

    def loss(tokens: Tensor, labels: Tensor) -> float:
        groups = grouped(look, tokens, labels)
        return sum(len(group) * entropy(group) for group in groups) / len(tokens)

    return loss


def case(*rows: tuple[list[int], int]) -> Case:
    """Return sentences and labels."""
    return torch.tensor([words for words, _ in rows]), torch.tensor(
        [y for _, y in rows]
    )


def swapped(words: list[int], place: int) -> list[int]:
    """Return the same words, other than at their place only where the model does not look."""
    i, j = (other for other in range(3) if other != place)
    words = list(words)
    words[i], words[j] = words[j], words[i]
    return words


def many(seed: int) -> Case:
    """Return many sentences, with copies and contradictions."""
    chance = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, (60, 4), generator=chance)
    return tokens, (torch.rand(60, generator=chance) < 0.3).long()


def asks(place: int) -> list[Asked]:
    """Return what is asked of a least loss."""

    def right_look(words: list[int]) -> Hashable:
        return tuple(sorted(words)), words[place]

    right = loss_of(right_look)

    def ln2(tokens: Tensor, labels: Tensor) -> float:
        groups = grouped(right_look, tokens, labels)
        doubted = [len(group) for group in groups if 0 < sum(group) < len(group)]
        return math.log(2) * sum(doubted) / len(tokens)

    def of_groups(tokens: Tensor, labels: Tensor) -> float:
        losses = [entropy(group) for group in grouped(right_look, tokens, labels)]
        return sum(losses) / len(losses)

    def errors(tokens: Tensor, labels: Tensor) -> float:
        groups = grouped(right_look, tokens, labels)
        return sum(min(sum(g), len(g) - sum(g)) for g in groups) / len(tokens)

    wrong = [
        (
            "These are bits; the loss is in natural logarithms.",
            lambda *c: right(*c) / math.log(2),
        ),
        (
            "It is the sum, not the mean over the sentences.",
            lambda t, y: right(t, y) * len(t),
        ),
        ("ln 2 is the price of an even contradiction only.", ln2),
        ("The mean is over groups, not over sentences.", of_groups),
        ("This is the share of errors, not a loss.", errors),
        ("The bag was taken alone.", loss_of(lambda w: tuple(sorted(w)))),
        ("The word at the place was taken alone.", loss_of(lambda w: w[place])),
        (
            "Words are counted in a bag.",
            loss_of(lambda w: (frozenset(w), w[place])),
        ),
        ("The whole sentence was looked at.", loss_of(tuple)),
        (
            "Another place was looked at.",
            loss_of(lambda w: (tuple(sorted(w)), w[place - 1])),
        ),
        (
            "Another place was looked at.",
            loss_of(lambda w: (tuple(sorted(w)), w[place - 2])),
        ),
    ]
    base = [0, 1, 2]
    twin = swapped(base, place)
    told_apart = [case((base, 1), ([1, 2, 0], 0), ([3, 4, 0], 1))]
    even = [case((base, 1), (twin, 0), ([3, 3, 3], 1)), case((base, 0), (base, 1))]
    uneven = [
        case((base, 1), (twin, 1), (base, 1), (twin, 0), ([4, 4, 3], 0)),
        case((base, 0), (twin, 1), (twin, 0), ([4, 4, 3], 0), ([4, 4, 3], 1)),
    ]
    counts = [case(*_counts(place))]
    asked = [
        ("what can be told apart costs nothing", told_apart, 1),
        ("an even contradiction has its price", even, 2),
        ("so has an uneven one", uneven, 2),
        ("a bag counts its words", counts, 1),
        ("it holds for many sentences with copies", [many(1), many(2)], 2),
    ]
    section = "what-a-mean-forgets.html#one-logit-two-labels"
    return [
        Asked(told, asking.agrees(right, cases, *wrong), section, points)
        for told, cases, points in asked
    ]


def _counts(place: int) -> list[tuple[list[int], int]]:
    """Return two sentences of the same words, in other numbers, with the same word at a place."""
    first, second = [1, 2, 2], [2, 1, 1]
    first[0], first[place] = first[place], first[0]
    second[1], second[place] = second[place], second[1]
    return [(first, 1), (second, 0)]


def on_paper(numbers: dict[str, Any]) -> list[Asked]:
    """Return what is asked of the copies."""
    a, b, c = numbers["ones"], numbers["zeros"], numbers["others"]
    loss, logit = entropy([1] * a + [0] * b), math.log(a / b)
    floor = loss * (a + b) / (a + b + c)
    wanted = {
        "logit": logit,
        "margins": [logit, -logit],
        "loss": loss,
        "floor": floor,
        "errors": b,
    }
    wrong: dict[str, dict[str, Any]] = {
        "logit": {
            "This is the probability; the logit is another number.": a / (a + b),
            "The ratio still wants its logarithm.": a / b,
            "Its sign is that of label 0.": -logit,
            "At 0 the model says: I do not know.": 0,
        },
        "margins": {
            "A margin turns its sign where the label is 0.": [logit, logit],
            "These are probabilities.": [a / (a + b), b / (a + b)],
        },
        "loss": {
            "ln 2 is the price of an even contradiction only.": math.log(2),
            "These are bits.": loss / math.log(2),
            "It is the sum, not the mean.": loss * (a + b),
        },
        "floor": {
            "The other sentences cost nothing, but they count.": loss,
            "It is the sum, not the mean.": loss * (a + b),
            "Each copy counts, not the sentence once.": loss / (1 + c),
        },
        "errors": {
            "All copies get one answer, and some have the other label.": 0,
            "The other answer makes fewer errors.": a,
        },
    }
    return asking.gives(
        wanted, wrong, "what-a-mean-forgets.html#one-logit-two-labels"
    )


def exercises(numbers: dict[str, Any]) -> list[Exercise]:
    """Return the exercises of one student."""
    return [
        Exercise(
            "least_loss",
            "def least_loss(tokens, labels): ...",
            asks(numbers["place"]),
        ),
        Exercise("copies", "def copies(): ...", on_paper(numbers)),
    ]
