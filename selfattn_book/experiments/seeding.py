"""Every seed of the book comes from here, so that one number can move them all.

A claim about chance is worded on some seeds and has to hold on others.
``python -m selfattn_book verify --first-seed`` and a number of your own asks every claim again
on seeds that nobody had looked at while the sentence was written.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from selfattn_book._arguments import check_integer

_first = 0


def moved(seed: int) -> int:
    """Return a seed, moved as far as :func:`first_seed` says: without it, by 0.

    Args:
        seed: as it is written on the page.

    Raises:
        TypeError: the seed is no integer.
        ValueError: the seed is below 0.

    Example:
        >>> moved(7)
        7
        >>> with first_seed(1000):
        ...     moved(7)
        1007
    """
    return _first + check_integer("seed", seed, least=0)


def seeds(count: int, *, after: int = 0) -> range:
    """Return as many seeds in a row.

    Args:
        count: how many.
        after: how many to pass over, such as those that were looked at before.

    Raises:
        ValueError: ``count`` is below 1, or ``after`` below 0.

    Example:
        >>> seeds(3), seeds(3, after=10)
        (range(0, 3), range(10, 13))
        >>> with first_seed(1000):
        ...     seeds(3)
        range(1000, 1003)
    """
    begin = moved(after)
    return range(begin, begin + check_integer("count", count, least=1))


def generator(seed: int) -> torch.Generator:
    """Return a generator of PyTorch's that begins at a seed, moved as all are.

    Example:
        >>> torch.rand(2, generator=generator(5)) == torch.rand(2, generator=generator(5))
        tensor([True, True])
        >>> with first_seed(5):
        ...     generator(0).initial_seed()
        5
    """
    return torch.Generator().manual_seed(moved(seed))


def set_seed(seed: int) -> None:
    """Let PyTorch's own generator begin at a seed, moved as all are.

    It is what draws the weights of a new module.

    Example:
        >>> with torch.random.fork_rng(devices=[]):
        ...     set_seed(5)
        ...     torch.initial_seed()
        5
    """
    begin_at(moved(seed))


def begin_at(seed: int) -> None:
    """Let PyTorch's own generators begin at a seed, as it is.

    Where there is nothing but a processor, PyTorch would still note for each kind of other device
    who has called, which takes longer than to make a small model.

    Example:
        >>> with torch.random.fork_rng(devices=[]):
        ...     begin_at(5)
        ...     torch.initial_seed(), torch.rand(1) == torch.rand(1, generator=generator(5))
        (5, tensor([True]))
    """
    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


@contextmanager
def first_seed(number: int) -> Iterator[None]:
    """Move every seed by a number, for a while.

    Args:
        number: what is added to each seed.

    Raises:
        TypeError: the number is no integer.
        ValueError: it is below 0.

    Example:
        >>> with first_seed(2000):
        ...     seeds(2), moved(3)
        (range(2000, 2002), 2003)
        >>> seeds(2), moved(3)   # and back
        (range(0, 2), 3)
    """
    global _first
    before = _first
    _first = check_integer("first_seed", number, least=0)
    try:
        yield
    finally:
        _first = before


def interval(hits: int, runs: int) -> tuple[float, float]:
    r"""Return between which shares the truth lies, when some of some runs came out so.

    .. math:: \frac{k + z^2/2}{n + z^2} \pm
       \frac{z}{n + z^2} \sqrt{\frac{k (n - k)}{n} + \frac{z^2}{4}}, \quad z = 1.96

    Wilson's interval: in 95 of 100 such samples it holds the share that endless runs would have.
    It says something even where no run, or every run, came out so.

    Args:
        hits: :math:`k`, how many runs came out so.
        runs: :math:`n`, how many there were.

    Raises:
        ValueError: there are no runs, or more hits than runs.

    Source:
        E. B. Wilson, 1927, :cite:p:`wilson1927probable`.

    Example:
        >>> [round(share, 3) for share in interval(97, 100)]
        [0.915, 0.99]
        >>> [round(share, 3) for share in interval(20, 20)]   # twenty of twenty is not "always"
        [0.839, 1.0]
    """
    check_integer("runs", runs, least=1)
    if check_integer("hits", hits, least=0) > runs:
        rule = f"hits must be at most the number of runs, {runs}"
        raise ValueError(f"{rule}; got {hits}")
    z = 1.96
    middle = (hits + z * z / 2) / (runs + z * z)
    spread = hits * (runs - hits) / runs + z * z / 4
    half = z / (runs + z * z) * math.sqrt(spread)
    return max(0.0, middle - half), min(1.0, middle + half)
