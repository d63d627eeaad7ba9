"""Rotary positions: against complex numbers, and what a rotation keeps."""

import cmath

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from selfattn_book.rotary import check_base, rotate


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


@given(st.integers(0, 5000), st.integers(0, 5000), st.integers(-500, 500), st.integers(0, 9))
def test_only_the_difference_of_two_positions_reaches_a_score(p, s, step, seed):
    generator = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, 8, generator=generator, dtype=torch.float64)

    def score(p, s):
        one, two = (torch.tensor([float(position)]) for position in (p, s))
        return (rotate(q, one) * rotate(k, two)).sum()

    torch.testing.assert_close(score(p, s), score(p + step, s + step), rtol=0, atol=1e-10)


def test_no_length_changes(draw, agree):
    x = draw(2, 3, 10)
    agree(rotate(x, torch.tensor([1, 5, 1000])).norm(dim=-1), x.norm(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_angles_are_precise_in_every_dtype(draw, dtype):
    """In bfloat16 neighbouring positions above 256 would be one and the same."""
    x, positions = draw(1, 2, 8, dtype=dtype), torch.tensor([1000, 1001])
    rotated = rotate(x, positions)
    assert rotated.dtype == dtype
    exact = rotate(x.double(), positions)
    atol = 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(rotated.double(), exact, rtol=0, atol=max(atol, 1e-3))


def test_what_is_given_stays_as_it_is_and_shapes_alone_will_do(draw):
    x, positions = draw(2, 3, 4), torch.arange(3)
    before = x.clone()
    rotate(x, positions)
    assert torch.equal(x, before)
    assert torch.equal(positions, torch.arange(3))
    assert rotate(x.to("meta"), positions.to("meta")).shape == x.shape
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


@pytest.mark.parametrize("base", [0, -1, float("inf"), float("nan")])
def test_a_base_must_be_positive_and_finite(base):
    with pytest.raises(ValueError, match="base must be above 0, and finite; got"):
        check_base(base)
    with pytest.raises(ValueError, match="base must be above 0"):
        rotate(torch.ones(3, 4), torch.arange(3), base)
    with pytest.raises(TypeError, match="base must be a number"):
        check_base("10000")
