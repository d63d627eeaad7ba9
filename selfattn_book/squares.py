"""Squares drawn corner by corner, with noise: the sequences that Part III learns to continue.

Shape letters: ``N`` sequences, 4 corners, 2 coordinates.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from selfattn_book.checks import check_integer

CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
NOISE = 0.1  # standard deviation of each coordinate


class Squares(NamedTuple):
    """Square sequences as tensors.

    Attributes:
        points: ``(N, 4, 2)`` in the default dtype; what lies behind a sequence's end is 0.
        lengths: ``(N,)``, how many corners each sequence has.
        directions: ``(N,)``: 1 walks in the order of ``CORNERS``, 0 against it.
    """

    points: Tensor
    lengths: Tensor
    directions: Tensor


def square_sequences(
    n: int, *, seed: int, variable_length: bool = False
) -> Squares:
    """Walk around a square ``n`` times, from a random corner in a random direction.

    The numbers come from NumPy's legacy generator, which will not change any more, in this order:
    the first corners, the lengths if they vary, the directions, then the noise of each sequence.

    Args:
        n: how many sequences.
        seed: of the generator.
        variable_length: draw a length of 2, 3 or 4 for each; else all have 4 corners.

    Returns:
        Points ``(n, 4, 2)``, lengths ``(n,)`` and directions ``(n,)``.

    Raises:
        TypeError: ``n`` is not an integer.
        ValueError: ``n`` is below 1.

    Source:
        :cite:t:`godoy2022deep`, chapter 8.

    Example:
        >>> squares = square_sequences(128, seed=13)
        >>> squares.points.shape, squares.lengths[:3], squares.directions[:3]
        (torch.Size([128, 4, 2]), tensor([4, 4, 4]), tensor([1, 0, 0]))
        >>> squares.points[0].round()   # without the noise
        tensor([[ 1.,  1.],
                [ 1., -1.],
                [-1., -1.],
                [-1.,  1.]])
        >>> square_sequences(0, seed=13)
        Traceback (most recent call last):
        ValueError: n must be at least 1; got 0
    """
    n = check_integer("n", n, least=1)
    chance = np.random.RandomState(seed)
    first = chance.randint(4, size=n)
    lengths = chance.randint(3, size=n) + 2 if variable_length else np.full(n, 4)
    directions = chance.randint(2, size=n)
    points = np.zeros((n, 4, 2))
    for i, (corner, length, forwards) in enumerate(
        zip(first, lengths, directions, strict=True)
    ):
        walk = np.roll(CORNERS, -corner, axis=0)[:: 1 if forwards else -1]
        points[i, :length] = walk[:length] + NOISE * chance.randn(length, 2)
    return Squares(
        torch.from_numpy(points).to(torch.get_default_dtype()),
        torch.from_numpy(lengths),
        torch.from_numpy(directions),
    )
