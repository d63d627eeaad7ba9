"""The cost of attention, going deeper: the target model's verdict in speculative decoding."""

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, factory
from selfattn_book.exercises.checking.numbers import drawn
from selfattn_book.exercises.checking.views import first, second


@factory
def case(count, size, seed, equal=False):
    """Return drafted tokens, and the probabilities of the draft and of the target model."""
    draft, target = (drawn(rows, size, seed=seed + rows).softmax(-1) for rows in (count, count + 1))
    if equal:
        target[0] = draft[0]
    # The most likely token of the first row, which is sometimes rejected, and then any.
    tokens = torch.arange(seed, seed + count) % size
    tokens[0] = (draft[0] - target[0]).argmax()
    return tokens, draft, target


CASES = [case(1, 4, 91), case(3, 5, 92), case(4, 3, 93)]


def ratios(tokens, draft, target):
    at = torch.arange(len(tokens))
    return target[at, tokens] / draft[at, tokens]


def chances(tokens, draft, target):
    """Return the probability with which each token is accepted, if it is reached."""
    return ratios(tokens, draft, target).clamp(max=1)


def excess(draft, target):
    return (target[:-1] - draft).clamp(min=0)


@factory
def verdict(chance, rest, tokens, draft, target):
    """Return how many tokens are accepted, with what probability, and the next token's row."""
    a = chance(tokens, draft, target)
    return counted(a), torch.cat([divided(rest(draft, target), target), target[-1:]])


def counted(a):
    """Return the probability that exactly 0, 1, ... tokens are accepted."""
    one = a.new_ones(1)
    return torch.cat([one, a.cumprod(0)]) * torch.cat([1 - a, one])


def divided(rest, target):
    """Divide each row by its sum; a row of zeros becomes the target's."""
    total = rest.sum(-1, keepdim=True)
    return torch.where(total > 0, rest / total, target[:-1])


verify = verdict(chances, excess)


def with_counts(counts):
    return lambda *x: (counts(chances(*x)), verify(*x)[1])


def with_rows(rows):
    return lambda *x: (verify(*x)[0], rows(*x))


SECTION = "cost-deeper.html#speculative-decoding"
QUESTIONS = [
    Question("the numbers of accepted tokens have the right probabilities", SECTION, 3, first),
    Question("the next token has the right distribution", SECTION, 3, second),
    Question(
        "equal models reject nothing, and no row becomes nan",
        SECTION,
        1,
        second,
        [case(2, 4, 94, equal=True)],
    ),
]
WRONG = {
    "The ratio is upside down: it is the target's probability over the draft's.": verdict(
        lambda *x: (1 / ratios(*x)).clamp(max=1), excess
    ),
    "A ratio above 1 means that the token is accepted for sure, with probability 1.": verdict(
        ratios, excess
    ),
    "This accepts a token with its target probability; a likely draft counts, too.": verdict(
        lambda tokens, draft, target: target[torch.arange(len(tokens)), tokens], excess
    ),
    "This accepts only the target's most likely token, which is exact for greedy decoding alone.": (
        verdict(lambda tokens, draft, target: (target[:-1].argmax(-1) == tokens) * 1.0, excess)
    ),
    "The rows are shifted: row n of the target predicts drafted token n.": verdict(
        lambda tokens, draft, target: chances(tokens, draft, target[1:]), excess
    ),
    "These are the chances of each token alone; all earlier ones must be accepted, too.": (
        with_counts(lambda a: torch.cat([1 - a, a.new_ones(1)])),
        with_counts(lambda a: torch.cat([a, a.prod()[None]])),
    ),
    "This is the probability of accepting at least so many, not exactly so many.": with_counts(
        lambda a: torch.cat([a.new_ones(1), a.cumprod(0)])
    ),
    "After a rejection, the target's own row would count some tokens twice.": with_rows(
        lambda tokens, draft, target: target
    ),
    "After a rejection, the draft's row is drawn from again; the target decides.": with_rows(
        lambda tokens, draft, target: torch.cat([draft, target[-1:]])
    ),
    "The difference has the wrong sign: what the draft has too little of is still to be given.": (
        verdict(chances, lambda draft, target: (draft - target[:-1]).clamp(min=0))
    ),
    "A negative difference is set to 0; its absolute value is not a probability that is missing.": (
        verdict(chances, lambda draft, target: (draft - target[:-1]).abs())
    ),
    "What is left must be divided by its sum.": with_rows(
        lambda tokens, draft, target: torch.cat([excess(draft, target), target[-1:]])
    ),
    "If all are accepted, the next token comes from the target's last row, which is one more.": (
        with_rows(lambda *x: torch.cat([verify(*x)[1][:-1], x[2][-2:-1]]))
    ),
    "A row of zeros was divided by its sum, 0; nothing is rejected there.": with_rows(
        lambda tokens, draft, target: torch.cat(
            [excess(draft, target) / excess(draft, target).sum(-1, keepdim=True), target[-1:]]
        )
    ),
}
EXERCISE = Exercise(
    "def verify(tokens, draft, target):\n    ...",
    QUESTIONS,
    right=verify,
    wrong=WRONG,
    cases=CASES,
    returns=("accepted", "following"),
)
check = EXERCISE.check
