"""Contenders of a comparison: functions by name, which compute the same."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

Contenders = dict[str, Callable[[], object]]


def assert_agreement(
    ways: Mapping[str, Callable[[], Any]], *, rtol: float = 0.0, atol: float
) -> None:
    """Assert that all functions return the same as the first, up to rounding."""
    expected, *others = [way() for way in ways.values()]
    for result in others:
        torch.testing.assert_close(result, expected, rtol=rtol, atol=atol)


def training_steps(
    ways: Mapping[str, tuple[nn.Module, Callable[[], Tensor]]],
    loss: Callable[[Tensor], Tensor],
    method: type[torch.optim.Adam] = torch.optim.Adam,
) -> Contenders:
    """Return a training step of each module, given with its forward pass; all must agree."""
    assert_agreement({name: way for name, (_, way) in ways.items()}, rtol=1e-4, atol=1e-4)

    def step(forward: Callable[[], Tensor], optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        loss(forward()).backward()
        optimizer.step()

    return {
        name: partial(step, forward, method(module.parameters(), lr=1e-4, fused=True))
        for name, (module, forward) in ways.items()
    }
