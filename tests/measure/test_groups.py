"""Vectors nearest to the mean of their own group."""

import pytest
import torch

from selfattn_book.measure.groups import nearest_to_own


@pytest.mark.parametrize("away", [0.0, 100.0])
def test_only_groups_that_are_apart_are_recovered(away: float) -> None:
    groups = torch.arange(4).repeat(500).view(-1, 2)
    noise = torch.randn(1000, 2, 3, generator=torch.Generator().manual_seed(0))
    found = nearest_to_own(noise + away * groups[..., None], groups)
    assert found == 1 if away else found < 0.4
