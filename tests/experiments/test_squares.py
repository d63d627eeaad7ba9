"""Squares come out as their source draws them, to the last bit."""

import numpy as np
import pytest
import torch

from selfattn_book.experiments.squares import (
    CORNERS,
    halves,
    last_corners,
    opposite_corners,
    square_sequences,
)


def by_the_book(n, seed, variable_length):
    """The source's recipe once more, in plain Python and with the global generator."""
    state = np.random.get_state()
    np.random.seed(seed)
    first = np.random.randint(4, size=n)
    lengths = np.random.randint(3, size=n) + 2 if variable_length else [4] * n
    directions = np.random.randint(2, size=n)
    sequences = []
    for corner, length, direction in zip(first, lengths, directions, strict=True):
        walk = [CORNERS[(corner + step) % 4] for step in range(4)]
        walk = walk if direction == 1 else list(reversed(walk))
        sequences.append(np.array(walk[:length]) + np.random.randn(length, 2) * 0.1)
    np.random.set_state(state)
    return sequences, lengths, directions


@pytest.mark.parametrize("variable_length", [False, True])
@pytest.mark.parametrize(("n", "seed"), [(128, 13), (128, 19), (7, 0)])
def test_points_are_those_of_the_source(n, seed, variable_length):
    squares = square_sequences(n, seed=seed, variable_length=variable_length)
    sequences, lengths, directions = by_the_book(n, seed, variable_length)
    assert squares.lengths.tolist() == list(lengths)
    assert squares.directions.tolist() == list(directions)
    for points, sequence in zip(squares.points, sequences, strict=True):
        expected = torch.from_numpy(sequence).float()
        assert points[: len(sequence)].equal(expected)
        assert not points[len(sequence) :].any()


def test_a_printed_sequence_of_the_source_comes_out():
    points = square_sequences(128, seed=13).points[0]
    printed = [
        [1.0349, 0.9661],
        [0.8055, -0.9169],
        [-0.8251, -0.9499],
        [-0.8670, 0.9342],
    ]
    torch.testing.assert_close(points, torch.tensor(printed), atol=5e-5, rtol=0)


def test_points_have_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert square_sequences(3, seed=0).points.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_numpy_s_own_generator_is_left_alone():
    before = np.random.get_state()[1].copy()
    square_sequences(5, seed=3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [(0, ValueError, "n must be at least 1; got 0"), (2.0, TypeError, "got 2.0")],
)
def test_no_squares_are_refused(n, error, message):
    with pytest.raises(error, match=message):
        square_sequences(n, seed=0)


def test_halves_hold_the_whole_square():
    squares = square_sequences(11, seed=5)
    source, shifted, target = halves(squares)[:]
    assert torch.cat([source, target], dim=1).equal(squares.points)
    assert shifted.equal(squares.points[:, 1:3])


def test_last_corners_are_asked_for_after_all_the_others():
    squares = square_sequences(31, seed=5, variable_length=True)
    examples = last_corners(squares)
    assert {int(n) for n in squares.lengths} == {2, 3, 4}
    for example, points, length in zip(examples, squares.points, squares.lengths, strict=True):
        source, shifted, mask, target = example
        given = int(length) - 1
        assert mask[0, 0].tolist() == [True] * given + [False] * (3 - given)
        assert source[:given].equal(points[:given])
        assert not source[given:].any()
        assert shifted.equal(points[given - 1 : given])
        assert target.equal(points[given : given + 1])


def test_the_corner_opposite_is_two_places_further():
    walks = torch.tensor(np.stack([CORNERS, CORNERS[::-1]]))
    noise = torch.rand(2, 2, 2, generator=torch.Generator().manual_seed(0)) - 0.5
    assert opposite_corners(walks[:, :2] + noise).equal(walks[:, 2:])
