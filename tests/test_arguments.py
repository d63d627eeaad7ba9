import doctest
import importlib

import numpy as np
import pytest
import torch

from selfattn_book._arguments import check_boolean, check_floating, check_integer


# Contract, "bad input": what is right passes, ...
@pytest.mark.parametrize("number", [2, 3, 10**30, np.int64(2), np.uint8(2)])
def test_integers_pass(number):
    assert check_integer("size", number, least=2) == number


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_floating_tensors_pass(dtype):
    assert check_floating("x", torch.zeros(2, dtype=dtype)) is None


def test_boolean_tensors_pass():
    assert check_boolean(torch.tensor([True, False])) is None


# ... and what is wrong is named, after the rule.
@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (2.0, "2.0"),
        ("2", "'2'"),
        (None, "None"),
        (True, "True"),
        (False, "False"),
        (np.float64(2), r"np.float64\(2.0\)"),
        (torch.tensor(2), r"tensor\(2\)"),
    ],
)
def test_no_integer(number, shown):
    with pytest.raises(TypeError, match=f"^size must be an integer; got {shown}$"):
        check_integer("size", number, least=0)


@pytest.mark.parametrize(("number", "least"), [(-1, 0), (0, 1), (np.int64(4), 5)])
def test_integer_too_small(number, least):
    with pytest.raises(
        ValueError, match=f"^size must be at least {least}; got {number}$"
    ):
        check_integer("size", number, least=least)


@pytest.mark.parametrize(
    ("x", "got"),
    [
        ([1.0], "list"),
        (np.ones(2), "ndarray"),
        (None, "NoneType"),
        (torch.tensor([1]), "dtype torch.int64"),
        (torch.tensor([True]), "dtype torch.bool"),
        (torch.tensor([1j]), "dtype torch.complex64"),
    ],
)
def test_no_floating_tensor(x, got):
    with pytest.raises(
        TypeError, match=f"^x must be a floating-point tensor; got {got}$"
    ):
        check_floating("x", x)


@pytest.mark.parametrize(
    ("mask", "got"),
    [
        (True, "bool"),
        ([[True]], "list"),
        (np.ones((2, 3), dtype=bool), "ndarray"),
        (torch.ones(2, 3), "dtype torch.float32"),
        (torch.ones(2, 3, dtype=torch.int64), "dtype torch.int64"),
        (torch.ones(2, 3, dtype=torch.uint8), "dtype torch.uint8"),
    ],
)
def test_no_boolean_tensor(mask, got):
    rule = "mask must be a boolean tensor, True = may attend"
    with pytest.raises(TypeError, match=f"^{rule}; got {got}$"):
        check_boolean(mask)


# Contract, "randomness": no example depends on the global seed.
@pytest.mark.parametrize("seed", [0, 13, 2**32 - 1])
@pytest.mark.parametrize(
    "name",
    [
        "_arguments",
        "masks",
        "attention",
        "multi_head",
        "positions",
        "pytorch",
        "experiments.words",
        "experiments.many_seeds",
        "experiments.training",
    ],
)
def test_examples_hold_under_any_global_seed(seeded, name, seed):
    module = importlib.import_module(f"selfattn_book.{name}")
    layout = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    with seeded(seed):
        result = doctest.testmod(module, optionflags=layout)
    assert result.attempted > 0
    assert result.failed == 0
