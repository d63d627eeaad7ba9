"""Fully sharded training (FSDP) on one of several ranks, compared with one process.

``python -m torch.distributed.run --nproc-per-node 2 -m benchmarks.as_rank``: the first rank prints the
largest number that any rank has found for each measurement, as one line of JSON.
"""

import json
from collections.abc import Iterable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from selfattn_book.experiments.ranks import Group
from selfattn_book.experiments.splits import shard_slice
from selfattn_book.experiments.walks import new_model, next_hour_loss, random_walks


def sharded(group: Group, walks: Tensor) -> dict[str, float]:
    """Compare a model whose parameters are sharded with one that holds them all."""
    model, one = new_model(0), new_model(0)
    mesh = init_device_mesh("cpu", (group.size(),))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    held = sum(local(p).numel() for p in model.parameters())
    next_hour_loss(model, walks[shard_slice(len(walks), group)]).backward()
    next_hour_loss(one, walks).backward()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer.step()
    torch.optim.Adam(one.parameters(), lr=0.01).step()
    states = [s for own in optimizer.state.values() for s in own.values()]
    return {
        "parameters": sum(p.numel() for p in one.parameters()),
        "held": held,
        "held by Adam": sum(local(s).numel() for s in states if s.dim()),
        "gradients": largest_difference(gradients_of(model), gradients_of(one)),
        "after a step": largest_difference(parameters_of(model), parameters_of(one)),
    }


def gradients_of(model: nn.Module) -> list[Tensor]:
    """Return the gradients of all parameters, each whole."""
    return [full(p.grad) for p in model.parameters() if p.grad is not None]


def parameters_of(model: nn.Module) -> list[Tensor]:
    """Return all parameters, each whole."""
    return [full(p.detach()) for p in model.parameters()]


def full(x: Tensor) -> Tensor:
    """Return a whole tensor, of which a rank may hold a shard."""
    return x.full_tensor() if isinstance(x, DTensor) else x


def local(x: Tensor) -> Tensor:
    """Return the shard of a tensor that this rank holds."""
    return x.to_local() if isinstance(x, DTensor) else x


def largest_difference(ours: Iterable[Tensor], theirs: Iterable[Tensor]) -> float:
    """Return the largest absolute difference of two lists of tensors."""
    pairs = zip(ours, theirs, strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


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
