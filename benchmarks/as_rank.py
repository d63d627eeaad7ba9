"""What one rank measures: ``python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.as_rank``.

Gradients and sharded parameters are compared with those of one process that reads the whole batch.
The first rank prints what all have found, as one line of JSON.
"""

import json
from collections.abc import Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from selfattn_book.experiments.ranks import Group
from selfattn_book.experiments.splits import (
    pipeline_parallel,
    sequence_parallel,
    shard_slice,
    tensor_parallel,
)
from selfattn_book.experiments.walks import new_model, next_hour_loss, random_walks
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask

Found = dict[str, float]


def gradients(group: Group, parts: Sequence[Tensor]) -> Found:
    """Compare the averaged gradients with those of all parts together in one process."""
    model, one, own = new_model(0), new_model(0), new_model(0)
    replica = DistributedDataParallel(model, process_group=group)
    mine = parts[group.rank()]
    next_hour_loss(replica, mine).backward()
    next_hour_loss(one, torch.cat(list(parts))).backward()
    next_hour_loss(own, mine).backward()
    return {
        "largest": max(float(g.abs().max()) for g in slopes(one)),
        "averaged": difference(slopes(model), slopes(one)),
        "own": difference(slopes(own), slopes(one)),
    }


def sharded(group: Group, walks: Tensor) -> Found:
    """Compare a model whose parameters are dealt out with one that holds them all."""
    model, one = new_model(0), new_model(0)
    mesh = init_device_mesh("cpu", (group.size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    held = sum(local(p).numel() for p in model.parameters())
    next_hour_loss(model, walks[shard_slice(len(walks), group)]).backward()
    next_hour_loss(one, walks).backward()
    apart = difference(slopes(model), slopes(one))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer.step()
    torch.optim.Adam(one.parameters(), lr=0.01).step()
    states = [s for own in optimizer.state.values() for s in own.values()]
    after = difference(
        [full(p.detach()) for p in model.parameters()], [p.detach() for p in one.parameters()]
    )
    return {
        "parameters": sum(p.numel() for p in one.parameters()),
        "held": held,
        "held by Adam": sum(local(s).numel() for s in states if s.dim()),
        "gradients": apart,
        "after a step": after,
    }


def splits(group: Group) -> Found:
    """Compare what is split over the ranks with the same on one of them."""
    chance = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        part = FeedForward(5, 6).double()
    x = torch.randn(3, 6, 5, generator=chance, dtype=torch.float64)
    mask, own = causal_mask(6), shard_slice(6, group)
    y = sequence_parallel(x, x[:, own], x[:, own], mask[:, own], group)
    stages = [torch.sin, torch.exp]
    made = pipeline_parallel(list(x), stages[group.rank() % 2], group)
    passed = torch.stack(made or [x[0]] * 3)
    wanted = x.sin().exp() if made else x[:1].expand(3, -1, -1)
    weights = (x @ x.mT / 5**0.5).masked_fill(~mask, -torch.inf).softmax(-1)
    return {
        "feed-forward": float((tensor_parallel(x, part, group) - part(x)).abs().max()),
        "keys": float((y - weights @ x).abs().max()),
        "blocks": float((passed - wanted).abs().max()),
    }


def slopes(model: nn.Module) -> list[Tensor]:
    """Return the gradients of all parameters, each whole."""
    return [full(p.grad) for p in model.parameters() if p.grad is not None]


def full(x: Tensor) -> Tensor:
    """Return a tensor of which a rank may hold a part only."""
    return x.full_tensor() if isinstance(x, DTensor) else x


def local(x: Tensor) -> Tensor:
    """Return what this rank holds of a tensor."""
    return x.to_local() if isinstance(x, DTensor) else x


def difference(some: Sequence[Tensor], others: Sequence[Tensor]) -> float:
    """Return the largest distance between two numbers that should be the same."""
    pairs = zip(some, others, strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def main() -> None:
    """Measure, and print the largest number that any rank has found for each."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    group = dist.group.WORLD
    assert group is not None
    walks = random_walks(8, seed=1)
    found = {
        "equal": gradients(group, walks.chunk(2)),
        "unequal": gradients(group, [walks[:2], walks[2:]]),
        "sharded": sharded(group, walks),
        "splits": splits(group),
    }
    for own in found.values():
        numbers = torch.tensor(list(own.values()), dtype=torch.float64)
        dist.all_reduce(numbers, dist.ReduceOp.MAX, group=group)
        own.update(zip(own, numbers.tolist(), strict=True))
    if group.rank() == 0:
        print(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
