"""What flows where: which inputs an output depends on, measured and not assumed.

Shape letters: ``T`` outputs, ``S`` inputs, ``D`` and ``E`` their widths.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from selfattn_book._arguments import check_boolean, check_floating


def sensitivity(function: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    r"""Measure how strongly each input position moves each output position.

    Entry :math:`(i, j)` is the size of the derivative of output :math:`i` by input :math:`j`,
    the root of the sum of its squared entries, over all the features of both:

    .. math:: F_{ij} = \Big\lVert \frac{\partial y_i}{\partial x_j} \Big\rVert.

    An exact zero means that, at these inputs and to first order, nothing flows
    from :math:`j` to :math:`i`. Steps, such as a sign or a rounding, are not seen.

    Args:
        function: maps ``(S, D)`` to ``(T, E)``; a module that wants a batch needs a ``lambda``.
        inputs: ``(S, D)``, floating point, one sequence.

    Returns:
        ``(T, S)``, non-negative.

    Raises:
        TypeError: the inputs are not floating point.
        ValueError: inputs or outputs are not one sequence of vectors.

    Example:
        >>> running_sum = lambda x: x.cumsum(0)
        >>> sensitivity(running_sum, torch.zeros(3, 1))
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
        >>> sensitivity(lambda x: x @ torch.tensor([[3.0, 0.0], [0.0, 4.0]]), torch.ones(1, 2))
        tensor([[5.]])
    """
    _check_sequence("inputs", inputs)
    jacobian = torch.autograd.functional.jacobian(function, inputs)  # (T, E, S, D)
    _check_sequence_jacobian(jacobian)
    return torch.linalg.vector_norm(jacobian, dim=(1, 3))


def leaks(
    function: Callable[[Tensor], Tensor], inputs: Tensor, mask: Tensor
) -> list[tuple[int, int]]:
    """List the pairs (output, input) between which something flows although the mask forbids it.

    Args:
        function: maps ``(S, D)`` to ``(T, E)``, as in :func:`sensitivity`.
        inputs: ``(S, D)``, floating point, one sequence.
        mask: ``(T, S)``, boolean, ``True`` = may attend.

    Returns:
        The leaks, row by row; an empty list means that there are none.

    Raises:
        TypeError: the mask is not boolean, or the inputs are not floating point.
        ValueError: the mask has another shape than the flow.

    Example:
        >>> reversed_sum = lambda x: x.flip(0).cumsum(0).flip(0)
        >>> mask = torch.ones(3, 3, dtype=torch.bool).tril()
        >>> leaks(reversed_sum, torch.zeros(3, 1), mask)
        [(0, 1), (0, 2), (1, 2)]
    """
    check_boolean(mask)
    flow = sensitivity(function, inputs)
    if mask.shape != flow.shape:
        raise ValueError(
            f"mask must have one row an output and one column an input, {tuple(flow.shape)}; "
            f"got {tuple(mask.shape)}"
        )
    return [(int(i), int(j)) for i, j in ((flow != 0) & ~mask).nonzero()]


def _check_sequence(name: str, x: Tensor) -> None:
    check_floating(name, x)
    if x.ndim != 2:
        raise ValueError(f"{name} must be one sequence of shape (S, D); got {tuple(x.shape)}")


def _check_sequence_jacobian(jacobian: Tensor) -> None:
    if jacobian.ndim != 4:
        shape = tuple(jacobian.shape[:-2])
        raise ValueError(f"function must return one sequence of shape (T, E); got {shape}")
