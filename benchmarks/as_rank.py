"""Fully sharded training (FSDP) on one of several ranks, compared with one process.

``python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.as_rank``: the first rank prints the
largest number that any rank has found for each measurement, as one line of JSON. With ``--time``, the
seconds of a step of data parallelism instead; without the launcher, of a step of one process alone.
"""

import json
import sys
from collections.abc import Iterable
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from selfattn_book.experiments.ranks import Group
from selfattn_book.experiments.splits import shard_slice
from selfattn_book.experiments.text import next_token_loss
from selfattn_book.experiments.train_distributed import distribute
from selfattn_book.experiments.walks import new_model, next_hour_loss, random_walks
from selfattn_book.language import decoder_only

BATCH, STEPS = 16, 12  # the first two steps are not counted


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


def timed(ranks: int) -> dict[str, float]:
    """Return the size of a language model, and the seconds of a step on this part of a batch."""
    torch.manual_seed(0)
    model = decoder_only(1024, d_model=256, num_layers=4, num_heads=4, context_length=64)
    network = DistributedDataParallel(model) if ranks > 1 else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    text, seconds = torch.randint(1024, (BATCH // ranks, 65)), []
    for _ in range(STEPS):
        begin = perf_counter()
        optimizer.zero_grad()
        next_token_loss(network(text[:, :-1]), text[:, 1:]).backward()
        optimizer.step()
        seconds.append(perf_counter() - begin)
    size = sum(p.numel() for p in model.parameters())
    return {"parameters": size, "seconds": median(seconds[2:])}


def main() -> None:
    """Measure, and print the largest number that any rank has found for each."""
    torch.set_num_threads(1)
    if not dist.is_torchelastic_launched():
        print(json.dumps(timed(1)))
        return
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    group = dist.group.WORLD
    assert group is not None
    if "--time" in sys.argv:
        found, name = timed(group.size()), "step"
    else:
        found, name = sharded(group, random_walks(8, seed=1)), "sharded"
    numbers = torch.tensor(list(found.values()), dtype=torch.float64)
    dist.all_reduce(numbers, dist.ReduceOp.MAX, group=group)
    if group.rank() == 0:
        print(json.dumps({name: dict(zip(found, numbers.tolist(), strict=True))}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
