"""Self-attention without learned parameters: contexts and weights in plain Python."""

import math

import torch
import torch.nn.functional as F

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.views import compared, row_sums, second


def attention(
    score=lambda x: x @ x.mT / x.size(1) ** 0.5,
    weigh=lambda scores: scores.softmax(-1),
    average=torch.matmul,
):
    def attend(rows):
        x = torch.tensor(rows, dtype=torch.float64)
        found = weigh(score(x))
        return average(found, x), found

    return attend


def in_python(x):
    contexts, weights = [], []
    for query in x:
        scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in x]
        powers = [math.exp(score / math.sqrt(len(query))) for score in scores]
        weights.append([power / sum(powers) for power in powers])
        columns = zip(*x, strict=True)
        pairs = [zip(weights[-1], column, strict=True) for column in columns]
        contexts.append([sum(weight * entry for weight, entry in pair) for pair in pairs])
    return contexts, weights


@factory
def case(length, width):
    return (drawn(length, width, seed=length).double().tolist(),)


def hidden(mask):
    return attention(weigh=lambda s: s.masked_fill(mask(s).bool(), -torch.inf).softmax(-1))


def errors(pair, rows):
    """View how far the contexts are from the averages with these weights."""
    return pair[0].double() - pair[1].double() @ torch.tensor(rows, dtype=torch.float64)


attend, undivided = attention(), attention(lambda x: x @ x.mT)
WRONG = {
    "The softmax comes before the division: divide the scores, not the weights.": (
        lambda rows: [part / len(rows[0]) ** 0.5 for part in undivided(rows)]
    ),
    "The word itself is added to its context.": attention(average=lambda w, x: w @ x + x),
    "Each word attends to itself alone.": attention(weigh=lambda s: torch.eye(len(s)).to(s)),
    "These are logarithms of weights.": attention(weigh=lambda s: s.log_softmax(-1)),
    "The scores are not divided by the root of the dimension.": undivided,
    "The scores are divided by the dimension, not by its root.": (
        attention(lambda x: x @ x.mT / x.size(1))
    ),
    "The scores are multiplied by the root, not divided.": (
        attention(lambda x: x @ x.mT * x.size(1) ** 0.5)
    ),
    "The root is that of the number of words.": attention(lambda x: x @ x.mT / len(x) ** 0.5),
    "The divisor is √2 for every dimension: 2 was the dimension of the example.": (
        attention(lambda x: x @ x.mT / 2**0.5)
    ),
    "The root was taken twice.": attention(lambda x: x @ x.mT / x.size(1) ** 0.25),
    "The sign is wrong: the larger a dot product, the smaller is the weight.": (
        attention(lambda x: -x @ x.mT / x.size(1) ** 0.5)
    ),
    "The weights are all equal.": attention(lambda x: 0 * x @ x.mT),
    "The scores are cosines: each vector was divided by its length.": (
        attention(lambda x: F.normalize(x) @ F.normalize(x).mT)
    ),
    "The scores are distances, where dot products are meant.": (
        attention(lambda x: -torch.cdist(x, x))
    ),
    "The scores are squared distances, where dot products are meant.": (
        attention(lambda x: -torch.cdist(x, x).square())
    ),
    "The dot products were squared.": attention(lambda x: (x @ x.mT).square()),
    "The dot products lost their signs.": attention(lambda x: (x @ x.mT).abs() / x.size(1) ** 0.5),
    "The softmax runs along the queries: each row must sum to one.": (
        attention(weigh=lambda s: s.softmax(0))
    ),
    "The softmax runs over the whole table: each row must sum to one.": (
        attention(weigh=lambda s: s.flatten().softmax(0).view_as(s))
    ),
    "The exponentials are not divided by their sum.": attention(weigh=torch.exp),
    "These are scores: the softmax is missing.": attention(weigh=lambda s: s),
    "The scores themselves were divided by their sum: exponentials come first.": (
        attention(weigh=lambda s: s / s.sum(1, keepdim=True))
    ),
    "Each query attends to one key alone: a softmax is no argmax.": (
        attention(weigh=lambda s: F.one_hot(s.argmax(1), len(s)).to(s))
    ),
    "The diagonal is left out: a word attends to itself, too.": hidden(lambda s: torch.eye(len(s))),
    "A causal mask was applied, but the task has no mask.": (
        hidden(lambda s: torch.ones_like(s).triu(1))
    ),
    "The weights are read along a column: a row belongs to a query.": (
        attention(average=lambda w, x: w.mT @ x)
    ),
    "The words came back as they were.": attention(average=lambda w, x: x),
    "The contexts are right, but the weights returned with them are different.": (
        lambda rows: (attend(rows)[0], undivided(rows)[1])
    ),
    "The contexts come first, then the weights.": lambda rows: attend(rows)[::-1],
    "The contexts are transposed: a row belongs to a query.": (
        lambda rows: (attend(rows)[0].mT, attend(rows)[1])
    ),
}


EQUATION = "attention-without-weights.html#self-attention-in-one-equation"
BY_HAND = "attention-without-weights.html#four-words-by-hand"
QUESTIONS = [
    Question("it gives contexts and weights, a row for each word", EQUATION, view=form),
    Question("each row of weights is positive and sums to one", BY_HAND, view=row_sums),
    Question("the contexts are averages with these weights", BY_HAND, view=errors),
    Question("the score of two words is made of their dot product", BY_HAND, view=compared),
    Question("each score is divided", EQUATION, view=second),
]
EXERCISE = Exercise(
    "def attend(X):\n    ...",
    QUESTIONS,
    right=attend,
    wrong=WRONG,
    cases=[case(5, 2), case(7, 3), case(1, 6)],
    unusual={"plain Python": in_python},
    returns=("the contexts", "the weights"),
)
check = EXERCISE.check
