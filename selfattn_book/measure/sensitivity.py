"""Which inputs an output depends on: sensitivity, and information leaks.

Shape letters: ``T`` outputs, ``S`` inputs, ``D`` and ``E`` their dimensions.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book._arguments import check_boolean, check_floating


def sensitivity(function: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    r"""Measure how strongly each output position depends on each input position.

    Entry :math:`(i, j)` is the Frobenius norm of the derivative of output :math:`i` by input :math:`j`:

    .. math:: F_{ij} = \Big\lVert \frac{\partial y_i}{\partial x_j} \Big\rVert.

    An exact zero means that, at these inputs and to first order, output :math:`i` does not depend
    on input :math:`j`. Steps, such as a sign or a rounding, have derivative zero.

    Args:
        function: maps ``(S, D)`` to ``(T, E)``; a module with a batch axis needs a ``lambda``.
        inputs: ``(S, D)``, floating point, one sequence.

    Returns:
        ``(T, S)``, non-negative.

    Raises:
        TypeError: the inputs are not floating point.
        ValueError: inputs or outputs are not one sequence of vectors.

    Example:
        >>> sensitivity(lambda x: x.cumsum(0), torch.zeros(3, 1))
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """
    _check_sequence("inputs", inputs)
    jacobian = torch.autograd.functional.jacobian(function, inputs)  # (T, E, S, D)
    if jacobian.ndim != 4:
        shape = tuple(jacobian.shape[:-2])
        raise ValueError(f"function must return one sequence of shape (T, E); got {shape}")
    return torch.linalg.vector_norm(jacobian, dim=(1, 3))


def leaks(
    function: Callable[[Tensor], Tensor], inputs: Tensor, mask: Tensor
) -> list[tuple[int, int]]:
    """List the pairs (output, input) with a dependence that the mask forbids.

    Args:
        function: maps ``(S, D)`` to ``(T, E)``, as in :func:`sensitivity`.
        inputs: ``(S, D)``, floating point, one sequence.
        mask: ``(T, S)``, boolean, ``True`` = may attend.

    Returns:
        The leaks, row by row.

    Raises:
        TypeError: the mask is not boolean, or the inputs are not floating point.
        ValueError: the mask has another shape than the sensitivity.

    Example:
        >>> reversed_sum = lambda x: x.flip(0).cumsum(0).flip(0)
        >>> mask = torch.ones(3, 3, dtype=torch.bool).tril()
        >>> leaks(reversed_sum, torch.zeros(3, 1), mask)
        [(0, 1), (0, 2), (1, 2)]
    """
    check_boolean(mask)
    found = sensitivity(function, inputs)
    if mask.shape != found.shape:
        rule = "mask must have one row an output and one column an input"
        raise ValueError(f"{rule}, {tuple(found.shape)}; got {tuple(mask.shape)}")
    return [(int(i), int(j)) for i, j in ((found != 0) & ~mask).nonzero()]


def _check_sequence(name: str, x: Tensor) -> None:
    check_floating(name, x)
    if x.ndim != 2:
        raise ValueError(f"{name} must be one sequence of shape (S, D); got {tuple(x.shape)}")
