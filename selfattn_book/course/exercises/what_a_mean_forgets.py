"""What a mean forgets: logits from a bag of words."""

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn

from selfattn_book.course.exercise import Asked, Exercise, checker
from selfattn_book.course.numbers import asked, compared, likely, numbers
from selfattn_book.experiments.chance import generator
from selfattn_book.experiments.words import MeanClassifier
from selfattn_book.reasons.answer import YES, Answer, all_of

WIDTHS = (1, 2, 5)
SAME = [[word] * 3 for word in range(5)]
DIFFERENT = [[0, 1, 2], [2, 3, 4], [4, 1, 0], [1, 3, 2]]
REPEATED = [[0, 0, 1], [1, 1, 0], [2, 4, 4], [3, 2, 3]]
FromCounts = Callable[[MeanClassifier, Tensor], Any]


def of_each_width(
    ask: Callable[[FromCounts, int], Answer],
) -> Callable[[FromCounts], Answer]:
    """Ask about models of several widths."""

    @wraps(ask)
    def of_all(from_counts: FromCounts) -> Answer:
        return all_of(ask(from_counts, width) for width in WIDTHS)

    return of_all


@of_each_width
def gives_logits(from_counts: FromCounts, width: int) -> Answer:
    """Ask for one logit per sentence, of few sentences and of one alone."""
    model = model_of(width)
    for sentences in (DIFFERENT, DIFFERENT[:1]):
        logits_of(from_counts, model, torch.tensor(sentences))
    return YES


@of_each_width
def judges_one_word(from_counts: FromCounts, width: int) -> Answer:
    """Ask about sentences of one word, said three times."""
    told = "for a word that is said three times, the logit"
    return is_the_model(from_counts, width, SAME, told)


@of_each_width
def averages_after_the_block(from_counts: FromCounts, width: int) -> Answer:
    """Ask about sentences of three words."""
    told = "for three different words, the logit"
    return is_the_model(from_counts, width, DIFFERENT, told)


@of_each_width
def counts_twice(from_counts: FromCounts, width: int) -> Answer:
    """Ask about sentences in which a word comes twice."""
    told = "for a sentence with a word in it twice, the logit"
    return is_the_model(from_counts, width, REPEATED, told)


def is_the_model(
    from_counts: FromCounts, width: int, sentences: list[list[int]], told: str
) -> Answer:
    """Compare the logits of an answer with the model's own."""
    model, tokens = model_of(width), torch.tensor(sentences)
    got, wanted = logits_of(from_counts, model, tokens), model(tokens).detach()
    gap = "is {got}, where the model itself says {wanted}"
    no = compared(got, wanted, told, ("sentence",), told=gap)
    with torch.no_grad():
        return no.because(*likely(got, mistakes(model, counts_of(tokens))))


def logits_of(
    from_counts: FromCounts, model: MeanClassifier, tokens: Tensor
) -> Tensor:
    """Return what an answer makes of the bags of sentences."""
    got = asked(from_counts, deepcopy(model), counts_of(tokens))
    shape = (len(tokens),)
    return numbers(got, f"the logits of a batch of {len(tokens)}", shape)


def model_of(width: int) -> MeanClassifier:
    """Return a classifier none of whose parts does nothing."""
    model, chance = MeanClassifier(width), generator(width)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6, generator=chance)
    return model


def counts_of(tokens: Tensor) -> Tensor:
    """Return how often each word occurs, ``(B, 5)``."""
    return torch.eye(5)[tokens].sum(dim=1)


AVERAGE_FIRST = "The average comes before the block, and the block bends."
THREE_BIASES = (
    "The logits of the words are added: the last bias counts three times."
)
NO_PATH = "The block has lost the path around it: it adds to what came."
NO_RELU = "The block has lost its ReLU."
PROBABILITY = "A probability came: the logit is what stands before the sigmoid."


def mistakes(model: MeanClassifier, counts: Tensor) -> dict[str, Tensor]:
    """Return what an answer computes that is wrong in one place."""
    words = model.embed.weight
    shares, blocked = counts / counts.sum(1, keepdim=True), model.block(words)
    inner = model.block.inner(words)

    def judged(x: Tensor) -> Tensor:
        return model.judge(x).squeeze(-1)

    right = judged(shares @ blocked)
    mixtures = {
        said: judged(mix @ blocked) for said, mix in mistaken_shares(counts).items()
    }
    return {
        **mixtures,
        AVERAGE_FIRST: judged(model.block(shares @ words)),
        THREE_BIASES: (3 * right),
        "The block is left out.": judged(shares @ words),
        NO_PATH: judged(shares @ (blocked - words)),
        NO_RELU: judged(shares @ (words + model.block.outer(inner))),
        "The bias of the last layer is left out.": right - model.judge.bias,
        PROBABILITY: (right.sigmoid()),
        "The sign is turned round.": -right,
    }


def mistaken_shares(counts: Tensor) -> dict[str, Tensor]:
    """Return what may stand in the place of each word's share."""
    present = (counts > 0).to(counts)
    distinct = present / present.sum(1, keepdim=True)
    return {
        "The sum of the words is not divided by their number.": counts,
        "It is divided by the size of the vocabulary, not of the sentence.": counts
        / 5,
        "It is divided by the number of words in the whole batch.": counts
        / counts.sum(),
        "It is only asked whether a word occurs, not how often.": distinct,
        "It is only asked whether a word occurs, and divided by three.": present
        / 3,
        "A softmax of the counts is no share: words that do not occur get some.": (
            counts.softmax(1)
        ),
    }


EXERCISES = [
    Exercise(
        "from_counts",
        "def from_counts(model, counts):\n    ...",
        [
            Asked(
                "it gives one logit per sentence",
                gives_logits,
                "what-a-mean-forgets.html#the-mean-by-hand",
            ),
            Asked(
                "a bag of one word gets what the model says of this word",
                judges_one_word,
                "what-a-mean-forgets.html#the-mean-by-hand",
            ),
            Asked(
                "each word goes through the block, and then they are averaged",
                averages_after_the_block,
                "what-a-mean-forgets.html#the-mean-by-hand",
            ),
            Asked(
                "a word that occurs twice counts twice",
                counts_twice,
                "what-a-mean-forgets.html#a-bag-of-words",
            ),
        ],
    )
]
check = checker(EXERCISES)
