"""Reading attention maps with care: how much attention goes to earlier copies of a token."""

from functools import partial

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, form
from selfattn_book.exercises.checking.results import Wrong


def case(texts, heads, length, vocabulary):
    """Return random causal maps, and tokens of which some are repeated."""
    chance = torch.Generator().manual_seed(length)
    scores = torch.randn(texts, heads, length, length, generator=chance, dtype=torch.float64)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    weights = (2 * scores).masked_fill(later, -torch.inf).softmax(-1)
    return weights, torch.randint(vocabulary, (texts, length), generator=chance)


def extremes():
    """Return maps of a head that attends to copies alone, and of one that attends to itself."""
    tokens = torch.tensor([[0, 1, 0, 1, 1]])
    copies = copies_of(tokens)[0].double()
    copies[:2, 0] = 1.0  # without a copy, somewhere
    weights = torch.stack([copies / copies.sum(-1, keepdim=True), torch.eye(5).double()])
    return weights[None], tokens


def uneven():
    """Return a case with a text that has one copy, and one that has five."""
    weights, _ = case(2, 3, 6, 3)
    return weights, torch.tensor([[0, 1, 2, 3, 4, 0], [0] * 6])


def copies_of(tokens):
    """Return which keys are earlier copies of each query, (B, T, T)."""
    return (tokens[:, :, None] == tokens[:, None, :]).tril(-1)


def score(
    weights, tokens, *, itself=False, after=False, latest=False, mean=False, all_queries=False
):
    cells = copies = copies_of(tokens)
    queries = torch.ones_like(copies).any(-1) if all_queries else copies.any(-1)
    if itself:
        cells = copies | torch.eye(tokens.size(1), dtype=torch.bool)
    if latest:
        cells = cells & (cells.flip(-1).cumsum(-1).flip(-1) == 1)
    if after:
        cells = cells.roll(1, dims=-1).tril()
    attention = (weights * cells[:, None]).sum(-1)
    if mean:
        attention = attention / cells.sum(-1).clamp(min=1)[:, None]
    return attention.transpose(0, 1)[:, queries].mean(1)


COPIES = "reading-maps.html#induction-heads"
HERE = "reading-maps.html#exercises"
QUESTIONS = [
    Question("it is one number for each head", COPIES, view=form),
    checked(
        "it is 1 for a head that attends only to copies, and 0 for one that never does",
        COPIES,
        1,
        extremes,
    ),
    Question("it is right on random maps", HERE, points=2),
]
WRONG: Wrong = {
    "A token counts as a copy of itself.": partial(score, itself=True),
    "A token counts as a copy of itself, and the mean goes over all queries.": (
        partial(score, itself=True, all_queries=True)
    ),
    "The mean goes over all queries, also those without a copy.": partial(score, all_queries=True),
    "This measures attention to the token after the copy, as the induction score does.": (
        partial(score, after=True)
    ),
    "Only the latest copy was counted.": partial(score, latest=True),
    "Rows and columns are exchanged: a row belongs to a query.": lambda w, t: score(w.mT, t),
    "Each text counts the same here; the mean goes over the queries of all texts.": (
        lambda w, t: torch.stack(
            [score(*text) for text in zip(w.split(1), t.split(1), strict=True)]
        ).mean(0)
    ),
    "A mean over the copies was taken, not their sum.": partial(score, mean=True),
    "The sum was not divided by the number of queries.": (
        lambda weights, tokens: score(weights, tokens) * copies_of(tokens).any(-1).sum()
    ),
    "This is the rest: the attention that the copies do not get.": lambda w, t: 1 - score(w, t),
}
EXERCISE = Exercise(
    "def copy_score(weights, tokens):\n    ...",
    QUESTIONS,
    right=score,
    wrong=WRONG,
    cases=[uneven(), case(3, 2, 7, 3), case(2, 5, 11, 4), case(4, 1, 5, 2)],
    returns="the scores",
)
check = EXERCISE.check
