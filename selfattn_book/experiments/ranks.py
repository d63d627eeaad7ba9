"""Run ranks as threads of one process, which communicate by gloo, as processes would.

A *rank* is one of several cooperating programs, and its index. On a cluster each rank is a process,
started by ``torch.distributed.run``. Here each is a thread with its own connection, which communicates
through this machine's network interface with the same library.
"""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import HashStore

Made = TypeVar("Made")
Group = dist.ProcessGroup
WAIT = 60.0  # seconds until a rank gives up on another


def run_on_ranks(count: int, work: Callable[[Group], Made], *, wait: float = WAIT) -> list[Made]:
    """Call a function of the process group on several ranks at once, and return all results.

    Random numbers must come from a generator for each rank: PyTorch's global generator is shared by
    all threads.

    Raises:
        Exception: the exception of the first rank that failed, raised after all have ended.

    Example:
        >>> run_on_ranks(3, lambda group: f"rank {group.rank()} of {group.size()}")
        ['rank 0 of 3', 'rank 1 of 3', 'rank 2 of 3']
    """
    store, made, groups = HashStore(), {}, {}
    failures: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            # Kept until all are done: a group that is freed with a model waits for its helpers
            # while it holds Python's lock, for which they may be waiting.
            groups[rank] = _connected(store, rank, count, wait)
            made[rank] = work(groups[rank])
        except BaseException as failure:  # raised by the calling thread
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
    r"""Return the mean of a tensor over all ranks, on each rank (all-reduce).

    .. math:: \bar x = \frac1R \sum_{r=0}^{R-1} x_r

    Example:
        >>> run_on_ranks(2, lambda group: mean_over_ranks(torch.eye(2)[group.rank()], group))
        [tensor([0.5000, 0.5000]), tensor([0.5000, 0.5000])]
    """
    total = x.clone()
    dist.all_reduce(total, group=group)  # the sum, in place, on every rank
    return total / group.size()


def _connected(store: HashStore, rank: int, count: int, wait: float) -> Group:
    """Connect a thread to the others by way of a shared store."""
    group, limit = Group(store, rank, count), timedelta(seconds=wait)
    gloo = dist.ProcessGroupGloo(store, rank, count, limit)
    group._register_backend(torch.device("cpu"), Group.BackendType.GLOO, gloo)
    return group
