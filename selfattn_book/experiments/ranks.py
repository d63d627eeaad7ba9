"""Ranks without a second machine: threads of this process that speak over gloo, as processes would.

A *rank* is one of several programs that work together, and its number among them. On a cluster each
is a process, started by ``torch.distributed.run``. Here each is a thread with a connection of its own:
what they send goes through the network interface of this machine, by the same library.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import HashStore  # type: ignore[attr-defined]

from selfattn_book._arguments import check_integer

Made = TypeVar("Made")
Group = dist.ProcessGroup
WAIT = 60.0  # seconds until a rank gives up on another


def on_ranks(
    count: int, work: Callable[[Group], Made], *, wait: float = WAIT
) -> list[Made]:
    """Let several ranks do the same work at the same time, and return what each has made.

    Chance must come from generators of the ranks' own: PyTorch's is one for all threads.

    Args:
        count: how many ranks.
        work: called once on each rank, with the group, which knows the rank and how many there are.
        wait: seconds until a rank gives up on one that does not answer.

    Raises:
        ValueError: ``count`` is below 1.
        Exception: what the first rank that failed has raised; the others are waited for.

    Example:
        >>> on_ranks(3, lambda group: f"rank {group.rank()} of {group.size()}")
        ['rank 0 of 3', 'rank 1 of 3', 'rank 2 of 3']
        >>> on_ranks(2, lambda group: mean_over_ranks(torch.tensor([1.0 + group.rank()]), group))
        [tensor([1.5000]), tensor([1.5000])]
        >>> on_ranks(2, lambda group: 1 / group.rank())
        Traceback (most recent call last):
        ZeroDivisionError: division by zero
        >>> on_ranks(0, lambda group: None)
        Traceback (most recent call last):
        ValueError: count must be at least 1; got 0
    """
    check_integer("count", count, least=1)
    store, made, groups = HashStore(), {}, {}
    failures: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            # Held until all are done: a group that goes with a model waits for its helpers while
            # it keeps Python's lock, and they may be waiting for that.
            groups[rank] = _connected(store, rank, count, wait)
            made[rank] = work(groups[rank])
        except BaseException as failure:  # told in the thread that waits
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [made[rank] for rank in range(count)]


def mean_over_ranks(x: Tensor, group: Group) -> Tensor:
    r"""Return the mean of what all ranks bring, on each of them.

    .. math:: \bar x = \frac1R \sum_{r=0}^{R-1} x_r

    Args:
        x: of one shape on all ranks; it is left as it is.
        group: the ranks.

    Example:
        >>> on_ranks(2, lambda group: mean_over_ranks(torch.eye(2)[group.rank()], group))
        [tensor([0.5000, 0.5000]), tensor([0.5000, 0.5000])]
    """
    total = x.clone()
    dist.all_reduce(total, group=group)  # the sum, in place, on every rank
    return total / group.size()


def _connected(store: HashStore, rank: int, count: int, wait: float) -> Group:
    """Connect a thread with the others, which find each other in the store."""
    group, limit = Group(store, rank, count), timedelta(seconds=wait)
    gloo = dist.ProcessGroupGloo(store, rank, count, limit)
    group._register_backend(torch.device("cpu"), Group.BackendType.GLOO, gloo)
    return group
