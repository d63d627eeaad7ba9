"""The weights of a small trained model, rounded so that they can travel with a live figure."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

LEVELS = 15  # on each side of 0
SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcde"  # one for each level


def rounded(model: nn.Module) -> tuple[Any, dict[str, Any]]:
    """Return a copy of a model with rounded weights, in float64, and these weights as text.

    Each table of weights is rounded to whole multiples of a 15th of its largest weight, so there are
    31 levels, with a character for each. ``text`` has all tables, one after the other, and ``tables``
    the name, the rows, the columns and the step of each.

    Example:
        >>> layer = nn.Linear(2, 1)
        >>> layer.weight.data, layer.bias.data = torch.tensor([[15.0, -2.2]]), torch.tensor([0.0])
        >>> model, packed = rounded(layer)
        >>> model.weight.data, packed
        (tensor([[15., -2.]], dtype=torch.float64),
        {'tables': [['weight', 1, 2, 1.0], ['bias', 1, 1, 0.0]], 'text': 'eNP'})
    """
    model = deepcopy(model).double().eval().requires_grad_(False)
    tables, text = [], ""
    for name, values in model.state_dict().items():
        step, levels = _levels(values)
        values.copy_(levels * step)
        rows = values.size(0) if values.ndim > 1 else 1
        tables.append([name, rows, values.numel() // rows, step])
        text += "".join(SIGNS[level + LEVELS] for level in levels.flatten().int().tolist())
    return model, {"tables": tables, "text": text}


def _levels(values: Tensor) -> tuple[float, Tensor]:
    """Return the size of a step, to six digits, and each value as a whole number of steps."""
    step = float(f"{values.abs().max().item() / LEVELS:.6g}")
    levels = (values / step).round() if step else torch.zeros_like(values)
    return step, levels.clamp(-LEVELS, LEVELS)
