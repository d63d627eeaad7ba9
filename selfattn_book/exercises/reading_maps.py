"""Reading maps: how much attention goes to earlier copies of a token."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from selfattn_book.exercises.checking.exercise import Asked, Exercise, checker
from selfattn_book.exercises.checking.numbers import tensor_of
from selfattn_book.properties.answer import YES, Answer, RefusedError, all_of
from selfattn_book.properties.calls import call

CopyScore = Callable[[Tensor, Tensor], Any]
Case = tuple[Tensor, Tensor]
SIZES = ((3, 2, 7, 3), (2, 5, 11, 4), (4, 1, 5, 2))  # texts, heads, length, tokens


def case(size: tuple[int, int, int, int]) -> Case:
    """Draw causal maps, and tokens of which some come again."""
    count, heads, length, kinds = size
    chance = torch.Generator().manual_seed(length)
    scores = torch.randn(count, heads, length, length, generator=chance)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = (2 * scores.double()).masked_fill(later, -torch.inf).softmax(-1)
    return weights, torch.randint(kinds, (count, length), generator=chance)


CASES = tuple(map(case, SIZES))


def scores_of(copy_score: CopyScore, given: Case) -> Tensor:
    """Return what an answer says of a case, if it is one number for each head."""
    weights, tokens = given
    made = call(copy_score, weights.clone(), tokens.clone())
    if made is None:
        raise RefusedError(Answer("missing", "it must return scores; got None."))
    found = tensor_of(made, "the scores")
    heads = weights.size(1)
    if tuple(found.shape) != (heads,):
        message = f"for {heads} heads the scores have shape ({heads},)"
        raise RefusedError(Answer("shape", f"{message}; got {tuple(found.shape)}."))
    return found.detach().double()


def score(
    given: Case,
    *,
    itself: bool = False,
    after: bool = False,
    latest: bool = False,
    turned: bool = False,
    all_queries: bool = False,
    each: bool = False,
) -> Tensor:
    """Return the right scores, or those that follow from a misconception."""
    weights, tokens = given
    length = tokens.size(1)
    same = tokens[:, :, None] == tokens[:, None, :]
    earlier = torch.ones(length, length, dtype=torch.bool).tril(-1)
    cells = same & (earlier | torch.eye(length, dtype=torch.bool) & itself)
    asked = (same & earlier).any(-1)
    if latest:
        cells = cells & (cells.flip(-1).cumsum(-1).flip(-1) == 1)
    if after:
        cells = cells.roll(1, dims=-1) & torch.ones_like(earlier).tril()
    if turned:
        weights = weights.mT
    looks = (weights * cells[:, None]).sum(-1)
    if each:  # a mean over copies, not their sum
        looks = looks / cells.sum(-1).clamp(min=1)[:, None]
    if all_queries:
        return looks.mean((0, 2))
    return (looks * asked[:, None]).sum((0, 2)) / asked.sum()


MISTAKES: list[tuple[str, Callable[[Case], Tensor]]] = [
    ("A token counts as a copy of itself.", partial(score, itself=True)),
    (
        "A token counts as a copy of itself, and the mean goes over all queries.",
        partial(score, itself=True, all_queries=True),
    ),
    (
        "The mean goes over all queries, also those without a copy.",
        partial(score, all_queries=True),
    ),
    (
        "This looks at what came after the copy, as the induction score does.",
        partial(score, after=True),
    ),
    ("Only the latest copy was counted.", partial(score, latest=True)),
    ("Rows and columns are exchanged: a row asks.", partial(score, turned=True)),
    ("A mean over the copies was taken, not their sum.", partial(score, each=True)),
    ("The sum was not divided by the number of queries.", lambda c: _total(c)),
    ("This is the rest, what the copies do not get.", lambda c: 1 - score(c)),
]


def _total(given: Case) -> Tensor:
    tokens = given[1]
    same = tokens[:, :, None] == tokens[:, None, :]
    asked = (same & torch.ones(same.shape[1:], dtype=torch.bool).tril(-1)).any(-1)
    return score(given) * asked.sum()


def is_one_a_head(copy_score: CopyScore) -> Answer:
    """Ask for one number a head, which it is if it can be asked."""
    for given in CASES:
        scores_of(copy_score, given)
    return YES


def is_right(copy_score: CopyScore) -> Answer:
    """Ask for the scores of maps that were drawn."""

    def one(given: Case) -> Answer:
        found, wanted = scores_of(copy_score, given), score(given)
        if torch.allclose(found, wanted, atol=1e-5):
            return YES
        head = int((found - wanted).abs().nan_to_num(torch.inf).argmax())
        message = f"head {head} has {float(found[head]):.4f}, not {float(wanted[head]):.4f}"
        size = tuple(given[0].shape)
        return Answer("mathematics", f"in maps of shape {size}, {message}.")

    def explains(wrong: Callable[[Case], Tensor]) -> bool:
        return all(
            torch.allclose(scores_of(copy_score, given), wrong(given), atol=1e-5) for given in CASES
        )

    named = ((message, partial(explains, wrong)) for message, wrong in MISTAKES)
    return all_of(map(one, CASES)).because(*named)


def knows_extremes(copy_score: CopyScore) -> Answer:
    """Ask about heads that look at nothing but copies, and at nothing but themselves."""
    tokens = torch.tensor([[0, 1, 0, 1, 1]])
    weights = torch.zeros(1, 2, 5, 5, dtype=torch.float64)
    weights[0, 1] = torch.eye(5)
    copies = tokens[:, :, None] == tokens[:, None, :]
    copies &= torch.ones(5, 5, dtype=torch.bool).tril(-1)
    weights[0, 0] = copies[0] / copies[0].sum(-1, keepdim=True).clamp(min=1)
    weights[0, 0, :2, 0] = 1.0  # they have no copy, and must look somewhere
    found = scores_of(copy_score, (weights, tokens))
    if torch.allclose(found, torch.tensor([1.0, 0.0]).double(), atol=1e-5):
        return YES
    message = "a head that looks at earlier copies alone has 1, one that looks at itself 0"
    said = ", ".join(f"{value:.4f}" for value in found.tolist())
    return Answer("mathematics", f"{message}; got {said}.")


EXERCISES = [
    Exercise(
        "copy_score",
        "def copy_score(weights, tokens):\n    ...",
        [
            Asked(
                "it is one number for each head",
                is_one_a_head,
                "reading-maps.html#letters-that-come-again",
            ),
            Asked(
                "it is 1 for a head that looks at copies alone, and 0 for one that does not",
                knows_extremes,
                "reading-maps.html#letters-that-come-again",
            ),
            Asked(
                "it is right on maps that were drawn",
                is_right,
                "reading-maps.html#exercises",
                points=2,
            ),
        ],
    )
]
check = checker(EXERCISES)
