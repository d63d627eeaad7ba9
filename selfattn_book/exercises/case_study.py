"""A case study: a position classifier that looks everything up in a table."""

from functools import partial

import torch

from selfattn_book.exercises.checking.exercise import Exercise, Question, checked, factory, form
from selfattn_book.exercises.checking.numbers import drawn, tensor_of
from selfattn_book.exercises.checking.results import near
from selfattn_book.experiments.words import PositionClassifier
from selfattn_book.properties.answer import Answer, RefusedError
from selfattn_book.properties.calls import call, missing

WORDS, POSITIONS, WIDTH = 5, 3, 15
EVERY = torch.cartesian_prod(*[torch.arange(WORDS)] * POSITIONS)  # all 125 sentences
UNIT = torch.arange(WORDS * POSITIONS)
OTHER_SHAPES = "They must be those of a PositionClassifier(15)."
OTHER_LOGITS = "With its weights, a PositionClassifier(15) gives other logits than this one."
NOWHERE = "No entry of the table has an effect."
ALL_ALIKE = "All are off by the same number: a bias gets in."


@factory
def logits(from_table, table):
    """Return the program for the logits of all sentences, by the weights of an answer's model."""
    model = call(from_table, table.clone())
    if not isinstance(model, PositionClassifier):
        raise RefusedError(missing("return a PositionClassifier", model))
    bare = PositionClassifier(WIDTH)
    if shapes(bare) != shapes(model):
        raise refused("the names or shapes of its weights are different.", OTHER_SHAPES)
    bare.to(next(model.parameters()).dtype).load_state_dict(model.state_dict())
    found = tensor_of(call(model, EVERY), "the logits")
    if not near(found, bare(EVERY).detach(), 1e-4):
        raise refused("its logits do not come from its weights.", OTHER_LOGITS)
    return found.view([WORDS] * POSITIONS)


def shapes(model):
    return {name: weight.shape for name, weight in model.state_dict().items()}


def refused(reason, sentence):
    return RefusedError(Answer("mathematics", reason).because((sentence, lambda: True)))


@factory
def moved(from_table, word, position):
    """Return the program for the change by one entry, relative to the largest."""
    table = torch.zeros(WORDS, POSITIONS)
    before = logits(from_table)(table)
    table[word, position] = 1
    change = (logits(from_table)(table) - before).abs()
    return change / change.max().clamp(min=1e-6)


def classifier(
    table,
    *,
    factor=3,
    bias=-1,
    word=UNIT // POSITIONS,
    position=UNIT % POSITIONS,
    row=8,
    change=lambda state: None,
):
    """Return a classifier whose logits are sums of a table, or one with some wrong weights."""
    model = PositionClassifier(WIDTH)
    state = {name: 0 * weight for name, weight in model.state_dict().items()}
    state["embed.weight"][:, :WORDS] = torch.eye(WORDS)
    state["position.weight"][:, WORDS : WORDS + POSITIONS] = torch.eye(POSITIONS)
    state["block.inner.weight"][UNIT, word] = 1
    state["block.inner.weight"][UNIT, WORDS + position] = 1
    state["block.inner.bias"][:] = bias
    state["block.outer.weight"][row] = factor * table.flatten()
    state["classifier.weight"][0, row] = 1
    change(state)
    model.load_state_dict(state)
    return model


with_parts = partial(partial, classifier)


def with_weight(name, index, number, **parts):
    return with_parts(change=lambda state: state[name].__setitem__(index, number), **parts)


def table_inside(table):
    def change(state):
        state["block.inner.weight"] *= table.flatten()[:, None]
        state["block.inner.bias"] *= table.flatten()
        state["block.outer.weight"][8] = 3

    return classifier(table, change=change)


def linear(table):
    def change(state):
        state["block.outer.weight"].zero_()
        state["embed.weight"][:, 8] = table.sum(1)
        state["position.weight"][:, 8] = table.sum(0)

    return classifier(table, change=change)


def hooked(table):
    model = PositionClassifier(WIDTH)
    model.register_forward_hook(lambda model, x, out: table[x[0], torch.arange(3)].sum(1))
    return model


def without_block(table):
    model = classifier(table)
    model.block = torch.nn.Identity()
    return model


def sharpened(state):
    state["embed.weight"] *= 10
    state["position.weight"] *= 10
    state["block.inner.bias"][:] = -19


HERE = "case-study.html#exercises"
SEEDS = "case-study.html#a-hundred-seeds-of-each-model"
SUMS = "case-study.html#words-and-words-at-positions"
QUESTIONS = [
    Question("it returns a classifier with one logit for each sentence", HERE, view=form),
    checked("a table of zeros gives zeros", SEEDS, 1, lambda: (torch.zeros(WORDS, POSITIONS),)),
    Question(
        "an entry changes the logits of sentences with its word at its position, and no others",
        SUMS,
        2,
        via=moved,
        cases=[divmod(entry, POSITIONS) for entry in UNIT.tolist()],
    ),
    Question("a logit is the sum of three entries", SUMS, 2),
]
WRONG = {
    OTHER_LOGITS: hooked,
    OTHER_SHAPES: (lambda table: PositionClassifier(20), without_block),
    "The vectors of words and positions reach the output: the residual connection leads to the "
    "classifier.": (with_parts(row=2), with_parts(row=6)),
    ALL_ALIKE: (with_weight("classifier.bias", 0, 0.5), with_weight("block.outer.bias", 8, 0.5)),
    NOWHERE: (with_parts(bias=-2), with_weight("position.weight", ..., 0), with_parts(factor=0)),
    "A unit is on although its word is elsewhere: the bias must subtract one of the two.": (
        with_parts(bias=0),
        with_parts(bias=-0.5),
    ),
    "The table is read column by column; a row belongs to a word.": lambda t: classifier(t.T),
    "The units go through the words of a position, and the table through the positions of a "
    "word.": with_parts(word=UNIT % WORDS, position=UNIT // WORDS),
    "The positions are counted from the end.": (
        with_parts(position=POSITIONS - 1 - UNIT % POSITIONS)
    ),
    "The words are counted from the end.": with_parts(word=WORDS - 1 - UNIT // POSITIONS),
    "The position of a word does not matter: each word counts at all positions.": (
        with_weight("position.weight", ..., 0, bias=0)
    ),
    "A mean was subtracted from the table: each entry then changes the logits of all sentences.": (
        lambda table: classifier(table - table.mean()),
        lambda table: classifier(table - table.mean(0)),
        lambda table: classifier(table - table.mean(1, keepdim=True)),
    ),
    "The model takes a mean, and the sum is three times as large.": with_parts(factor=1),
    "It is made three times as large once too often.": with_parts(factor=9),
    "The sign is reversed.": with_parts(factor=-3),
    "Nothing of the order is left: without the nonlinearity, word and position only add "
    "up.": linear,
    "Negative entries go wrong, and positive ones do not: the table belongs after the "
    "ReLU.": table_inside,
}
EXERCISE = Exercise(
    "def from_table(table):\n"
    "    from selfattn_book.experiments.words import PositionClassifier\n\n    ...",
    QUESTIONS,
    right=classifier,
    wrong=WRONG,
    cases=lambda: [(drawn(WORDS, POSITIONS, seed=seed),) for seed in range(3)],
    unusual={
        "high thresholds": with_parts(change=sharpened),
        "in place": lambda table: classifier(table.mul_(3), factor=1),
        "in 64 bits": lambda table: classifier(table, row=14).double(),
    },
    returns="the logits",
    via=logits,
)
check = EXERCISE.check
