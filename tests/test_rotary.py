"""Rotary positions: against complex numbers, and scaled frequencies against their definitions."""

import cmath
import math
from functools import partial

import pytest
import torch

from selfattn_book.rotary import (
    dynamic_ntk_scaling,
    linear_scaling,
    llama3_scaling,
    ntk_scaling,
    rotate,
    yarn_scaling,
    yarn_temperature,
)


def by_complex_numbers(x, positions, base):
    """Multiply each pair, read as a complex number, by a number of length one, in a loop."""
    width = x.size(-1)
    rotated = x.clone()
    for t, position in enumerate(positions.tolist()):
        for i in range(width // 2):
            angle = position * base ** (-2 * i / width)
            for row, out in zip(x.flatten(0, -3), rotated.flatten(0, -3), strict=True):
                z = complex(row[t, i], row[t, i + width // 2])
                z *= cmath.exp(1j * angle)
                out[t, i], out[t, i + width // 2] = z.real, z.imag
    return rotated


@pytest.mark.parametrize("width", [2, 6, 14])
@pytest.mark.parametrize("base", [10000.0, 7.0, 1.0])
def test_each_pair_is_rotated_by_its_angle(draw, agree, width, base):
    x, positions = draw(3, 2, 5, width), torch.tensor([0, 1, 7, 100, -3])
    agree(rotate(x, positions, base), by_complex_numbers(x, positions, base))


def test_rows_of_a_batch_may_have_different_positions(draw, agree):
    x = draw(3, 2, 5, 6)
    positions = torch.randint(50, (3, 1, 5), generator=torch.Generator().manual_seed(0))
    whole = rotate(x, positions)
    for b in range(3):
        agree(whole[b], rotate(x[b], positions[b, 0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_angles_are_precise_in_every_dtype(draw, dtype):
    """In bfloat16 neighbouring positions above 256 would be one and the same."""
    x, positions = draw(1, 2, 8, dtype=dtype), torch.tensor([1000, 1001])
    rotated = rotate(x, positions)
    assert rotated.dtype == dtype
    exact = rotate(x.double(), positions)
    atol = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=max(atol, 1e-3))


def test_no_vectors_are_rotated_as_well():
    assert rotate(torch.empty(2, 0, 4), torch.empty(0)).shape == (2, 0, 4)


@pytest.mark.parametrize(
    ("x", "positions", "error", "message"),
    [
        (torch.ones(3, 5), torch.arange(3), ValueError, r"even D; got \(3, 5\)"),
        (torch.ones(4), torch.arange(1), ValueError, r"even D; got \(4,\)"),
        (torch.ones(3, 4), torch.arange(2), ValueError, r"\(3,\); got \(2,\)"),
        (torch.ones(3, 4), torch.tensor(1), ValueError, r"\(3,\); got \(\)"),
        (torch.ones(3, 4), torch.ones(2, 3), ValueError, r"got \(2, 3\)"),
        (torch.ones(3, 4).int(), torch.arange(3), TypeError, "floating-point"),
    ],
)
def test_inputs_are_refused(x, positions, error, message):
    with pytest.raises(error, match=message):
        rotate(x, positions)


def test_a_base_must_be_positive():
    with pytest.raises(ValueError, match="base must be above 0, and finite; got 0"):
        rotate(torch.ones(3, 4), torch.arange(3), 0)


# Scaled frequencies: one pair after the other, from the definitions.
BASE, WIDTH, LENGTH = 5000.0, 32, 4096


def turns(i, base=BASE):
    """Turns of pair i within the training length."""
    return LENGTH * base ** (-2 * i / WIDTH) / (2 * math.pi)


def ramp(x, start, end):
    return min(max((x - start) / (end - start), 0), 1)


def pair_of(n):
    """The real index at which a pair makes n turns, by bisection."""
    low, high = -100.0, 100.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if turns(middle) > n else (low, middle)
    return low


def of_base(base):
    return lambda i, omega: base ** (-2 * i / WIDTH)


def blended(kept):
    return lambda i, omega: kept(i) * omega + (1 - kept(i)) * omega / 4


def between(first, last):
    return blended(lambda i: 1 - ramp(i, first, last))


LONG = {"factor": 4, "original_length": LENGTH}
YARN, LLAMA3 = partial(yarn_scaling, **LONG), partial(llama3_scaling, **LONG)
DYNAMIC, GROWTH = partial(dynamic_ntk_scaling, **LONG), WIDTH / (WIDTH - 2)
FAST, SLOW = math.floor(pair_of(32)), math.ceil(pair_of(1))
STEEP = {"beta_fast": 100.0, "beta_slow": 3.0, "truncate": False}
SCALED = [
    (partial(linear_scaling, factor=4), lambda i, omega: omega / 4),
    (partial(ntk_scaling, factor=4), of_base(BASE * 4**GROWTH)),
    (partial(DYNAMIC, length=LENGTH), of_base(BASE)),
    (partial(DYNAMIC, length=7), of_base(BASE)),
    (partial(DYNAMIC, length=3 * LENGTH), of_base(BASE * (4 * 3 - 3) ** GROWTH)),
    (YARN, between(FAST, SLOW)),
    (partial(YARN, truncate=False), between(pair_of(32), pair_of(1))),
    (partial(YARN, **STEEP), between(pair_of(100), pair_of(3))),
    (partial(YARN, beta_fast=5000.0), between(0, SLOW)),  # more turns than any pair makes
    (partial(YARN, beta_fast=5000.0, beta_slow=660.0), blended(lambda i: i == 0)),
    (partial(YARN, beta_slow=1e-9), between(FAST, WIDTH - 1)),  # fewer than any
    (LLAMA3, blended(lambda i: ramp(turns(i), 1, 4))),
    (partial(LLAMA3, low=2.0, high=50.0), blended(lambda i: ramp(turns(i), 2, 50))),
]


@pytest.mark.parametrize(("scaling", "expected"), SCALED)
def test_scaled_frequencies_are_those_of_the_definition(scaling, expected):
    base = [BASE ** (-2 * i / WIDTH) for i in range(WIDTH // 2)]
    frequencies = torch.tensor(base, dtype=torch.float64)
    wanted = torch.tensor([expected(i, omega) for i, omega in enumerate(base)]).double()
    torch.testing.assert_close(scaling(frequencies), wanted, rtol=1e-6, atol=0)
    assert frequencies.tolist() == base  # unchanged
    assert scaling(frequencies.to("meta")).shape == frequencies.shape


def test_linear_scaling_divides_the_positions(draw, agree):
    x, positions = draw(2, 3, 8), torch.tensor([1, 7, 4000])
    agree(rotate(x, positions, scaling=SCALED[0][0]), rotate(x, positions / 4, 10_000.0))


def test_temperature_of_yarn():
    assert yarn_temperature(0.5) == yarn_temperature(1) == 1
    assert yarn_temperature(math.e**10) == pytest.approx(1 / 4)


REFUSED = {
    "factor must be above 0, and finite; got 0": (linear_scaling, {"factor": 0}),
    "factor must be above 0, and finite; got -1": (ntk_scaling, {"factor": -1}),
    "original_length must be at least 1; got 0": (YARN, {"original_length": 0}),
    "beta_fast must be above beta_slow, 1.0; got 1": (YARN, {"beta_fast": 1}),
    "beta_fast must be above 0, .*": (YARN, {"beta_fast": math.nan}),
    "beta_slow must be above 0, .*": (YARN, {"beta_slow": -1.0}),
    "high must be above low, 4.0; got 4": (LLAMA3, {"low": 4.0, "high": 4}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_of_a_scaling_are_refused(message):
    scaling, options = REFUSED[message]
    with pytest.raises(ValueError, match=f"^{message}$"):
        scaling(torch.ones(4), **options)
    with pytest.raises(ValueError, match=r"YaRN needs at least two frequencies; got 1"):
        YARN(torch.ones(1))
    assert YARN(torch.tensor([1.0, 0.1])).shape == (2,)


@pytest.mark.parametrize("scaling", [YARN, LLAMA3, partial(DYNAMIC, length=7)])
def test_factor_and_length_of_every_scaling_are_checked(scaling):
    for wrong, least in (("factor", "above 0"), ("original_length", "at least 1")):
        with pytest.raises(ValueError, match=f"{wrong} must be {least}.*; got 0"):
            scaling(torch.ones(4), **{wrong: 0})
    with pytest.raises(ValueError, match="factor must be above 0"):
        yarn_temperature(0)
