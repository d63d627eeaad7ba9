"""Permutation matrices, and how far a function is from equivariance or invariance."""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral

import torch
from torch import Tensor


def permutation_matrix(order: Sequence[int] | Tensor) -> Tensor:
    r"""Return the matrix that puts the rows of another matrix into an order.

    .. math:: (\Pi X)_i = X_{\pi(i)}

    Args:
        order: ``(T,)``, each of the numbers 0 to ``T - 1`` once; entry :math:`i` is
            :math:`\pi(i)`, the index of the row that becomes row :math:`i`.

    Returns:
        ``(T, T)``, one 1 in each row and column, in the default dtype.

    Raises:
        TypeError: a number is not an integer.
        ValueError: a number is missing, or comes twice.

    Example:
        >>> permutation_matrix([1, 0, 2]) @ torch.tensor([[10.0], [20.0], [30.0]])
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
    r"""Return the largest deviation from permutation equivariance over random permutations.

    .. math:: \max_{\Pi}\, \max_{i,e}\, \lvert f(\Pi X) - \Pi f(X) \rvert_{ie}

    The order of a sum changes its rounding, so an equivariant function has a gap of rounding errors.

    Args:
        function: maps ``(..., T, D)`` to ``(..., T, E)``.
        inputs: ``(..., T, D)``.
        generator: random number generator.
        trials: number of permutations.

    Raises:
        ValueError: the output has another number of positions.

    Example:
        >>> generator, x = torch.Generator().manual_seed(0), torch.tensor([[1.0], [2.0], [5.0]])
        >>> equivariance_gap(lambda x: x.cumsum(-2), x, generator=generator)
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
    r"""Return the largest deviation from permutation invariance over random permutations.

    .. math:: \max_{\Pi}\, \max\, \lvert f(\Pi X) - f(X) \rvert

    Args:
        function: function of one tensor.
        inputs: ``(..., T, D)``, or any tensor with positions.
        generator: random number generator.
        trials: number of permutations.
        dim: axis of the positions.

    Example:
        >>> generator, sentence = torch.Generator().manual_seed(0), torch.tensor([[0, 1, 2]])
        >>> invariance_gap(lambda tokens: tokens[:, 0], sentence, generator=generator, dim=1)
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
    rows = order.tolist() if isinstance(order, Tensor) else list(order)
    if any(isinstance(i, bool) or not isinstance(i, Integral) for i in rows):
        raise TypeError(f"order must hold integers; got {rows}")
    return [int(i) for i in rows]


def _orders(length: int, trials: int, generator: torch.Generator) -> Iterator[Tensor]:
    return (torch.randperm(length, generator=generator) for _ in range(trials))


def _largest(difference: Tensor) -> Tensor:
    return difference.detach().abs().max().double()


def _check_positions(output: Tensor, length: int) -> None:
    if output.ndim < 2 or output.size(-2) != length:
        rule = f"the output must have {length} positions, as the input has"
        raise ValueError(f"{rule}; got shape {tuple(output.shape)}")
