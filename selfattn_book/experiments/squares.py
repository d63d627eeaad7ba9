"""Squares drawn corner by corner, with noise: the sequences that Part III learns to continue.

Shape letters: ``N`` sequences, 4 corners, 2 coordinates; ``S`` source corners.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from selfattn_book._arguments import check_integer
from selfattn_book.attention import scaled_dot_product_attention
from selfattn_book.masks import causal_mask, padding_mask
from selfattn_book.positions import sinusoidal_encoding

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


def square_sequences(n: int, *, seed: int, variable_length: bool = False) -> Squares:
    """Walk around a square ``n`` times, from a random corner in a random direction.

    The numbers come from NumPy's legacy generator, which will not change any more, in this order:
    a corner each, the lengths if they vary, the directions, then the noise of each sequence.
    A walk of direction 1 begins at its corner; one of direction 0 is that walk of four, backwards.

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
        >>> squares.points[0]   # forwards, from the third corner
        tensor([[ 1.0349,  0.9661],
                [ 0.8055, -0.9169],
                [-0.8251, -0.9499],
                [-0.8670,  0.9342]])
        >>> squares.points[1].round()   # backwards, without the noise
        tensor([[ 1., -1.],
                [ 1.,  1.],
                [-1.,  1.],
                [-1., -1.]])
        >>> varied = square_sequences(128, seed=13, variable_length=True)
        >>> varied.lengths.unique(), varied.points[varied.lengths == 2][0].round()
        (tensor([2, 3, 4]), tensor([[ 1., -1.],
                [ 1.,  1.],
                [ 0.,  0.],
                [ 0.,  0.]]))
    """
    n = check_integer("n", n, least=1)
    chance = np.random.RandomState(seed)
    first = chance.randint(4, size=n)
    lengths = chance.randint(3, size=n) + 2 if variable_length else np.full(n, 4)
    directions = chance.randint(2, size=n)
    points = np.zeros((n, 4, 2))
    for i, (corner, length, forwards) in enumerate(zip(first, lengths, directions, strict=True)):
        walk = np.roll(CORNERS, -corner, axis=0)[:: 1 if forwards else -1]
        points[i, :length] = walk[:length] + NOISE * chance.randn(length, 2)
    return Squares(
        torch.from_numpy(points).to(torch.get_default_dtype()),
        torch.from_numpy(lengths),
        torch.from_numpy(directions),
    )


def halves(squares: Squares) -> TensorDataset:
    """Make examples of two corners in and two corners out.

    Args:
        squares: of 4 corners each.

    Returns:
        Examples of a source ``(2, 2)``, the shifted target ``(2, 2)``, which begins with the last
        source corner, and the target ``(2, 2)``.

    Raises:
        ValueError: a square has fewer than 4 corners.

    Example:
        >>> examples = halves(square_sequences(128, seed=13))
        >>> source, shifted, target = examples[:16]   # a batch
        >>> source.shape, shifted.shape, target.shape
        (torch.Size([16, 2, 2]), torch.Size([16, 2, 2]), torch.Size([16, 2, 2]))
        >>> shifted[:, 0].equal(source[:, 1]), shifted[:, 1].equal(target[:, 0])
        (True, True)
    """
    shortest = int(squares.lengths.min())
    if shortest < 4:
        raise ValueError(f"every square must have 4 corners; got one of {shortest}")
    points = squares.points
    return TensorDataset(points[:, :2], points[:, 1:3], points[:, 2:])


def last_corners(squares: Squares) -> TensorDataset:
    """Make examples of all corners but the last in, and the last out.

    The sources are padded to one length, and come with a mask that hides the padding.

    Args:
        squares: of 2, 3 or 4 corners each.

    Returns:
        Examples of a source ``(3, 2)``, the shifted target ``(1, 2)``, which is the last source
        corner, the source mask ``(1, 1, 3)``, and the target ``(1, 2)``.

    Example:
        >>> examples = last_corners(square_sequences(128, seed=13, variable_length=True))
        >>> source, shifted, source_mask, target = examples[:16]   # a batch
        >>> source.shape, shifted.shape, source_mask.shape, target.shape
        (torch.Size([16, 3, 2]), torch.Size([16, 1, 2]),
        torch.Size([16, 1, 1, 3]), torch.Size([16, 1, 2]))
        >>> source[4].round(), source_mask[4, 0]   # two corners, and a place that is empty
        (tensor([[ 1.,  1.],
                [ 1., -1.],
                [ 0.,  0.]]), tensor([[ True,  True, False]]))
    """
    points, given = squares.points, squares.lengths - 1
    every = torch.arange(len(points))
    mask = padding_mask(given, 3)
    source = points[:, :3].masked_fill(~mask.view(-1, 3, 1), 0)
    last, target = points[every, given - 1], points[every, given]
    return TensorDataset(source, last[:, None], mask, target[:, None])


def opposite_corners(source: Tensor) -> Tensor:
    r"""Continue a square by geometry: each corner lies opposite to the one two places before.

    .. math:: \hat x_{t+2} = -\operatorname{sign}(x_t)

    Args:
        source: ``(..., S, 2)``, corners with noise.

    Returns:
        ``(..., S, 2)``, the corners two places further on, without noise.

    Example:
        >>> source, _, target = halves(square_sequences(128, seed=13))[:]
        >>> predicted = opposite_corners(source)
        >>> predicted[0], target[0].round()
        (tensor([[-1., -1.],
                [-1.,  1.]]), tensor([[-1., -1.],
                [-1.,  1.]]))
        >>> round((predicted - target).square().mean().item(), 2)   # the noise of the target
        0.01
    """
    return -source.sign()


def walk_on(points: Tensor) -> tuple[Tensor, Tensor]:
    r"""Say of each corner of a walk which one comes next, with one attention that nobody trained.

    .. math:: \hat x_{t+1} = - \sum_{s \le t} w_{ts}\, x_s , \qquad w_{t,\, t-1} \approx 1

    Each query looks for the corner before its own, and takes home what lies opposite to it.

    Args:
        points: ``(..., T, 2)``, corners in their order; the first of them has none before it.

    Returns:
        The outputs ``(..., T, 2)``, each for the corner after its own, and the weights ``(T, T)``.

    Example:
        >>> corners = torch.tensor([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]])
        >>> outputs, weights = walk_on(corners)
        >>> outputs[1:].round(decimals=3), weights.round(decimals=3) + 0.0
        (tensor([[ 1.,  1.],
                [ 1., -1.]]), tensor([[1., 0., 0.],
                [1., 0., 0.],
                [0., 1., 0.]]))
    """
    length = points.size(-2)
    codes = 10 * sinusoidal_encoding(length + 1, 16, dtype=points.dtype)
    queries, keys = codes[:-1], codes[1:]
    mask = causal_mask(length)
    return scaled_dot_product_attention(queries, keys, -points, mask)
