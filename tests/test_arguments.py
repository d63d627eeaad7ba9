"""The argument checks that other modules share: right values pass, wrong ones are named."""

import doctest
import importlib
import math

import numpy as np
import pytest
import torch

from selfattn_book import _arguments as check

CPU = torch.device("cpu")
META = torch.ones(3, dtype=torch.bool, device="meta")
TABLE = torch.nn.Embedding(3, 2)


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


def boolean(*shape):
    return ones(*shape, dtype=torch.bool)


# Right values pass.
@pytest.mark.parametrize("number", [2, 3, 10**30, np.int64(2), np.uint8(2)])
def test_integers_pass(number):
    found = check.check_integer("size", number, least=2)
    assert found == number
    assert type(found) is int


class Counted(torch.nn.Module):
    def forward(self, x):
        return x.new_ones(check.check_integer("length", x.size(0), least=0))


def test_a_length_stays_free_while_a_module_is_exported():
    sizes = ({0: torch.export.Dim("length")},)
    exported = torch.export.export(Counted(), (ones(5),), dynamic_shapes=sizes)
    assert exported.module()(ones(7)).shape == (7,)


def test_other_right_values_pass():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        check.check_floating("x", ones(2, dtype=dtype))
    check.check_boolean(torch.tensor([True, False]))
    check.check_number("scale", 2)
    check.check_positive("scale", 1e-300)
    assert [check.check_dropout(p) for p in (0, 0.5, 1)] == [0, 0.5, 1]
    check.check_query_and_key(ones(7, 2, 1), ones(1, 5, 1))
    check.check_value(ones(5, 4), ones(5, 1))
    for shapes in (((1, 5, 4), (3, 5, 4)), ((3, 5, 4), (1, 5, 4)), ((5, 4), (3, 5, 4))):
        check.check_pair("x", ones(*shapes[0]), "y", ones(*shapes[1]))
    for shape in ((1, 3), (3,), (2, 3), ()):
        check.check_mask(boolean(*shape), (2, 3), CPU)
    assert check.check_finite(ones(2).requires_grad_(), "here").requires_grad is False
    assert check.look_up("source", TABLE, torch.tensor([[2, 0]])).shape == (1, 2, 2)
    assert not check.is_autocast(ones(1))
    with torch.autocast("cpu", torch.bfloat16):
        assert check.is_autocast(ones(1))
        assert not check.is_autocast(META)


def size(number, least=0):
    return check.check_integer("size", number, least=least)


# ... and wrong ones are named, after the rule.
INTEGER = "size must be an integer; got "
FLOATING = "x must be a floating-point tensor; got "
BOOLEAN = "mask must be a boolean tensor, True = may attend; got "
WIDTH = r"query \(..., T, D\) and key \(..., S, D\) must have one dimension D; got "
LENGTH = r"key \(..., S, D\) and value \(..., S, E\) must have one length S; got "
FITS = r"mask must broadcast to the scores' shape \(2, 3\); got "
DEVICE = "mask must be on the device of what it masks, cpu; got "
TOKENS = "source must be an integer tensor; got "
BOTH = "query and key must have a dimension of at least 1; got "
AXES = "the leading axes of key and value must broadcast; got "
PAIR = "key and value must have one dtype; got "
LOSSES = r"losses must be finite; got \[0.5, nan\] in epoch 3"
NOT_ABOVE = (0, -1, math.inf, math.nan)
WRONG_TYPES = [
    (size, (2.0,), INTEGER + "2.0"),
    (size, ("2",), INTEGER + "'2'"),
    (size, (None,), INTEGER + "None"),
    (size, (True,), INTEGER + "True"),
    (size, (np.float64(2),), INTEGER + r"np.float64\(2.0\)"),
    (size, (torch.tensor(2),), INTEGER + r"tensor\(2\)"),
    (check.check_number, ("scale", "2"), "scale must be a number; got '2'"),
    (check.check_number, ("scale", True), "scale must be a number; got True"),
    (check.check_positive, ("scale", "2"), "scale must be a number; got '2'"),
    (check.check_dropout, (True,), "dropout must be a number; got True"),
    (check.check_floating, ("x", [1.0]), FLOATING + "list"),
    (check.check_floating, ("x", np.ones(2)), FLOATING + "ndarray"),
    (check.check_floating, ("x", ones(2).int()), FLOATING + "dtype torch.int32"),
    (check.check_floating, ("x", boolean(1)), FLOATING + "dtype torch.bool"),
    (check.check_floating, ("x", torch.tensor(1j)), FLOATING + ".*complex64"),
    (check.check_boolean, (True,), BOOLEAN + "bool"),
    (check.check_boolean, (np.ones(2, bool),), BOOLEAN + "ndarray"),
    (check.check_boolean, (ones(2),), BOOLEAN + "dtype torch.float32"),
    (check.check_boolean, (ones(2).to(torch.uint8),), BOOLEAN + ".*uint8"),
    (check.check_boolean, ([1], "padding_mask"), "padding_mask must .* list"),
    (check.check_query_and_key, (ones(2, 3), ones(2, 3).int()), "key must be .*int32"),
    (check.check_pair, ("x", boolean(2), "y", ones(2)), FLOATING + "dtype torch.bool"),
    (check.check_pair, ("key", ones(2), "value", ones(2).half()), PAIR + ".*float32 and .*float16"),
    (check.check_value, (ones(5, 4), ones(5, 4).half()), PAIR + ".*float32 and .*float16"),
    (check.check_mask, (ones(2, 3), (2, 3), CPU), BOOLEAN + ".*float32"),
    (check.look_up, ("source", TABLE, [[1]]), TOKENS + "list"),
    (check.look_up, ("source", TABLE, torch.tensor([[0.0]])), TOKENS + "dtype torch.float32"),
    (check.look_up, ("source", TABLE, torch.zeros(1, 1).char()), TOKENS + "dtype torch.int8"),
]
WRONG_VALUES = [
    (size, (-1,), "size must be at least 0; got -1"),
    (size, (np.int64(4), 5), "size must be at least 5; got 4"),
    *(
        (check.check_positive, ("x", x), f"x must be above 0, and finite; got {x}")
        for x in NOT_ABOVE
    ),
    (check.check_dropout, (1.5,), "dropout must be between 0 and 1; got 1.5"),
    (check.check_dropout, (-0.5,), "dropout must be between 0 and 1; got -0.5"),
    (check.check_dropout, (math.nan,), "dropout must be between 0 and 1; got nan"),
    (check.check_finite, (torch.tensor([0.5, torch.nan]), "in epoch 3"), LOSSES),
    (check.check_query_and_key, (ones(2, 3), ones(5, 4)), WIDTH + r"\(2, 3\) and \(5, 4\)"),
    (check.check_query_and_key, (ones(3), ones(5, 3)), WIDTH + r"\(3,\) and \(5, 3\)"),
    (check.check_query_and_key, (ones(7, 2, 0), ones(5, 0)), BOTH + r"\(7, 2, 0\) and .*"),
    (check.check_value, (ones(5, 4), ones(3, 4)), LENGTH + r"\(5, 4\) and \(3, 4\)"),
    (check.check_value, (ones(5, 4), ones(5)), LENGTH + r"\(5, 4\) and \(5,\)"),
    (
        check.check_pair,
        ("key", ones(2, 5, 4), "value", ones(3, 5, 4)),
        AXES + ".*2, .* and .*3, .*",
    ),
    (check.check_mask, (boolean(2), (2, 3), CPU), FITS + r"\(2,\)"),
    (check.check_mask, (boolean(1, 2, 3), (2, 3), CPU), FITS + r"\(1, 2, 3\)"),
    (check.check_mask, (META, (2, 3), CPU), DEVICE + "meta"),
    (check.look_up, ("source", TABLE, torch.tensor([0])), r"source must .* \(B, T\); got \(1,\)"),
    (check.look_up, ("source", TABLE, torch.tensor([[0, -1]])), "source must .* 0 to 2; got -1"),
    (check.look_up, ("source", TABLE, torch.tensor([[0, 3]])), "source must .* 0 to 2; got 3"),
]


@pytest.mark.parametrize(
    ("error", "refuse", "arguments", "message"),
    [(TypeError, *row) for row in WRONG_TYPES] + [(ValueError, *row) for row in WRONG_VALUES],
)
def test_wrong_values_are_refused(error, refuse, arguments, message):
    with pytest.raises(error, match=f"^{message}$"):
        refuse(*arguments)


# No example depends on the global seed.
@pytest.mark.parametrize(
    "name",
    [
        *["masks", "attention", "multi_head", "feed_forward", "positions", "pytorch"],
        *["experiments.words", "experiments.many_seeds", "experiments.training"],
    ],
)
def test_examples_hold_under_another_global_seed(seeded, name):
    module = importlib.import_module(f"selfattn_book.{name}")
    layout = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with seeded(13):
        result = doctest.testmod(module, optionflags=layout)
    assert result.attempted > 0
    assert result.failed == 0
