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


# Contract, "bad input": right values pass.
@pytest.mark.parametrize("number", [2, 3, 10**30, np.int64(2), np.uint8(2)])
def test_integers_pass(number):
    found = check.check_integer("size", number, least=2)
    assert found == number
    assert type(found) is int


def test_other_right_values_pass():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        check.check_floating("x", ones(2, dtype=dtype))
    check.check_boolean(torch.tensor([True, False]))
    check.check_number("scale", 2)
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
    return lambda: check.check_integer("size", number, least=least)


# ... and wrong ones are named, after the rule.
INTEGER = "size must be an integer; got "
FLOATING = "x must be a floating-point tensor; got "
BOOLEAN = "mask must be a boolean tensor, True = may attend; got "
WIDTH = r"query \(..., T, D\) and key \(..., S, D\) must have one dimension D; got "
LENGTH = r"key \(..., S, D\) and value \(..., S, E\) must have one length S; got "
FITS = r"mask must broadcast to the scores' shape \(2, 3\); got "


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (size(2.0), TypeError, INTEGER + "2.0"),
        (size("2"), TypeError, INTEGER + "'2'"),
        (size(None), TypeError, INTEGER + "None"),
        (size(True), TypeError, INTEGER + "True"),
        (size(np.float64(2)), TypeError, INTEGER + r"np.float64\(2.0\)"),
        (size(torch.tensor(2)), TypeError, INTEGER + r"tensor\(2\)"),
        (size(-1), ValueError, "size must be at least 0; got -1"),
        (size(np.int64(4), 5), ValueError, "size must be at least 5; got 4"),
        (lambda: check.check_number("scale", "2"), TypeError, "scale must be a number; got '2'"),
        (lambda: check.check_number("scale", True), TypeError, "scale must be a number; got True"),
        (lambda: check.check_dropout(1.5), ValueError, "dropout must be between 0 and 1; got 1.5"),
        (lambda: check.check_dropout(-0.5), ValueError, "dropout must be between .*; got -0.5"),
        (lambda: check.check_dropout(math.nan), ValueError, "dropout must be between .*; got nan"),
        (
            lambda: check.check_finite(torch.tensor([0.5, torch.nan]), "in epoch 3"),
            ValueError,
            r"losses must be finite; got \[0.5, nan\] in epoch 3",
        ),
        (lambda: check.check_floating("x", [1.0]), TypeError, FLOATING + "list"),
        (lambda: check.check_floating("x", np.ones(2)), TypeError, FLOATING + "ndarray"),
        (
            lambda: check.check_floating("x", ones(2).int()),
            TypeError,
            FLOATING + "dtype torch.int32",
        ),
        (lambda: check.check_floating("x", boolean(1)), TypeError, FLOATING + "dtype torch.bool"),
        (lambda: check.check_floating("x", torch.tensor(1j)), TypeError, FLOATING + ".*complex64"),
        (lambda: check.check_boolean(True), TypeError, BOOLEAN + "bool"),
        (lambda: check.check_boolean(np.ones(2, bool)), TypeError, BOOLEAN + "ndarray"),
        (lambda: check.check_boolean(ones(2)), TypeError, BOOLEAN + "dtype torch.float32"),
        (lambda: check.check_boolean(ones(2).to(torch.uint8)), TypeError, BOOLEAN + ".*uint8"),
        (lambda: check.check_boolean([1], "padding_mask"), TypeError, "padding_mask must .* list"),
        (
            lambda: check.check_query_and_key(ones(2, 3), ones(5, 4)),
            ValueError,
            WIDTH + r"\(2, 3\) and \(5, 4\)",
        ),
        (
            lambda: check.check_query_and_key(ones(3), ones(5, 3)),
            ValueError,
            WIDTH + r"\(3,\) and \(5, 3\)",
        ),
        (
            lambda: check.check_query_and_key(ones(2, 0), ones(5, 0)),
            ValueError,
            r"query and key must have a dimension of at least 1; got \(2, 0\) and \(5, 0\)",
        ),
        (
            lambda: check.check_value(ones(5, 4), ones(3, 4)),
            ValueError,
            LENGTH + r"\(5, 4\) and \(3, 4\)",
        ),
        (
            lambda: check.check_value(ones(5, 4), ones(5)),
            ValueError,
            LENGTH + r"\(5, 4\) and \(5,\)",
        ),
        (
            lambda: check.check_pair("key", ones(2), "value", ones(2).half()),
            TypeError,
            "key and value must have one dtype; got torch.float32 and torch.float16",
        ),
        (
            lambda: check.check_pair("key", ones(2, 5, 4), "value", ones(3, 5, 4)),
            ValueError,
            r"the leading axes of key and value must broadcast; got \(2, 5, 4\) and \(3, 5, 4\)",
        ),
        (lambda: check.check_mask(boolean(2), (2, 3), CPU), ValueError, FITS + r"\(2,\)"),
        (lambda: check.check_mask(boolean(1, 2, 3), (2, 3), CPU), ValueError, FITS + ".*2, 3.*"),
        (lambda: check.check_mask(ones(2, 3), (2, 3), CPU), TypeError, BOOLEAN + ".*float32"),
        (
            lambda: check.check_mask(META, (2, 3), CPU),
            ValueError,
            "mask must be on the device of what it masks, cpu; got meta",
        ),
        (
            lambda: check.look_up("source", TABLE, [[1]]),
            TypeError,
            "source must be an integer tensor; got list",
        ),
        (
            lambda: check.look_up("source", TABLE, torch.tensor([[0.0]])),
            TypeError,
            "source must be an integer tensor; got dtype torch.float32",
        ),
        (
            lambda: check.look_up("source", TABLE, torch.tensor([0])),
            ValueError,
            r"source must have shape \(B, T\); got \(1,\)",
        ),
        (
            lambda: check.look_up("source", TABLE, torch.tensor([[0, -1]])),
            ValueError,
            "source must hold tokens from 0 to 2; got -1",
        ),
        (
            lambda: check.look_up("source", TABLE, torch.tensor([[0, 3]])),
            ValueError,
            "source must hold tokens from 0 to 2; got 3",
        ),
    ],
)
def test_wrong_values_are_refused(call, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        call()


# Contract, "randomness": no example depends on the global seed.
@pytest.mark.parametrize("seed", [0, 13, 2**32 - 1])
@pytest.mark.parametrize(
    "name",
    [
        *["masks", "attention", "multi_head", "feed_forward", "positions", "pytorch"],
        *["experiments.words", "experiments.many_seeds", "experiments.training"],
    ],
)
def test_examples_hold_under_any_global_seed(seeded, name, seed):
    module = importlib.import_module(f"selfattn_book.{name}")
    layout = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with seeded(seed):
        result = doctest.testmod(module, optionflags=layout)
    assert result.attempted > 0
    assert result.failed == 0
