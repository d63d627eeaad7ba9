"""What an answer gives back is read, whatever holds it, or refused with its kind."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from selfattn_book.exercises.checking.numbers import asked, compared, drawn, near, numbers
from selfattn_book.experiments.seeding import first_seed
from selfattn_book.properties.answer import RefusedError

TABLE = [[0.5, 1.0], [2.0, 4.0]]
HOLDERS = {
    "lists": TABLE,
    "tuples": tuple(map(tuple, TABLE)),
    "whole numbers among others": [[0.5, 1], [2, 4]],
    "fractions": [[Fraction(1, 2), Fraction(1)], [Fraction(2), Fraction(4)]],
    "a tensor": torch.tensor(TABLE),
    "in the graph": torch.tensor(TABLE, requires_grad=True),
    "16 bits": torch.tensor(TABLE).half(),
    "an array": np.array(TABLE),
    "a view": np.array(TABLE)[::-1][::-1],
    "an array of objects": np.array(TABLE, dtype=object),
    "a list of tensors": list(torch.tensor(TABLE)),
    "a list of arrays": list(np.array(TABLE)),
    "lists of numbers of NumPy": [[np.float32(x) for x in row] for row in TABLE],
    "precisions mixed": [torch.tensor(TABLE[0]), torch.tensor(TABLE[1]).double()],
    "an iterator": map(list, TABLE),
}
REFUSED = {
    "None": (None, "missing", "it must return the table; got None"),
    "text": ("0.5", "missing", "got a value of type str"),
    "text inside": ([["0.5", "1"]] * 2, "missing", "got a value of type str"),
    "a dictionary": ({0: 0.5}, "missing", "got a value of type dict"),
    "truths": (torch.tensor(TABLE) > 1, "dtype", "got bool"),
    "integers": (np.array(TABLE).astype(int), "dtype", "got int64"),
    "complex": (torch.tensor(TABLE) + 0j, "dtype", "got complex64"),
    "ragged": ([[0.5], [1.0, 2.0]], "shape", r"got \(1,\) and \(2,\)"),
    "one row": (TABLE[0], "shape", r"must have shape \(2, 2\); got \(2,\)"),
    "empty": ([], "shape", r"got \(0,\)"),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_numbers_are_read(kind):
    read = numbers(HOLDERS[kind], "the table", (2, 2))
    assert near(read, torch.tensor(TABLE))
    assert not read.requires_grad


@pytest.mark.parametrize("kind", REFUSED)
def test_what_holds_none_is_refused(kind):
    got, what, message = REFUSED[kind]
    with pytest.raises(RefusedError, match=message) as refused:
        numbers(got, "the table", (2, 2))
    assert refused.value.answer.kind == what


def test_a_precision_is_compared_in_its_own_tolerance():
    off = torch.tensor([1.005])
    assert not near(off, torch.ones(1))
    assert near(off.half(), torch.ones(1))
    assert compared(off.half(), torch.ones(1), "it", ("place",))
    assert not compared(off, torch.ones(1), "it", ("place",))


def test_nothing_that_was_asked_is_changed():
    x = torch.ones(2)
    assert asked(lambda x: x.mul_(3), x).tolist() == [3, 3]
    assert x.tolist() == [1, 1]


def test_what_is_drawn_moves_with_the_first_seed():
    before = drawn(3, seed=1)
    assert before.equal(drawn(3, seed=1))
    with first_seed(1000):
        assert not before.equal(drawn(3, seed=1))
