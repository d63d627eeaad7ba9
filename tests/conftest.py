"""Shared by the tests: drawn numbers, the implementation to compare with, how close is equal."""

import contextlib
import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import settings
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

# No tests: a book to build, what the process that builds are forked from loads, and a script, for
# which each process that collects tests would load all of `transformers`.
collect_ignore = ["small_book", "bookproof/installed_once.py", "pretrained/make_tiny_models.py"]
settings.register_profile("book", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("book")
torch.set_num_threads(1)  # a process a core: more would only wait for each other

# How far rounding may move a number of size one: twenty times what it was seen to move it, also
# where rounding was disturbed; the halves are rounded once, at the end. Mistakes move it by far more.
TOLERANCE = {torch.float64: 8e-14, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items):
    """Mark as weekly what `weekly.txt` lists."""
    lines = Path(__file__).with_name("weekly.txt").read_text("utf-8").splitlines()
    weekly = re.compile("|".join(line for line in lines if line and line[0] != "#"))
    for item in items:
        if weekly.match(item.nodeid):
            item.add_marker("weekly")


def pytest_collection_finish():
    """What collecting has loaded lives to the end: it is not looked through for garbage again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def leaves_the_default_dtype():
    """What is set for all is put back: a process runs many tests, in an order of its own."""
    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    after = torch.get_default_dtype()
    torch.set_default_dtype(before)
    assert after == before


@pytest.fixture(scope="session")
def draw():
    """Normal numbers from a seed, without touching PyTorch's global generator."""

    def _draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return _draw


@pytest.fixture(scope="session")
def draw_mask():
    """A random mask in which every query sees at least one key."""

    def _draw_mask(*shape: int, seed: int = 0) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        mask = torch.rand(shape, generator=generator) < 0.5
        always = torch.randint(shape[-1], shape[:-1], generator=generator)
        return mask.scatter(-1, always[..., None], True)

    return _draw_mask


@pytest.fixture(scope="session")
def randomized(seeded):
    """Make a module float64 and draw all its parameters: zeros and ones would hide a swap."""

    def _randomized(module: nn.Module, std: float = 0.3, seed: int = 0) -> nn.Module:
        with seeded(seed):
            for parameter in module.double().parameters():
                nn.init.normal_(parameter, std=std)
        return module

    return _randomized


@pytest.fixture(scope="session")
def oracle():
    """PyTorch's attention, in float64, pinned to the one backend without corner cases."""

    def _oracle(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(
                query.double(), key.double(), value.double(), mask
            )

    return _oracle


@pytest.fixture(scope="session")
def agree():
    """Assert equality up to the rounding of the dtype that is tested."""

    def _agree(actual: Tensor, expected: Tensor) -> None:
        torch.testing.assert_close(
            actual.double(), expected.double(), rtol=0, atol=TOLERANCE[actual.dtype]
        )

    return _agree


@pytest.fixture(scope="session")
def seeded():
    """Seed PyTorch's global generator for one block, and put it back after."""

    @contextlib.contextmanager
    def _seeded(seed: int) -> Iterator[None]:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield

    return _seeded
