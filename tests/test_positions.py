"""Positional encoding: the table by its formula, and the module that adds it."""

import math

import numpy as np
import pytest
import torch

from selfattn_book.positions import PositionalEncoding, sinusoidal_encoding

BATCH, LENGTH, WIDTH, MAX_LEN = 2, 5, 7, 11
each_dtype = pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str
)


def formula(length, d_model):
    """The table by Python's own sine and cosine, entry by entry."""

    def entry(position, column):
        even = column - column % 2
        wave = math.cos if column % 2 else math.sin
        return wave(position / 10000 ** (even / d_model))

    rows = [[entry(p, c) for c in range(d_model)] for p in range(length)]
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("d_model", [1, 2, 3, 5, 8, 13, 64])
@pytest.mark.parametrize("length", [1, 2, 53])
def test_table_follows_the_formula(length, d_model):
    table = sinusoidal_encoding(length, d_model, dtype=torch.float64)
    atol = length * 20 * torch.finfo(torch.float64).eps  # as angles grow, so does their rounding
    torch.testing.assert_close(table, formula(length, d_model), rtol=0, atol=atol)


@each_dtype
def test_table_is_rounded_once(dtype):
    """Positions counted in the dtype itself would meet: 256 and 257 are one bfloat16."""
    table = sinusoidal_encoding(601, WIDTH, dtype=dtype)
    assert torch.equal(table, sinusoidal_encoding(601, WIDTH, dtype=torch.float64).to(dtype))
    module = PositionalEncoding(WIDTH, 601)
    assert module(torch.zeros(601, WIDTH, dtype=dtype)).equal(table)
    assert module.to(dtype).table.equal(table)


@pytest.mark.parametrize("start", [0, 4])
@pytest.mark.parametrize("scale", [1.0, 0, -2, math.sqrt(WIDTH)])
@pytest.mark.parametrize("d_model", [1, 2, 7])
def test_module_scales_and_adds(draw, agree, d_model, scale, start):
    x = draw(BATCH, LENGTH, d_model, dtype=torch.float32)
    y = PositionalEncoding(d_model, MAX_LEN, scale)(x, start)
    agree(y, scale * x.double() + formula(start + LENGTH, d_model)[start:])


def test_table_is_neither_trained_nor_saved():
    positions = PositionalEncoding(WIDTH, MAX_LEN)
    assert list(positions.state_dict()) == list(positions.parameters()) == []
    assert [name for name, _ in positions.named_buffers()] == ["table"]
    assert not positions.table.requires_grad


def test_table_is_made_where_asked():
    assert sinusoidal_encoding(LENGTH, WIDTH, device="meta").is_meta
    with torch.device("meta"):
        assert PositionalEncoding(WIDTH, MAX_LEN).table.is_meta


def test_repr_shows_the_sizes():
    expected = "PositionalEncoding(d_model=7, max_len=1000, scale=0.5)"
    assert repr(PositionalEncoding(np.int64(WIDTH), scale=0.5)) == expected
    assert repr(PositionalEncoding(WIDTH)).endswith("scale=1.0)")


@pytest.mark.parametrize(("max_len", "excess", "start"), [(1, 1, 0), (5, 8, 0), (5, 1, 2)])
def test_too_long_an_input(max_len, excess, start):
    positions = PositionalEncoding(WIDTH, max_len)
    assert positions(torch.zeros(BATCH, max_len - start, WIDTH), start=start).ndim == 3
    message = f"x must be at most max_len = {max_len} positions long; got {max_len + excess}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        positions(torch.zeros(BATCH, max_len - start + excess, WIDTH), start=start)


SHAPE = r"x must have shape \(..., length, 7\); got "
REFUSED_INPUTS = [
    (torch.zeros(2, 3, 5), ValueError, SHAPE + r"\(2, 3, 5\)"),
    (torch.zeros(2, 3, 1), ValueError, SHAPE + r"\(2, 3, 1\)"),
    (torch.zeros(7), ValueError, SHAPE + r"\(7,\)"),
    (torch.tensor(7.0), ValueError, SHAPE + r"\(\)"),
    (torch.zeros(2, 7).long(), TypeError, "x must be .* tensor; got dtype torch.int64"),
]


@pytest.mark.parametrize(("x", "error", "message"), REFUSED_INPUTS)
def test_inputs_are_refused(x, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        PositionalEncoding(WIDTH, MAX_LEN)(x)


HUGE = "scale must be finite; got an integer too large for a float"
REFUSED_SIZES = [
    (sinusoidal_encoding, (-1, 3), ValueError, "length must be at least 0; got -1"),
    (sinusoidal_encoding, (2, 0), ValueError, "d_model must be at least 1; got 0"),
    (PositionalEncoding, (0, 3), ValueError, "d_model must be at least 1; got 0"),
    (PositionalEncoding, (3, 0), ValueError, "max_len must be at least 1; got 0"),
    (PositionalEncoding, (3, 5, "2"), TypeError, "scale must be a number; got '2'"),
    (PositionalEncoding, (3, 5, math.inf), ValueError, "scale must be finite; got inf"),
    (PositionalEncoding, (3, 5, math.nan), ValueError, "scale must be finite; got nan"),
    (PositionalEncoding, (3, 5, 10**400), ValueError, HUGE),
    (PositionalEncoding, (3, 5, -(10**5000)), ValueError, HUGE),
]


@pytest.mark.parametrize(("make", "arguments", "error", "message"), REFUSED_SIZES)
def test_construction_refuses(make, arguments, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        make(*arguments)


@pytest.mark.parametrize("dtype", ["float32", np.float32, torch.int8, torch.complex64])
def test_a_dtype_must_be_floating(dtype):
    with pytest.raises(TypeError, match=f"^dtype must be floating point; got {dtype!r}$"):
        sinusoidal_encoding(2, 3, dtype=dtype)
