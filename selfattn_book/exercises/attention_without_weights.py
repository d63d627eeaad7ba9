"""Self-attention without learned parameters: contexts and weights in plain Python."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.scores import misconceptions
from selfattn_book.exercises.checking.views import compared, row_sums, second


def attention(
    scores=lambda q, k: q @ k.mT / q.size(1) ** 0.5,
    weigh=lambda scores: scores.softmax(-1),
    average=torch.matmul,
):
    def attend(rows):
        x = torch.tensor(rows, dtype=torch.float64)
        found = weigh(scores(x, x))
        return average(found, x), found

    return attend


@factory
def case(length, width):
    return (drawn(length, width, seed=length).double().tolist(),)


def errors(pair, rows):
    """View how far the contexts are from the averages with these weights."""
    return pair[0].double() - pair[1].double() @ torch.tensor(rows, dtype=torch.float64)


attend, undivided = attention(), attention(lambda q, k: q @ k.mT)
WRONG = {
    **misconceptions(attention),
    "The softmax comes before the division: divide the scores, not the weights.": (
        lambda rows: [part / len(rows[0]) ** 0.5 for part in undivided(rows)]
    ),
    "The word itself is added to its context.": attention(average=lambda w, x: w @ x + x),
    "Each word attends to itself alone.": attention(weigh=lambda s: torch.eye(len(s)).to(s)),
    "The root is that of the number of words.": attention(lambda q, k: q @ k.mT / len(k) ** 0.5),
    "The divisor is √2 for every dimension: 2 was the dimension of the example.": (
        attention(lambda q, k: q @ k.mT / 2**0.5)
    ),
    "The weights are all equal.": attention(lambda q, k: 0 * q @ k.mT),
    "The diagonal is left out: a word attends to itself, too.": (
        attention(weigh=lambda s: s.masked_fill(torch.eye(len(s)) > 0, -torch.inf).softmax(-1))
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
    returns=("the contexts", "the weights"),
)
check = EXERCISE.check
