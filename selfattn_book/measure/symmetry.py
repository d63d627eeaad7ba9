"""What a change of order does to a model: permutation matrices, and two measurements."""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral

import torch
from torch import Tensor

from selfattn_book._arguments import check_integer


def permutation_matrix(order: Sequence[int] | Tensor) -> Tensor:
    r"""Write an order down as a matrix, which puts the rows of another matrix into that order.

    .. math:: (\Pi X)_i = X_{\pi(i)}

    Args:
        order: ``(T,)``, each of the numbers 0 to ``T - 1`` once; entry :math:`i` is
            :math:`\pi(i)`, where row :math:`i` comes from.

    Returns:
        ``(T, T)``, of zeros and ones in the default dtype, one 1 in each row and column.

    Raises:
        TypeError: a number is no integer.
        ValueError: a number is missing, or comes twice.

    Example:
        >>> swap = permutation_matrix([1, 0, 2])
        >>> swap
        tensor([[0., 1., 0.],
                [1., 0., 0.],
                [0., 0., 1.]])
        >>> swap @ torch.tensor([[10.0], [20.0], [30.0]])
        tensor([[20.],
                [10.],
                [30.]])
    """
    order = _integers(order)
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"order must hold each of 0 to {len(order) - 1} once; got {order}")
    return torch.eye(len(order))[order]


def equivariance_gap(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    generator: torch.Generator,
    trials: int = 20,
) -> float:
    r"""Measure how far a function is from giving shuffled outputs for shuffled inputs.

    .. math:: \max_{\Pi}\, \max_{i,e}\, \lvert f(\Pi X) - \Pi f(X) \rvert_{ie}

    over some random permutations :math:`\Pi`. Rounding alone makes a gap:
    the order of a sum decides its last digit.

    Args:
        function: maps ``(..., T, D)`` to ``(..., T, E)``.
        inputs: ``(..., T, D)``.
        generator: where the permutations come from.
        trials: how many.

    Returns:
        The gap: 0, or a matter of rounding, for an equivariant function.

    Raises:
        TypeError: ``trials`` is not an integer.
        ValueError: it is below 1, or the output has another number of positions.

    Example:
        >>> chance, x = torch.Generator().manual_seed(0), torch.tensor([[1.0], [2.0], [5.0]])
        >>> equivariance_gap(lambda x: x - x.mean(-2, keepdim=True), x, generator=chance) < 1e-6
        True
        >>> equivariance_gap(lambda x: x.cumsum(-2), x, generator=chance)
        7.0
    """
    expected = function(inputs)
    _check_positions(expected, inputs.size(-2))
    orders = _orders(inputs.size(-2), trials, generator)
    gaps = [_largest(function(inputs[..., order, :]) - expected[..., order, :]) for order in orders]
    return torch.stack(gaps).max().item()


def invariance_gap(
    function: Callable[[Tensor], Tensor],
    inputs: Tensor,
    *,
    generator: torch.Generator,
    trials: int = 20,
    dim: int = -2,
) -> float:
    r"""Measure how far a function is from giving the same output for shuffled inputs.

    .. math:: \max_{\Pi}\, \max\, \lvert f(\Pi X) - f(X) \rvert

    over some random permutations :math:`\Pi`.

    Args:
        function: of one tensor, with an output of any shape.
        inputs: ``(..., T, D)``, or anything that has positions.
        generator: where the permutations come from.
        trials: how many.
        dim: the axis of the positions.

    Returns:
        The gap: 0, or a matter of rounding, for an invariant function.

    Raises:
        TypeError: ``trials`` is not an integer.
        ValueError: it is below 1.

    Example:
        >>> chance, x = torch.Generator().manual_seed(0), torch.tensor([[1.0], [2.0], [5.0]])
        >>> invariance_gap(lambda x: x.sum(-2), x, generator=chance) < 1e-6
        True
        >>> invariance_gap(lambda x: x[0], x, generator=chance)
        4.0
        >>> sentence = torch.tensor([[0, 1, 2]])
        >>> invariance_gap(lambda tokens: tokens[:, 0], sentence, generator=chance, dim=1)
        2.0
    """
    expected = function(inputs)
    orders = _orders(inputs.size(dim), trials, generator)
    gaps = [
        _largest(function(inputs.index_select(dim, order.to(inputs.device))) - expected)
        for order in orders
    ]
    return torch.stack(gaps).max().item()


def _integers(order: Sequence[int] | Tensor) -> list[int]:
    places = order.tolist() if isinstance(order, Tensor) else list(order)
    if any(isinstance(p, bool) or not isinstance(p, Integral) for p in places):
        raise TypeError(f"order must hold integers; got {places}")
    return [int(place) for place in places]


def _orders(length: int, trials: int, generator: torch.Generator) -> Iterator[Tensor]:
    trials = check_integer("trials", trials, least=1)
    return (torch.randperm(length, generator=generator) for _ in range(trials))


def _largest(difference: Tensor) -> Tensor:
    return difference.detach().abs().max().double()


def _check_positions(output: Tensor, length: int) -> None:
    if output.ndim < 2 or output.size(-2) != length:
        rule = f"the output must have {length} positions, as the input has"
        raise ValueError(f"{rule}; got shape {tuple(output.shape)}")
