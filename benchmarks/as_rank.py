"""Fully sharded training (FSDP) on one of several ranks, compared with one process.

``python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.as_rank``: the first rank prints the
largest number that any rank has found for each measurement, as one line of JSON.
"""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from selfattn_book.experiments.ranks import Group
from selfattn_book.experiments.splits import shard_slice
from selfattn_book.experiments.train_distributed import distribute
from selfattn_book.experiments.walks import new_model, next_hour_loss, random_walks


def sharded(group: Group, walks: Tensor) -> dict[str, float]:
    """Compare a model whose parameters are sharded with one that holds them all."""
    model, one = new_model(0), new_model(0)
    distribute(model, "fsdp")
    ours: list[Any] = list(model.parameters())  # of each, this rank holds a shard
    theirs = list(one.parameters())
    held = sum(p.to_local().numel() for p in ours)
    next_hour_loss(model, walks[shard_slice(len(walks), group)]).backward()
    next_hour_loss(one, walks).backward()
    optimizer = torch.optim.Adam(ours, lr=0.01)
    optimizer.step()
    torch.optim.Adam(theirs, lr=0.01).step()
    states: list[Any] = [s for own in optimizer.state.values() for s in own.values() if s.dim()]
    return {
        "parameters": sum(p.numel() for p in theirs),
        "held": held,
        "held by Adam": sum(s.to_local().numel() for s in states),
        "gradients": largest_difference((p.grad for p in ours), [p.grad for p in theirs]),
        "after a step": largest_difference(ours, theirs),
    }


def largest_difference(ours: Iterable[Any], theirs: Iterable[Any]) -> float:
    """Return the largest absolute difference of sharded and whole tensors."""
    pairs = zip(ours, theirs, strict=True)
    return max(float((a.full_tensor() - b).abs().max()) for a, b in pairs)


def main() -> None:
    """Measure, and print the largest number that any rank has found for each."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    group = dist.group.WORLD
    assert group is not None
    found = sharded(group, random_walks(8, seed=1))
    numbers = torch.tensor(list(found.values()), dtype=torch.float64)
    dist.all_reduce(numbers, dist.ReduceOp.MAX, group=group)
    if group.rank() == 0:
        print(json.dumps({"sharded": dict(zip(found, numbers.tolist(), strict=True))}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
