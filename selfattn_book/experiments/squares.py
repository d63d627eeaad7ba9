"""Squares drawn corner by corner, with noise: the sequences of Part III.

Shape letters: ``N`` sequences, 4 corners, 2 coordinates; ``S`` source corners.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.positions import sinusoidal_encoding

CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
NOISE = 0.1  # standard deviation of each coordinate


class Squares(NamedTuple):
    """Square sequences as tensors.

    Attributes:
        points: ``(N, 4, 2)`` in the default dtype, padded with zeros.
        lengths: ``(N,)``, the number of corners of each sequence.
        directions: ``(N,)``: 1 in the order of ``CORNERS``, 0 against it.
    """

    points: Tensor
    lengths: Tensor
    directions: Tensor


def square_sequences(n: int, *, seed: int, variable_length: bool = False) -> Squares:
    """Draw noisy walks around a square, from a random corner in a random direction.

    The numbers come from NumPy's legacy generator, which will not change any more, in this order:
    a corner each, the lengths if they vary, the directions, then the noise of each sequence.
    A walk of direction 1 begins at its corner; one of direction 0 is that walk of four, backwards.

    Args:
        n: number of sequences.
        seed: seed of the generator.
        variable_length: whether to draw a length of 2, 3 or 4 for each; else all have 4 corners.

    Returns:
        Points ``(n, 4, 2)``, lengths ``(n,)`` and directions ``(n,)``.

    Source:
        :cite:t:`godoy2022deep`, chapter 8.

    Example:
        >>> squares = square_sequences(128, seed=13)
        >>> squares.points.shape, squares.lengths[:3], squares.directions[:3]
        (torch.Size([128, 4, 2]), tensor([4, 4, 4]), tensor([1, 0, 0]))
        >>> squares.points[0]   # forwards, from the third corner
        tensor([[ 1.0349,  0.9661],
                [ 0.8055, -0.9169],
                [-0.8251, -0.9499],
                [-0.8670,  0.9342]])
    """
    random = np.random.RandomState(seed)
    first = random.randint(4, size=n)
    lengths = random.randint(3, size=n) + 2 if variable_length else np.full(n, 4)
    directions = random.randint(2, size=n)
    points = np.zeros((n, 4, 2))
    for i, (corner, length, forwards) in enumerate(zip(first, lengths, directions, strict=True)):
        walk = np.roll(CORNERS, -corner, axis=0)[:: 1 if forwards else -1]
        points[i, :length] = walk[:length] + NOISE * random.randn(length, 2)
    return Squares(
        torch.from_numpy(points).to(torch.get_default_dtype()),
        torch.from_numpy(lengths),
        torch.from_numpy(directions),
    )


def halves(squares: Squares) -> TensorDataset:
    """Make examples of two corners in and two corners out.

    Returns:
        Examples of a source ``(2, 2)``, the shifted target ``(2, 2)``, which begins with the last
        source corner, and the target ``(2, 2)``.
    """
    points = squares.points
    return TensorDataset(points[:, :2], points[:, 1:3], points[:, 2:])


def last_corners(squares: Squares) -> TensorDataset:
    """Make examples of all corners but the last in, and the last out, with a padding mask.

    Returns:
        Examples of a source ``(3, 2)``, the shifted target ``(1, 2)``, which is the last source
        corner, the source mask ``(1, 1, 3)``, and the target ``(1, 2)``.

    Example:
        >>> examples = last_corners(square_sequences(128, seed=13, variable_length=True))
        >>> source, shifted, source_mask, target = examples[:16]   # a batch
        >>> source[4].round(), source_mask[4, 0]   # two corners and padding
        (tensor([[ 1.,  1.],
                [ 1., -1.],
                [ 0.,  0.]]), tensor([[ True,  True, False]]))
    """
    points, lengths = squares.points, squares.lengths - 1
    rows = torch.arange(len(points))
    mask = padding_mask(lengths, 3)
    source = points[:, :3].masked_fill(~mask.view(-1, 3, 1), 0)
    last, target = points[rows, lengths - 1], points[rows, lengths]
    return TensorDataset(source, last[:, None], mask, target[:, None])


def opposite_corners(source: Tensor) -> Tensor:
    r"""Continue a square ``(..., S, 2)``: each corner is opposite to the one two positions before.

    .. math:: \hat x_{t+2} = -\operatorname{sign}(x_t)
    """
    return -source.sign()


def next_corners(points: Tensor) -> tuple[Tensor, Tensor]:
    r"""Predict the corner after each, with one attention without learned parameters.

    .. math:: \hat x_{t+1} = - \sum_{s \le t} w_{ts}\, x_s , \qquad w_{t,\, t-1} \approx 1

    Each query matches the position before its own, whose value is the opposite corner.

    Args:
        points: ``(..., T, 2)``, corners in their order; the first of them has none before it.

    Returns:
        The outputs ``(..., T, 2)``, each for the corner after its own, and the weights ``(T, T)``.

    Example:
        >>> corners = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        >>> outputs, weights = next_corners(corners)
        >>> outputs[1:].round(decimals=3)
        tensor([[ 1.,  1.],
                [ 1., -1.]])
    """
    length = points.size(-2)
    codes = 10 * sinusoidal_encoding(length + 1, 16, dtype=points.dtype)
    queries, keys = codes[:-1], codes[1:]
    mask = causal_mask(length)
    return scaled_dot_product_attention(queries, keys, -points, mask)
