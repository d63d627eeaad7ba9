import copy
import math
import pickle

import numpy as np
import pytest
import torch

from selfattn_book.positions import PositionalEncoding, sinusoidal_encoding

BATCH, LENGTH, WIDTH, MAX_LEN = 2, 5, 7, 11
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def formula(length, d_model):
    """The table by Python's own sine and cosine, entry by entry."""

    def entry(position, column):
        even = column - column % 2
        wave = math.cos if column % 2 else math.sin
        return wave(position / 10000 ** (even / d_model))

    rows = [[entry(p, c) for c in range(d_model)] for p in range(length)]
    return torch.tensor(rows, dtype=torch.float64)


# Contract, "positions": entry by entry; any width, odd ones too.
@pytest.mark.parametrize("d_model", [1, 2, 3, 5, 8, 13, 64])
@pytest.mark.parametrize("length", [1, 2, 53])
def test_table_follows_the_formula(length, d_model):
    table = sinusoidal_encoding(length, d_model, dtype=torch.float64)
    atol = length * 20 * torch.finfo(torch.float64).eps  # as angles grow, so does their rounding
    torch.testing.assert_close(table, formula(length, d_model), rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_table_is_rounded_once(dtype):
    table = sinusoidal_encoding(601, WIDTH, dtype=dtype)
    assert torch.equal(table, sinusoidal_encoding(601, WIDTH, dtype=torch.float64).to(dtype))


def test_row_printed_by_source_c():
    printed = torch.tensor([0.8415, 0.5403, 0.0998, 0.9950, 0.0100, 1.0, 0.0010, 1.0])
    table = sinusoidal_encoding(10, 8)
    torch.testing.assert_close(table[1], printed, rtol=0, atol=0.51e-4)


# Where positions counted in the dtype itself would meet: 256 and 257 are one bfloat16.
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("d_model", [2, 7])
def test_half_precision_keeps_positions_apart(dtype, d_model):
    assert len(torch.arange(601, dtype=torch.bfloat16).unique()) < 601
    table = sinusoidal_encoding(601, d_model, dtype=dtype)
    assert len(table.unique(dim=0)) == 601


# The module: c x + P.
def test_start_selects_later_rows():
    positions = PositionalEncoding(WIDTH, MAX_LEN).double()
    y = positions(torch.zeros(3, WIDTH, dtype=torch.float64), start=4)
    assert torch.equal(y, positions.table[4:7])
    with pytest.raises(ValueError, match="at most max_len = 11 positions long; got 12"):
        positions(torch.zeros(3, WIDTH), start=9)


@pytest.mark.parametrize("scale", [1.0, 0, -2, math.sqrt(WIDTH)])
@pytest.mark.parametrize("d_model", [1, 2, 7])
def test_module_scales_and_adds(draw, agree, d_model, scale):
    x = draw(BATCH, LENGTH, d_model, dtype=torch.float32)
    y = PositionalEncoding(d_model, MAX_LEN, scale)(x)
    agree(y, scale * x.double() + formula(LENGTH, d_model))


@pytest.mark.parametrize("length", [0, 1, MAX_LEN])
def test_any_length_up_to_the_longest(length):
    x = torch.zeros(BATCH, 3, length, WIDTH)
    y = PositionalEncoding(WIDTH, MAX_LEN)(x)
    assert torch.equal(y, sinusoidal_encoding(length, WIDTH).expand(BATCH, 3, -1, -1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_output_follows_the_dtype_of_the_input(draw, dtype):
    x = draw(BATCH, LENGTH, WIDTH, dtype=dtype)
    y = PositionalEncoding(WIDTH, MAX_LEN, scale=0.5)(x)
    assert y.dtype == dtype
    assert torch.equal(y, 0.5 * x + sinusoidal_encoding(LENGTH, WIDTH, dtype=dtype))


# Contract, "positions": a buffer that is neither trained nor saved.
def test_table_is_neither_trained_nor_saved():
    positions = PositionalEncoding(WIDTH, MAX_LEN)
    assert list(positions.state_dict()) == []
    assert list(positions.parameters()) == []
    assert [name for name, _ in positions.named_buffers()] == ["table"]
    assert not positions.table.requires_grad


def test_gradient_is_the_scale():
    x = torch.zeros(BATCH, LENGTH, WIDTH, requires_grad=True)
    PositionalEncoding(WIDTH, MAX_LEN, scale=3.0)(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 3.0))


# Contract, "no hidden state".


def test_nothing_is_changed_or_kept(draw):
    positions, x = PositionalEncoding(WIDTH, MAX_LEN), draw(BATCH, LENGTH, WIDTH)
    x_before, table_before = x.clone(), positions.table.clone()
    attributes_before = set(vars(positions))
    first = positions(x)
    expected = first.clone()
    first.zero_()  # what came out is the caller's to change
    positions(x[:, :2].float())
    assert torch.equal(positions(x), expected)
    assert torch.equal(x, x_before)
    assert torch.equal(positions.table, table_before)
    assert set(vars(positions)) == attributes_before


# Contract, "devices, dtypes".
def test_runs_on_meta():
    assert sinusoidal_encoding(LENGTH, WIDTH, device="meta").is_meta
    with torch.device("meta"):
        positions = PositionalEncoding(WIDTH, MAX_LEN)
    assert positions.table.is_meta
    y = positions(torch.ones(BATCH, LENGTH, WIDTH, device="meta"))
    assert y.is_meta
    assert y.shape == (BATCH, LENGTH, WIDTH)


def test_compiles(draw, agree):
    positions, x = (PositionalEncoding(WIDTH, MAX_LEN, 2.0), draw(BATCH, LENGTH, WIDTH))
    compiled = torch.compile(positions, backend="aot_eager", fullgraph=True)
    agree(compiled(x), positions(x))


def test_exports_with_free_sizes(draw, agree):
    positions, x = PositionalEncoding(WIDTH, MAX_LEN), draw(BATCH, LENGTH, WIDTH)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=MAX_LEN)}
    exported = torch.export.export(positions, (x,), dynamic_shapes=(sizes,)).module()
    longer = draw(3, MAX_LEN, WIDTH)
    agree(exported(longer), positions(longer))


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))]
)
def test_copies_give_the_same(draw, duplicate):
    positions, x = PositionalEncoding(WIDTH, MAX_LEN, 2.0), draw(LENGTH, WIDTH)
    assert torch.equal(duplicate(positions)(x), positions(x))


def test_repr_shows_the_sizes():
    expected = "PositionalEncoding(d_model=7, max_len=1000, scale=0.5)"
    assert repr(PositionalEncoding(np.int64(WIDTH), scale=0.5)) == expected


# Contract, "positions": too long an input names both numbers, max_len = 1 included.
@pytest.mark.parametrize("max_len", [1, 5])
@pytest.mark.parametrize("excess", [1, 8])
def test_too_long_an_input(max_len, excess):
    positions = PositionalEncoding(WIDTH, max_len)
    assert positions(torch.zeros(BATCH, max_len, WIDTH)).shape[1] == max_len
    message = f"x must be at most max_len = {max_len} positions long; got {max_len + excess}"
    with pytest.raises(ValueError, match=f"^{message}$"):
        positions(torch.zeros(BATCH, max_len + excess, WIDTH))


# Contract, "bad input".
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (
            torch.zeros(2, 3, 5),
            ValueError,
            r"x must have shape \(..., length, 7\); got \(2, 3, 5\)",
        ),
        (
            torch.zeros(2, 3, 1),
            ValueError,
            r"x must have shape \(..., length, 7\); got \(2, 3, 1\)",
        ),
        (torch.zeros(7), ValueError, r"x must have shape \(..., length, 7\); got \(7,\)"),
        (torch.tensor(7.0), ValueError, r"x must have shape \(..., length, 7\); got \(\)"),
        (
            torch.zeros(2, 7).long(),
            TypeError,
            "x must be a floating-point tensor; got dtype torch.int64",
        ),
        (np.zeros((2, 7)), TypeError, "x must be a floating-point tensor; got ndarray"),
    ],
)
def test_inputs_are_refused(x, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        PositionalEncoding(WIDTH, MAX_LEN)(x)


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ((2.0, 3), TypeError, "length must be an integer; got 2.0"),
        ((-1, 3), ValueError, "length must be at least 0; got -1"),
        ((2, "3"), TypeError, "d_model must be an integer; got '3'"),
        ((2, 0), ValueError, "d_model must be at least 1; got 0"),
        ((2, 3, "float32"), TypeError, "dtype must be floating point; got 'float32'"),
        ((2, 3, np.float32), TypeError, "dtype must be floating point; got <class .*>"),
        ((2, 3, torch.int8), TypeError, "dtype must be floating point; got torch.int8"),
        ((2, 3, torch.complex64), TypeError, "dtype must be floating point; got torch.complex64"),
    ],
)
def test_table_refuses(sizes, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        sinusoidal_encoding(*sizes[:2], dtype=(*sizes, None)[2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 3), ValueError, "d_model must be at least 1; got 0"),
        ((3.5, 3), TypeError, "d_model must be an integer; got 3.5"),
        ((3, 0), ValueError, "max_len must be at least 1; got 0"),
        ((3, 2.5), TypeError, "max_len must be an integer; got 2.5"),
        ((3, 5, "2"), TypeError, "scale must be a number; got '2'"),
        ((3, 5, None), TypeError, "scale must be a number; got None"),
        ((3, 5, True), TypeError, "scale must be a number; got True"),
        ((3, 5, math.inf), ValueError, "scale must be finite; got inf"),
        ((3, 5, math.nan), ValueError, "scale must be finite; got nan"),
        ((3, 5, 10**400), ValueError, "scale must be finite; got an integer too large for a float"),
        ((3, 5, -(10**5000)), ValueError, ".* got an integer too large for a float"),
    ],
)
def test_construction_refuses(arguments, error, message):
    with pytest.raises(error, match=f"^{message}$"):
        PositionalEncoding(*arguments)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_cast_table_is_rounded_once(dtype):
    module = PositionalEncoding(5, 7).to(dtype)
    assert module.table.equal(sinusoidal_encoding(7, 5, dtype=dtype))
    assert PositionalEncoding(5, 7)(torch.zeros(7, 5, dtype=dtype)).equal(module.table)
