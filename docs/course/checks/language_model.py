"""A language model: the bits of an answer, and a next word on paper."""

import math

import torch

from selfattn_book.exercises.checking.by_hand import by_hand
from selfattn_book.exercises.checking.exercise import checked, factory, for_credit

ONES = torch.ones(7, dtype=torch.int64)
LN2 = math.log(2)
CHARACTERS = torch.tensor([1, 2, 3, 5, 4, 2, 1])
SAMPLING = "language-model.html#sampling-temperature-top-k-top-p"
SECTION = "language-model.html#cross-entropy-perplexity-bits-per-character"


def case(*tokens, seed, characters=CHARACTERS):
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(len(tokens), 7, generator=generator)
    return logits, torch.tensor(tokens), characters


LONGER = case(0, 3, 1, 6, 4, 2, seed=1), case(5, 5, 2, 0, 3, seed=2)
QUESTIONS = [
    checked("tokens of one character", SECTION, 2, case(0, 3, 1, 6, 4, 2, seed=1, characters=ONES)),
    checked("tokens of several lengths", SECTION, 2, *LONGER),
    checked("a longer answer", SECTION, 1, case(*(3 * i % 7 for i in range(20)), seed=3)),
    checked("one token again and again", SECTION, 1, case(4, 4, 4, 4, 4, 4, 4, seed=4)),
]


@factory
def surprisal(first, logits, tokens, characters, *, shift=1, unit=LN2, per="", softmax=True):
    """Return the surprisal of the tokens from the first on, in this unit, per character.

    The logits of a token are ``shift`` positions before it.
    """
    answer = tokens[first:]
    logs = logits[first - shift : len(tokens) - shift].double()
    logs = logs.log_softmax(-1) if softmax else logs
    divisors = {
        "": characters[answer].sum(),
        "of all": characters[tokens].sum(),
        "token": len(answer),
        "answer": 1,
    }
    return -logs.gather(1, answer[:, None]).sum() / divisors[per] / unit


def bits_of_answer(prompt):
    return for_credit(
        "def bits_of_answer(logits, tokens, characters): ...",
        QUESTIONS,
        right=surprisal(prompt),
        wrong={
            "These are nats, not bits.": surprisal(prompt, unit=1),
            "The logits at a position are for the next token, not for the token at the position.": (
                surprisal(prompt, shift=0)
            ),
            "The first token of the answer is left out: the question predicts it.": (
                surprisal(prompt + 1)
            ),
            "It is a mean over tokens, and not over characters.": surprisal(prompt, per="token"),
            "The surprisal is not divided by anything.": surprisal(prompt, per="answer"),
            "The characters of the question were counted, too.": surprisal(prompt, per="of all"),
            "The question itself was measured.": surprisal(1),
            **({"The question is one token longer.": surprisal(prompt - 1)} if prompt > 2 else {}),
            "Logits are no logarithms of probabilities: the softmax is missing.": (
                surprisal(prompt, softmax=False)
            ),
        },
        gate=1,
        returns="the number of bits",
    )


def on_paper(numbers):
    a, b, c, d = numbers["weights"]
    seen, kinds = numbers["seen"], numbers["kinds"]
    hits, shorter = numbers["hits"], 1 / numbers["shorter"]
    total, squares = a + b + c + d, a**2 + b**2 + c**2 + d**2
    roots = sum(like**0.5 for like in (a, b, c, d))
    right = {
        "first": a / total,
        "cold": a**2 / squares,
        "two": a / (a + b),
        "bits": math.log2(total / d),
        "counted": (hits - 1 / 2 + kinds / 2 * shorter) / seen,
    }
    wrong = {
        "It is divided by the others, and not by all.": {"first": a / (b + c + d)},
        "The weights were taken to the power 1/2: this is hot, and not cold.": {
            "cold": a**0.5 / roots
        },
        "The temperature makes no difference.": {"cold": a / total},
        "The probability itself was squared, and not divided by the sum of the squares.": {
            "cold": (a / total) ** 2
        },
        "What is left must be divided by its sum.": {"two": a / total},
        "Three are left.": {"two": a / (a + b + c)},
        "These are nats.": {"bits": math.log(total / d)},
        "This is the surprisal of the first word.": {"bits": math.log2(total / a)},
        "This is the count alone: the shorter history has a weight, too.": {"counted": hits / seen},
        "What was subtracted must go to the shorter history.": {"counted": (hits - 1 / 2) / seen},
        "Each of the words gives up a discount, not *ark* alone.": {
            "counted": (hits - 1 / 2 + shorter / 2) / seen
        },
        "The discount must also be subtracted from the count of *ark*.": {
            "counted": (hits + kinds / 2 * shorter) / seen
        },
    }
    points = {"cold": 2, "counted": 2}
    return by_hand("next_word", SAMPLING, right, wrong, points=points)


def exercises(numbers):
    return [bits_of_answer(numbers["prompt"]), on_paper(numbers)]
