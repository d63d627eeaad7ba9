"""All seeds of the book, which one number can shift.

A claim about random numbers is worded on some seeds and has to hold on others:
``python -m selfattn_book verify --first-seed N`` checks every claim on other seeds.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from selfattn_book._arguments import check_integer

_first = 0


def shifted_seed(seed: int) -> int:
    """Return a seed, shifted by :func:`first_seed`.

    Example:
        >>> with first_seed(1000):
        ...     shifted_seed(7)
        1007
    """
    return _first + seed


def seeds(count: int, *, after: int = 0) -> range:
    """Return consecutive seeds, shifted by :func:`first_seed`, after those that are skipped.

    Example:
        >>> seeds(3), seeds(3, after=10)
        (range(0, 3), range(10, 13))
    """
    begin = shifted_seed(after)
    return range(begin, begin + count)


def generator(seed: int) -> torch.Generator:
    """Return a random number generator with a shifted seed.

    Example:
        >>> with first_seed(5):
        ...     generator(0).initial_seed()
        5
    """
    return torch.Generator().manual_seed(shifted_seed(seed))


def set_seed(seed: int) -> None:
    """Seed PyTorch's global generator, which initializes modules, with a shifted seed.

    Example:
        >>> with torch.random.fork_rng(devices=[]), first_seed(2):
        ...     set_seed(5)
        ...     torch.initial_seed()
        7
    """
    manual_seed(shifted_seed(seed))


def manual_seed(seed: int) -> None:
    """Seed PyTorch's global generators, without a shift.

    On a machine without an accelerator, PyTorch would still register the call for every kind of
    device, which takes longer than to make a small model.

    Example:
        >>> with torch.random.fork_rng(devices=[]):
        ...     manual_seed(5)
        ...     torch.rand(1) == torch.rand(1, generator=generator(5))
        tensor([True])
    """
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


@contextmanager
def first_seed(number: int) -> Iterator[None]:
    """Shift every seed by a number, within a context.

    Raises:
        TypeError: the number is not an integer.
        ValueError: it is below 0.

    Example:
        >>> with first_seed(2000):
        ...     seeds(2), shifted_seed(3)
        (range(2000, 2002), 2003)
        >>> seeds(2), shifted_seed(3)   # restored
        (range(0, 2), 3)
    """
    global _first
    before = _first
    _first = check_integer("first_seed", number, least=0)
    try:
        yield
    finally:
        _first = before


def wilson_interval(hits: int, runs: int) -> tuple[float, float]:
    r"""Return the Wilson confidence interval of 95 % for a rate, :math:`k` hits in :math:`n` runs.

    .. math:: \frac{k + z^2/2}{n + z^2} \pm
       \frac{z}{n + z^2} \sqrt{\frac{k (n - k)}{n} + \frac{z^2}{4}}, \quad z = 1.96

    Source:
        E. B. Wilson, 1927, :cite:p:`wilson1927probable`.

    Example:
        >>> [round(bound, 3) for bound in wilson_interval(97, 100)]
        [0.915, 0.99]
        >>> [round(bound, 3) for bound in wilson_interval(20, 20)]   # twenty of twenty is not "always"
        [0.839, 1.0]
    """
    z = 1.96
    middle = (hits + z * z / 2) / (runs + z * z)
    spread = hits * (runs - hits) / runs + z * z / 4
    half = z / (runs + z * z) * math.sqrt(spread)
    return max(0.0, middle - half), min(1.0, middle + half)
