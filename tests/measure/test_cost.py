"""Counts of operations and of memory equal those by hand."""

import pytest
import torch
from torch import nn

from selfattn_book.measure.cost import count_flops, peak_memory


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_products_are_counted_and_sums_are_not(device):
    x, y = torch.ones(2, 5, 3, device=device), torch.ones(3, 7, device=device)
    layer = nn.Linear(3, 7, device=device)  # its bias is a sum
    for count in (
        count_flops(torch.matmul, x, y),
        count_flops(lambda: (x @ y).exp().sum()),
        count_flops(layer, x),
    ):
        assert count == 2 * 2 * 5 * 3 * 7


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_tensor_counts_until_it_is_freed(device):
    x = torch.ones(1000, device=device)

    def chain(times):
        y = x
        for _ in range(times):
            y = y + 1  # the old one is freed after the new one exists
        return y

    assert peak_memory(chain, 1) == 4000
    assert peak_memory(chain, 2) == peak_memory(chain, 9) == 8000
    assert peak_memory(lambda: [x + 1 for _ in range(9)]) == 9 * 4000


def test_views_and_changes_in_place_take_nothing():
    x = torch.ones(10, 10)
    assert peak_memory(lambda: x.mT[2:].view_as(x.mT[2:]).unsqueeze(0)) == 0
    assert peak_memory(lambda: x.add_(1).mul_(2)) == 0
    assert peak_memory(lambda: x.half().mT.add_(1)) == 200


def test_what_autograd_stores_is_counted():
    x = torch.ones(1000, requires_grad=True)

    def deep(times):
        y = x
        for _ in range(times):
            y = y.exp()  # each output is stored for its derivative
        y.sum().backward()

    assert peak_memory(deep, 20) >= 20 * 4000
    with torch.no_grad():
        assert peak_memory(lambda: x.exp().exp().exp().exp()) == 8000
