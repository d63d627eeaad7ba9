"""Multi-head attention: the contribution of each head."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.experiments.seeding import set_seed
from selfattn_book.multi_head import MultiHeadAttention


@factory
def case(batch, length, width, heads, d_head):
    set_seed(8)
    return MultiHeadAttention(width, heads, d_head=d_head), drawn(batch, length, width, seed=8)


def silent_case():
    """Return an attention module whose second head meets rows of zeros in W^O, and sentences."""
    attention, x = case(2, 5, 10, 3, 7)()
    attention.project_output.weight.data.unflatten(1, (3, 7))[:, 1] = 0
    return attention, x


def split(attention, wide):
    """Split the last axis into heads: ``(B, S, H d)`` to ``(B, H, S, d)``."""
    return wide.unflatten(-1, (attention.num_heads, attention.d_head)).transpose(1, 2)


def blocks_of(attention):
    """Return the rows of W^O of each head, ``(H, d, D)``."""
    return attention.project_output.weight.T.unflatten(0, (attention.num_heads, attention.d_head))


def parts(split=split, blocks=blocks_of, weigh=lambda weights: weights, bias=1):
    def contributions(attention, x):
        weights = attention(x, x, x)[1]
        wide = attention.project_value(x) - (1 - bias) * attention.project_value.bias
        return weigh(weights) @ split(attention, wide) @ blocks(attention)

    return contributions


contributions = parts()


def then(change):
    return lambda attention, x: change(contributions(attention, x), attention)


CONTRIBUTION = "many-heads.html#the-contribution-of-each-head"
SPLITTING = "many-heads.html#splitting-heads-transpose-do-not-only-reshape"
QUESTIONS = [
    Question("there is one part for each head and word", CONTRIBUTION, view=form),
    Question(
        "with b^O, the parts add up to the output",
        CONTRIBUTION,
        2,
        lambda found, *case: found.sum(1),
    ),
    Question(
        "a head whose rows of W^O are 0 adds nothing",
        CONTRIBUTION,
        view=lambda found, *case: found.abs().amax((0, 2, 3)) > 0,
        cases=[silent_case],
    ),
    Question("each part is the contribution of its head", SPLITTING, points=2),
]
WRONG = {
    "The values have a bias, b^V, which is left out.": parts(bias=0),
    "b^O is added to each part, and belongs to no head.": (
        then(lambda found, attention: found + attention.project_output.bias)
    ),
    "b^O is divided among the heads, and belongs to none.": (
        then(lambda found, a: found + a.project_output.bias / a.num_heads)
    ),
    "Words and heads are scrambled: move the axes first.": (
        parts(lambda a, wide: wide.reshape(len(wide), a.num_heads, -1, a.d_head))
    ),
    "Neighboring columns of the values went to different heads.": (
        parts(lambda a, wide: wide.unflatten(-1, (a.d_head, a.num_heads)).permute(0, 3, 1, 2))
    ),
    "All words count alike: the weights are those of a mean.": (
        parts(weigh=lambda weights: torch.ones_like(weights) / weights.size(-1))
    ),
    "PyTorch stores W^O transposed: a head has columns of the stored matrix.": (
        parts(blocks=lambda a: a.project_output.weight.reshape(blocks_of(a).shape))
    ),
    "The weights are left out: each word adds its own value.": (
        parts(weigh=lambda weights: torch.eye(weights.size(-1)).to(weights))
    ),
    "All heads use the mean of the weights.": parts(weigh=lambda w: w.mean(1, keepdim=True)),
    "The weights are transposed: a row belongs to a query.": parts(weigh=lambda w: w.mT),
    "The parts are at other heads' positions.": then(lambda found, a: found.roll(1, 1)),
    "Each head meets another head's rows of W^O.": parts(blocks=lambda a: blocks_of(a).roll(1, 0)),
    "The output is divided evenly among the heads, independent of their contributions.": (
        then(lambda found, a: found.mean(1, keepdim=True).expand_as(found))
    ),
    "Each part also includes those of the heads before it.": then(lambda f, a: f.cumsum(1)),
    "The axes are in another order: heads come after the batch.": (
        then(lambda found, a: found.transpose(1, 2))
    ),
    "The axes are in another order: the batch comes first.": then(lambda f, a: f.transpose(0, 1)),
    "The heads are added up already.": then(lambda found, a: found.sum(1)),
    "These are the heads before the output layer: each has still to meet its rows of W^O.": (
        lambda attention, x: attention(x, x, x)[1] @ split(attention, attention.project_value(x))
    ),
}
EXERCISE = Exercise(
    "def contributions(attention, x):\n    ...",
    QUESTIONS,
    right=contributions,
    wrong=WRONG,
    cases=[case(2, 5, 10, 3, 7), case(3, 4, 6, 2, 5)],
    returns="the parts",
)
check = EXERCISE.check
