"""Groups of vectors: how many vectors are nearest to the mean of their own group."""

import torch
from torch import Tensor


def nearest_to_own(vectors: Tensor, groups: Tensor) -> float:
    """Return the fraction of the vectors that are nearest to the mean of their own group.

    ``vectors`` are ``(..., D)``, and ``groups`` has one integer for each of them.

    Example:
        >>> points = torch.tensor([[0.0], [2.0], [7.0], [5.0], [9.0], [10.0]])
        >>> nearest_to_own(points, torch.tensor([0, 0, 0, 1, 1, 1]))  # means: 3 and 8
        0.6666666666666666
    """
    points, own = vectors.detach().flatten(0, -2), groups.flatten()
    kinds, index = own.unique(return_inverse=True)
    means = torch.stack([points[own == kind].mean(0) for kind in kinds])
    return (torch.cdist(points, means).argmin(-1) == index).double().mean().item()
