"""Bags of words: logits from counts."""

import torch
from torch import nn

from selfattn_book.exercises.checking.exercise import Exercise, Question, form
from selfattn_book.experiments.seeding import generator
from selfattn_book.experiments.words import MeanClassifier

SAME = [[word] * 3 for word in range(5)]
MIXED = [[0, 1, 2], [2, 3, 4], [4, 1, 0], [1, 3, 2]]
REPEATED = [[0, 0, 1], [1, 1, 0], [2, 4, 4], [3, 2, 3]]


def cases(*sentences):
    return lambda: [(model_of(width), counts_of(s)) for s in sentences for width in (1, 2, 5)]


def model_of(width):
    """Return a classifier all of whose parts matter."""
    model, chance = MeanClassifier(width), generator(width)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.6, generator=chance)
    return model


def counts_of(sentences):
    """Return how often each word occurs, ``(B, 5)``."""
    return torch.eye(5)[torch.tensor(sentences)].sum(dim=1)


def proportions(counts):
    return counts / counts.sum(1, keepdim=True)


def logits(mix=proportions, block=lambda model, words: model.block(words)):
    """Return a program that mixes the words' vectors, and may use another block."""

    def from_counts(model, counts):
        return model.classifier(mix(counts) @ block(model, model.embed.weight)).squeeze(-1)

    return from_counts


from_counts = logits()


def as_sentences(model, counts):
    rows = [torch.arange(5).repeat_interleave(row.long()) for row in counts]
    return model(torch.stack(rows))


def present(counts):
    return (counts > 0).to(counts)


BY_HAND = "what-a-mean-forgets.html#the-mean-by-hand"
BAG = "what-a-mean-forgets.html#a-bag-of-words"
QUESTIONS = [
    Question("it gives one logit per sentence", BY_HAND, view=form, cases=cases(MIXED, MIXED[:1])),
    Question("a bag of one word gets the model's logit of this word", BY_HAND, cases=cases(SAME)),
    Question(
        "each word goes through the block, and then they are averaged", BY_HAND, cases=cases(MIXED)
    ),
    Question("a word that occurs twice counts twice", BAG, cases=cases(REPEATED)),
]
WRONG = {
    "The sum of the words is not divided by their number.": logits(lambda counts: counts),
    "It is divided by the size of the vocabulary, not of the sentence.": logits(lambda n: n / 5),
    "It is divided by the number of words in the whole batch.": logits(lambda n: n / n.sum()),
    "It only matters whether a word occurs, not how often.": (
        logits(lambda counts: proportions(present(counts)))
    ),
    "It only matters whether a word occurs, and it is divided by three.": (
        logits(lambda counts: present(counts) / 3)
    ),
    "A softmax of the counts is no proportion: words that do not occur get some.": (
        logits(lambda counts: counts.softmax(1))
    ),
    "Only the most frequent word is used.": logits(lambda counts: torch.eye(5)[counts.argmax(1)]),
    "The average comes before the block, and the block is not linear.": (
        lambda m, n: m.classifier(m.block(proportions(n) @ m.embed.weight)).squeeze(-1)
    ),
    "The logits of the words are added: the last bias counts three times.": (
        lambda model, counts: 3 * from_counts(model, counts)
    ),
    "The block is left out.": logits(block=lambda model, words: words),
    "The block has lost its residual connection.": (
        logits(block=lambda model, words: model.block(words) - words)
    ),
    "The block has lost its ReLU.": (
        logits(block=lambda model, x: x + model.block.outer(model.block.inner(x)))
    ),
    "The bias of the last layer is left out.": lambda m, n: from_counts(m, n) - m.classifier.bias,
    "This is a probability: the logit comes before the sigmoid.": (
        lambda model, counts: from_counts(model, counts).sigmoid()
    ),
    "The sign is wrong.": lambda model, counts: -from_counts(model, counts),
    "Each logit must be a number, not a row of one.": lambda m, n: from_counts(m, n)[:, None],
    "A batch of one sentence needs its axis, too: squeeze the last axis alone.": (
        lambda model, counts: from_counts(model, counts).squeeze()
    ),
}
EXERCISE = Exercise(
    "def from_counts(model, counts):\n    ...",
    QUESTIONS,
    right=from_counts,
    wrong=WRONG,
    unusual={"as sentences": as_sentences},
    returns="the logits",
)
check = EXERCISE.check
