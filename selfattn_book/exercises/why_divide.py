"""Scaled dot-product attention: attention with a temperature."""

import torch
import torch.nn.functional as F

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.scores import misconceptions
from selfattn_book.exercises.checking.views import score_direction

WIDTH, KEYS, VALUE = 7, 5, 9
HOT, COLD = 1e9, 1e-9


def attention(
    scores=lambda q, k: q / q.size(-1) ** 0.5 @ k.mT, weigh=lambda scores: scores.softmax(-1)
):
    return lambda q, k, v, t: weigh(scores(q, k) / t) @ v


attend = attention()


def divided_by(divisor):
    return lambda q, k, v, t: (q / divisor(q.size(-1), t) @ k.mT).softmax(-1) @ v


def at(temperature):
    return lambda q, k, v, t: attend(q, k, v, temperature(t))


@factory
def case(temperature, width=WIDTH, queries=KEYS, times=1):
    query, key, value = drawn(3, KEYS, width, seed=13)
    wide = F.pad(value, (0, VALUE - width))
    return times * query[:queries], key, wide + drawn(KEYS, VALUE, seed=14), temperature


@factory
def identity(temperature=1, **sizes):
    """Return a case whose values give the weights back."""
    query, key, value, _ = case(1, **sizes)()
    return query, key, torch.eye(KEYS, VALUE).to(value), temperature


def half_case():
    """Return equal queries and keys of float16, of 64 dimensions, and values of 1."""
    return *(torch.full((3, 64), number).half() for number in (32.0, 32.0, 1.0)), 1.0


def powers(q, k, v, t):
    weights = attend(q, k, torch.eye(len(k)).to(v), 1) ** t
    return weights / weights.sum(1, keepdim=True) @ v


@factory
def slope_at_two(attend, query, key, value, temperature):
    """Return the program that compares the scores of temperatures 2 and 1 of one attention."""
    found = [torch.as_tensor(attend(query.clone(), key, value, t))[:, :KEYS] for t in (1, 2)]
    once, twice = (x.double().log() - x.double().log().mean(-1, keepdim=True) for x in found)
    sums = found[1].double().sum(-1)
    return (once * twice).sum() / once.square().sum() * sums


WRONG = {
    **misconceptions(attention),
    "Query and key are exchanged: a row belongs to a query.": lambda q, k, v, t: attend(k, q, v, t),
    "Queries are compared with queries.": lambda q, k, v, t: attend(q, q, v[: len(q)], t),
    "Keys are compared with keys.": lambda q, k, v, t: attend(k, k, v, t)[: len(q)],
    "The root is that of the number of keys, not of the dimension.": (
        attention(lambda q, k: q / len(k) ** 0.5 @ k.mT)
    ),
    "The root is that of the number of queries, not of the dimension.": (
        attention(lambda q, k: q / len(q) ** 0.5 @ k.mT)
    ),
    "The root is that of the dimension of a value, not of a key.": (
        lambda q, k, v, t: (q / (t * v.size(1) ** 0.5) @ k.mT).softmax(-1) @ v
    ),
    "It is divided by √7 for every dimension.": divided_by(lambda d, t: t * 7**0.5),
    "The temperature is added to the root, and does not multiply it.": (
        divided_by(lambda d, t: t + d**0.5)
    ),
    "The temperature is under the root, beside the dimension.": at(lambda t: t**0.5),
    "The scores are multiplied by the temperature.": at(lambda t: 1 / t),
    "The weights are raised to the power of the temperature: it multiplies the scores.": powers,
    "The temperature divides twice, as of queries and of keys.": at(lambda t: t * t),
    "The temperature makes no difference.": at(lambda t: 1),
    "The weights are divided by the temperature, and not the scores.": (
        lambda q, k, v, t: attend(q, k, v, 1) / t
    ),
    "A high temperature is limited.": at(lambda t: min(t, 9)),
    "A low temperature is limited.": at(lambda t: max(t, 1e-3)),
    "The temperature is limited to at least one half.": at(lambda t: max(t, 0.5)),
    "The temperature is rounded down to a whole number.": lambda q, k, v, t: attend(
        q, k, v, int(t)
    ),
    "An exponential overflows: subtract the largest score of the row first.": (
        attention(weigh=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))
    ),
    "The product passes 65504 before it is divided.": (
        attention(lambda q, k: q @ k.mT / q.size(-1) ** 0.5)
    ),
    "The weights are all equal.": lambda q, k, v, t: v.mean(0).expand(len(q), -1),
    "Each query attends to one value alone: the weights are left out.": (
        lambda q, k, v, t: v[: len(q)]
    ),
    "The keys are averaged, and not the values.": lambda q, k, v, t: attend(q, k, k, t),
    "These are weights, and not averages of the values.": (
        lambda q, k, v, t: attend(q, k, torch.eye(len(k)).to(q), t)
    ),
}
CODE = "why-divide.html#the-divisor-in-the-code"
SATURATION = "why-divide.html#large-scores-saturate-the-softmax"
VARIANCE = "why-divide.html#the-variance-of-a-score"
QUESTIONS = [
    Question("it gives a context for each query", CODE, view=form, cases=[case(1, queries=3)]),
    Question(
        "the contexts are averages of the values",
        SATURATION,
        view=lambda contexts, *case: contexts.double().sqrt().square().sum(-1),
        cases=[identity()],
    ),
    Question(
        "queries are compared with keys",
        CODE,
        view=lambda contexts, *case: score_direction(contexts[:, :KEYS]),
        cases=[identity()],
    ),
    checked(
        "a temperature of 1 is the usual attention", VARIANCE, 1, case(1), case(1, 3, queries=4)
    ),
    Question(
        "a temperature of 2 halves the scores", SATURATION, via=slope_at_two, cases=[identity()]
    ),
    checked(
        "a very high temperature makes the weights uniform", SATURATION, 1, case(HOT), case(1.7)
    ),
    Question(
        "a very low temperature chooses one key",
        SATURATION,
        cases=[identity(COLD, times=1e-2)],
        view=lambda contexts, *case: contexts.double().sort(-1).values,
    ),
    checked("it works in 16 bits", CODE, 1, half_case),
]
EXERCISE = Exercise(
    "def attend(query, key, value, temperature):\n    ...",
    QUESTIONS,
    right=attend,
    wrong=WRONG,
    unusual={
        "PyTorch's own": lambda q, k, v, t: F.scaled_dot_product_attention(q / t, k, v),
        "late in 32 bits": attention(
            lambda q, k: (q.float() @ k.float().mT / q.size(1) ** 0.5).to(q)
        ),
        "both divided": lambda q, k, v, t: attend(q / t**0.5, k / t**0.5, v, 1),
    },
    returns="the contexts",
)
check = EXERCISE.check
