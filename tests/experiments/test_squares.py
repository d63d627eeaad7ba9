"""Squares equal those of their source, to the last bit."""

import numpy as np
import pytest
import torch

from selfattn_book.experiments.squares import (
    CORNERS,
    halves,
    last_corners,
    square_sequences,
)


def by_the_source(n, seed, variable_length):
    """Draw with the source's recipe, in plain Python and from NumPy's global generator."""
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
    before = np.random.get_state()[1].copy()
    squares = square_sequences(n, seed=seed, variable_length=variable_length)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
    sequences, lengths, directions = by_the_source(n, seed, variable_length)
    assert squares.lengths.tolist() == list(lengths)
    assert squares.directions.tolist() == list(directions)
    for points, sequence in zip(squares.points, sequences, strict=True):
        assert points[: len(sequence)].equal(torch.from_numpy(sequence).float())
        assert not points[len(sequence) :].any()


def test_points_have_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert square_sequences(3, seed=0).points.dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_halves_are_the_whole_square():
    squares = square_sequences(11, seed=5)
    source, shifted, target = halves(squares)[:]
    assert torch.cat([source, target], dim=1).equal(squares.points)
    assert shifted.equal(squares.points[:, 1:3])


def test_the_last_corner_is_the_target_after_all_others():
    squares = square_sequences(31, seed=5, variable_length=True)
    examples = last_corners(squares)
    assert {int(n) for n in squares.lengths} == {2, 3, 4}
    for example, points, length in zip(examples, squares.points, squares.lengths, strict=True):
        source, shifted, mask, target = example
        before = int(length) - 1
        assert mask[0, 0].tolist() == [True] * before + [False] * (3 - before)
        assert source[:before].equal(points[:before])
        assert not source[before:].any()
        assert shifted.equal(points[before - 1 : before])
        assert target.equal(points[before : before + 1])
