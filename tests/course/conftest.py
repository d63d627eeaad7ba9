"""What the tests of exercises share."""

import pytest
import torch


@pytest.fixture(params=[torch.float32, torch.float64], ids=["32 bits", "64 bits"])
def page(request):
    """Compute as a page does, in 64 bits, and as an answer file may, in 32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield
    torch.set_default_dtype(before)


def pytest_collection_modifyitems(items):
    """What is wrong is named in 32 bits as well; that, which rounding can hardly change, is weekly."""
    for item in items:
        if item.name.startswith("test_what_is_wrong_is_named[32 bits-"):
            item.add_marker(pytest.mark.weekly)
