"""Data-parallel training: each rank reads its shard of every batch.

Each rank holds the whole model. PyTorch's ``DistributedDataParallel`` averages their gradients during
the backward pass, so that all take the same step as one machine with the whole batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.ranks import Group, mean_over_ranks
from selfattn_book.experiments.walks import next_hour_loss, random_walks


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters of a training run, which do not depend on the number of ranks.

    Attributes:
        num_walks: number of training sequences.
        batch_size: number of sequences in a step, over all ranks.
        seed: seed of sequences, weights and order.
        lr: learning rate of Adam.
    """

    num_walks: int = 256
    batch_size: int = 16
    seed: int = 0
    lr: float = 0.01


def train(
    model: nn.Module,
    recipe: Recipe,
    epochs: int,
    *,
    group: Group | None = None,
    file: str | Path | None = None,
    each_step: Callable[[], None] = lambda: None,
) -> list[float]:
    """Train a model on one machine, or as one rank of a group.

    Args:
        model: model such as :func:`~selfattn_book.experiments.walks.new_model`; in a group, all
            ranks start from the weights of rank 0.
        recipe: hyperparameters.
        epochs: total number of epochs, including those of a resumed checkpoint.
        group: process group of the ranks; one rank by default.
        file: checkpoint that rank 0 writes after each epoch, and that every rank resumes from.
        each_step: callback after each step.

    Returns:
        The mean loss of each epoch, each batch before its own step; the same on all ranks.

    Raises:
        ValueError: the batch cannot be divided evenly, or the checkpoint is of another recipe.
        OSError: the checkpoint cannot be written.

    Example:
        >>> from selfattn_book.experiments.ranks import run_on_ranks
        >>> from selfattn_book.experiments.walks import new_model
        >>> recipe, models = Recipe(num_walks=32), [new_model(0), new_model(1)]
        >>> [alone] = train(new_model(0), recipe, 1)
        >>> two = run_on_ranks(2, lambda group: train(models[group.rank()], recipe, 1, group=group))
        >>> [abs(loss - alone) < 1e-9 for [loss] in two]
        [True, True]
    """
    rank, ranks = (group.rank(), group.size()) if group else (0, 1)
    batches, sampler = own_batches(recipe, rank, ranks)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    settings = [f"{name}: {value}" for name, value in vars(recipe).items()]
    settings += checkpoint.shapes(model)  # a resumed training must have these in common
    content = checkpoint.resume_training(file, settings, model, optimizer)
    losses = list(content.get("losses", []))
    replica = DistributedDataParallel(model, process_group=group) if group else model
    for epoch in range(len(losses), epochs):
        sampler.set_epoch(epoch)  # a new order, the same on all ranks
        loss = _learn(replica, batches, optimizer, each_step)
        losses.append((mean_over_ranks(loss, group) if group else loss).item())
        if rank == 0 and file is not None:
            checkpoint.save_training(file, settings, model, optimizer, losses=losses)
    return losses


def own_batches(
    recipe: Recipe, rank: int, ranks: int
) -> tuple[DataLoader[tuple[Tensor, ...]], DistributedSampler[tuple[Tensor, ...]]]:
    """Return the batches of one rank, its shard of every batch, and the sampler that orders them.

    Raises:
        ValueError: the batch is not a multiple of the number of ranks, or the walks are not a
            multiple of the batch.

    Example:
        >>> batches, _ = own_batches(Recipe(batch_size=16), 0, 2)
        >>> len(batches), next(iter(batches))[0].shape   # 256 walks, 8 of each 16
        (16, torch.Size([8, 17]))
    """
    if recipe.batch_size % ranks:
        rule = f"the batch must be a multiple of the number of ranks, {ranks}"
        raise ValueError(f"{rule}; got {recipe.batch_size}")
    if recipe.num_walks % recipe.batch_size:
        rule = f"the number of walks must be a multiple of the batch, {recipe.batch_size}"
        raise ValueError(f"{rule}; got {recipe.num_walks}")
    walks = TensorDataset(random_walks(recipe.num_walks, seed=recipe.seed))
    sampler: DistributedSampler[tuple[Tensor, ...]] = DistributedSampler(
        walks, num_replicas=ranks, rank=rank, seed=recipe.seed
    )
    shard, generator = recipe.batch_size // ranks, torch.Generator()
    return DataLoader(walks, shard, sampler=sampler, generator=generator), sampler


def _learn(
    replica: nn.Module,
    batches: DataLoader[tuple[Tensor, ...]],
    optimizer: torch.optim.Optimizer,
    each_step: Callable[[], None],
) -> Tensor:
    """Train for one epoch, and return the mean loss over its batches."""
    device = next(replica.parameters()).device
    total = torch.zeros((), dtype=torch.float64, device=device)
    for (walks,) in batches:
        loss = next_hour_loss(replica, walks.to(device))
        optimizer.zero_grad()
        loss.backward()  # replicas average their gradients meanwhile
        optimizer.step()
        total += loss.detach() / len(batches)
        each_step()
    return total
