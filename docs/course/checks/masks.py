"""Masks: several sentences in one row, and a row on paper."""

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import Exercise, Question, factory, form

PADDING, CAUSAL = "masks.html#the-padding-mask", "masks.html#the-causal-mask"
BY_HAND, SOFTMAX = "masks.html#masking-scores-by-hand", "masks.html#the-masked-softmax"
ROWS = (
    torch.tensor([[0, 0, 0, 0, 1, 1, 1, 2, 2, -1, -1], [5, 5, 5, 5, 5, 5, 5, 5, 3, 3, -1]]),
    torch.tensor([[0, 1, 1, 2, 2, 2, 3], [0, 0, 0, 0, 0, -1, 1]]),
    torch.tensor([[7, 7, 7, 7, 7, -1, -1], [1, 1, 1, 2, 2, 2, 2], [0, 0, 4, 4, 4, 9, -1]]),
)


def past(sentence):
    return torch.ones(sentence.size(1), sentence.size(1), dtype=torch.bool).tril()


def same(sentence):
    return sentence[:, :, None] == sentence[:, None, :]


def real(sentence):
    return (sentence >= 0)[:, :, None] & (sentence >= 0)[:, None, :]


def read(s, prompt):
    """Return which positions are the prompt."""
    return torch.arange(s.size(1)) < prompt


@factory
def packed(prompt, s):
    """Return the right mask, without the axis of heads."""
    return past(s) & (same(s) | read(s, prompt)) & real(s)


def with_heads(mask):
    return lambda sentence: mask(sentence)[:, None]


def packed_mask(prompt):
    mask = packed(prompt)

    def seen(s):
        return same(s) | read(s, prompt)

    wrong = {
        "True was taken to mean hidden.": lambda s: ~mask(s),
        "Rows and columns are exchanged: a row belongs to a query.": lambda s: mask(s).mT,
        "Padding has the same number as padding.": lambda s: mask(s) | (past(s) & same(s)),
        "Padding still attends.": lambda s: past(s) & seen(s) & (s >= 0)[:, None],
        "Padding is still attended to.": (
            lambda s: past(s) & (seen(s) | (s < 0)[:, None]) & (s >= 0)[..., None]
        ),
        "Padding was forgotten.": lambda s: past(s) & seen(s),
        "The prompt, too, is read from left to right.": (
            lambda s: ((past(s) & same(s)) | (seen(s) & ~same(s))) & real(s)
        ),
        "The prompt was forgotten.": lambda s: past(s) & same(s) & real(s),
        "The prompt is one position too long.": packed(prompt + 1),
        "The prompt is one position too short.": packed(prompt - 1),
        "The sentences were forgotten.": lambda s: past(s) & real(s),
        "The future is not hidden.": lambda s: seen(s) & real(s),
    }

    def entries(where):
        return lambda mask, s: mask[:, 0] & where(s)

    future = entries(lambda s: ~past(s) | (torch.eye(s.size(1)).bool() & real(s)))
    own = entries(lambda s: past(s) & ~read(s, prompt) & real(s))
    prompts = entries(lambda s: past(s) & read(s, prompt) & real(s))
    rest = entries(lambda s: past(s) & ~real(s))
    return Exercise(
        "def packed_mask(sentence): ...",
        [
            Question("it is a boolean mask, one a row for all heads", PADDING, 1, form),
            Question("a position attends to itself, and to no later one", CAUSAL, 2, future),
            Question("a position attends to its own sentence, and to no other", BY_HAND, 2, own),
            Question("later positions attend to the prompt", SOFTMAX, 1, prompts),
            Question("padding attends to nothing and is not attended to", PADDING, 2, rest),
        ],
        right=with_heads(mask),
        wrong={sentence: with_heads(program) for sentence, program in wrong.items()},
        cases=[(row,) for row in ROWS],
        returns="the mask",
        gate=1,
    )


def on_paper(numbers):
    a, b, c, d = numbers["exponentials"]
    u, v, w, x = numbers["values"]
    layers, width = numbers["layers"], numbers["width"]
    three, four = a + b + c, a + b + c + d
    late = [a / four, b / four, c / four, 0]
    scores = torch.tensor([a, b, c], dtype=torch.float64).softmax(0)
    right = {
        "weights": [a / three, b / three, c / three, 0],
        "context": (a * u + b * v + c * w) / three,
        "too_late": three / four,
        "without": (b * v + c * w) / (b + c),
        "reach": layers * (width - 1) + 1,
    }
    wrong = {
        "The hidden key is still in the denominator.": {
            "weights": late,
            "context": (a * u + b * v + c * w) / four,
        },
        "The future was not hidden.": {
            "weights": [a / four, b / four, c / four, d / four],
            "context": (a * u + b * v + c * w + d * x) / four,
        },
        "These are the exponentials already.": {"weights": [*scores.tolist(), 0]},
        "This is the mean: the weights were left out.": {"context": (u + v + w) / 3},
        "A row sums to one only if the hidden key was never counted.": {"too_late": 1},
        "This is what is lost.": {"too_late": d / four},
        "The first key is hidden, but the last is seen.": {
            "without": (b * v + c * w + d * x) / (b + c + d)
        },
        "The hidden keys are still in the denominator.": {"without": (b * v + c * w) / four},
        "The first key is still in the denominator.": {"without": (b * v + c * w) / three},
        "Neighboring windows share a position.": {"reach": layers * width},
        "The position itself belongs to it.": {"reach": layers * (width - 1)},
        "This is the reach of one layer.": {"reach": width},
        "Reaches add; they do not multiply.": {"reach": width**layers},
    }
    return by_hand("masked_row", SOFTMAX, right, wrong, points={"weights": 2})


def exercises(numbers):
    return [packed_mask(numbers["prompt"]), on_paper(numbers)]
