"""A table in a classifier: right answers of many kinds pass, and each wrong one is named."""

import re

import pytest
import torch

from selfattn_book.experiments.words import MeanClassifier, PositionClassifier
from tests.course.answers import report, said

pytestmark = pytest.mark.usefixtures("page")
UNIT = torch.arange(15)


def right(
    table,
    *,
    factor=3.0,
    bias=-1.0,
    word=UNIT // 3,
    place=UNIT % 3,
    row=8,
    change=lambda state: None,
):
    model = PositionClassifier(15)
    state = {name: 0 * weight for name, weight in model.state_dict().items()}
    state["embed.weight"][:, :5] = torch.eye(5)
    state["position.weight"][:, 5:8] = torch.eye(3)
    state["block.inner.weight"][UNIT, word] = 1.0
    state["block.inner.weight"][UNIT, 5 + place] = 1.0
    state["block.inner.bias"][:] = bias
    state["block.outer.weight"][row] = factor * table.flatten()
    state["judge.weight"][0, row] = 1.0
    change(state)
    model.load_state_dict(state)
    return model


def by_loops(table):
    model = PositionClassifier(15)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    with torch.no_grad():
        for word in range(5):
            model.embed.weight[word, word] = 1
            for place in range(3):
                model.position.weight[place, 5 + place] = 1
                unit = 5 * place + word
                model.block.inner.weight[unit, word] = 1
                model.block.inner.weight[unit, 5 + place] = 1
                model.block.inner.bias[unit] = -1
                model.block.outer.weight[14, unit] = table[word, place]
        model.judge.weight[0, 14] = 3
    return model


def by_thresholds(table):
    """Let words and places be numbers that only one pair brings above a threshold."""

    def sharpen(state):
        state["embed.weight"] *= 10
        state["position.weight"] *= 10
        state["block.inner.bias"][:] = -19

    return right(table, change=sharpen)


def in_data(table):
    model = right(table, factor=0)
    model.block.outer.weight.data[8] = 3 * table.reshape(-1)
    return model


def setting(name, index, number):
    """Return a change of one entry."""

    def change(state):
        state[name][index] = number

    return change


def inside(table):
    """Put the table before the ReLU."""

    def change(state):
        state["block.inner.weight"] *= table.flatten()[:, None]
        state["block.inner.bias"] *= table.flatten()
        state["block.outer.weight"][8] = 3.0

    return right(table, change=change)


def without_fold(table):
    """Add a number of the word and one of the place."""
    model = PositionClassifier(15)
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    model.embed.weight.data[:, 0] = table.sum(1)
    model.position.weight.data[:, 0] = table.sum(0)
    model.judge.weight.data[0, 0] = 1
    return model


class LookUp(PositionClassifier):
    """Look the numbers up, and set no weight."""

    def __init__(self, table):
        super().__init__(15)
        self.table = table

    def forward(self, tokens):
        return self.table[tokens, torch.arange(3)].sum(1)


def hooked(table):
    model = PositionClassifier(15)
    model.register_forward_hook(lambda model, given, out: table[given[0], torch.arange(3)].sum(1))
    return model


def other_parts(table):
    model = right(table)
    model.block = torch.nn.Identity()
    return model


RIGHT = {
    "from_table": {
        "as on the page": right,
        "loops": by_loops,
        "thresholds": by_thresholds,
        "through data": in_data,
        "32 bits": lambda t: right(t).float(),
        "64 bits": lambda t: right(t).double(),
        "another row": lambda t: right(t, row=14),
        "in place": lambda t: right(t.mul_(3), factor=1),
    }
}
WRONG = {
    "from_table": {
        "a forward of its own": (
            lambda table: LookUp(table),
            "with its weights, a PositionClassifier.15. gives other logits",
        ),
        "a hook": (hooked, "with its weights, .* gives other logits"),
        "other parts": (other_parts, "shape: .* block.inner.weight is missing"),
        "wider": (
            lambda table: PositionClassifier(20),
            r"shape: .* PositionClassifier\(15\); got \(5, 20\) for embed.weight",
        ),
        "a bias too low": (
            lambda table: right(table, bias=-2.0),
            "^(?!.*Nothing of the order).*No entry of the table makes a difference",
        ),
        "a mean": (lambda t: right(t, factor=1), "The model takes a mean"),
        "nine times": (lambda t: right(t, factor=9), "once too often"),
        "columns": (
            lambda t: right(t, word=UNIT % 5, place=UNIT // 5),
            "The units go through the words of a place",
        ),
        "a transposed table": (
            lambda t: right(t.T),
            "read column by column; a row belongs to a word",
        ),
        "mirrored": (
            lambda t: right(t, place=2 - UNIT % 3),
            "places are counted from the end",
        ),
        "no places": (
            lambda t: right(t, change=setting("position.weight", ..., 0)),
            "No entry of the table makes a difference",
        ),
        "any place": (
            lambda t: right(t, bias=0, change=setting("position.weight", ..., 0)),
            "It does not matter where a word stands",
        ),
        "no bias": (
            lambda t: right(t, bias=0),
            "A unit is on although its word is elsewhere",
        ),
        "a small bias": (
            lambda t: right(t, bias=-0.5),
            "A unit is on although its word is elsewhere",
        ),
        "too large a bias": (
            lambda t: right(t, bias=-2),
            "No entry of the table makes a difference",
        ),
        "a last bias": (
            lambda t: right(t, change=setting("judge.bias", 0, 0.5)),
            "nothing but zeros, the logit of 000 is 0.5, not 0. All are off alike: a bias",
        ),
        "through": (
            lambda t: right(t, change=setting("judge.weight", (0, 2), 1)),
            "get through: the path around the small network",
        ),
        "through, and no factor": (
            lambda t: right(t, factor=1, change=setting("judge.weight", (0, 2), 1)),
            "get through: the path around the small network",
        ),
        "before the ReLU": (inside, "Negative entries go wrong"),
        "without fold": (without_fold, "Nothing of the order is left"),
        "turned round": (lambda t: right(-t), "sign is turned round"),
        "not its class": (
            lambda t: lambda x: t[x, torch.arange(3)].sum(1),
            "missing: it must return a PositionClassifier; got a value of type function",
        ),
        "another class": (
            lambda t: MeanClassifier(15),
            "PositionClassifier; got a value of type MeanClassifier",
        ),
        "untrained": (lambda t: PositionClassifier(15), "mathematics"),
        "nothing": (lambda t: None, "missing: .* got None"),
        "too narrow": (
            lambda t: PositionClassifier(2).load_state_dict(right(t).state_dict()),
            "exception: RuntimeError",
        ),
    }
}


@pytest.mark.parametrize("kind", RIGHT["from_table"])
def test_what_is_right_passes(kind):
    found = report("case-study", RIGHT["from_table"][kind], "from_table")
    assert said(found) == ""


@pytest.mark.parametrize("kind", WRONG["from_table"])
def test_what_is_wrong_is_named(kind):
    answer, name = WRONG["from_table"][kind]
    found = report("case-study", answer, "from_table")
    assert found.points < found.possible
    assert re.search(name, said(found))


@pytest.mark.parametrize(("kind", "points"), [("a mean", 4), ("a last bias", 3), ("columns", 2)])
def test_what_is_half_right_has_a_part_of_the_points(kind, points):
    found = report("case-study", WRONG["from_table"][kind][0], "from_table")
    assert (found.points, found.possible) == (points, 6)
