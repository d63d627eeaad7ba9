"""Training in which each of several ranks reads its share of every batch.

Each rank holds the whole model; PyTorch's ``DistributedDataParallel`` averages their gradients while
they are computed, so that all take the same step, which is that of one machine with the whole batch.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from selfattn_book._arguments import check_integer
from selfattn_book.experiments import checkpoint
from selfattn_book.experiments.ranks import Group, mean_over_ranks
from selfattn_book.experiments.walks import (
    next_hour_loss,
    walks_around_the_clock,
)


@dataclass(frozen=True)
class Recipe:
    """What a training run is made of; nothing in it says how many ranks share the work.

    Attributes:
        walks: how many there are to learn from.
        batch: how many walks a step reads, on all ranks together.
        seed: of walks, weights and order.
        rate: of Adam.

    Example:
        >>> Recipe(seed=3)
        Recipe(walks=256, batch=16, seed=3, rate=0.01)
    """

    walks: int = 256
    batch: int = 16
    seed: int = 0
    rate: float = 0.01


def train(
    model: nn.Module,
    recipe: Recipe,
    epochs: int,
    *,
    group: Group | None = None,
    file: str | Path | None = None,
    each_step: Callable[[], None] = lambda: None,
) -> list[float]:
    """Train a model, alone or as one rank of a group.

    Args:
        model: as of :func:`~selfattn_book.experiments.walks.new_model`; under a group, all
            ranks begin with that of rank 0.
        recipe: of the run.
        epochs: how many, counted from the very first.
        group: the ranks; without it there is one.
        file: of the checkpoint, which rank 0 writes after each epoch; if it is there already, every
            rank goes on from it.
        each_step: called after each step.

    Returns:
        The mean loss of each epoch, each before it was learned; the same on all ranks.

    Raises:
        ValueError: the batch is no multiple of the number of ranks, the walks are no multiple of the
            batch, ``epochs`` is below 1, or the file is no checkpoint of this recipe.
        OSError: the checkpoint cannot be written.

    Example:
        >>> from selfattn_book.experiments.walks import new_model
        >>> recipe = Recipe(walks=32)
        >>> alone = train(new_model(0), recipe, 2)
        >>> from selfattn_book.experiments.ranks import on_ranks
        >>> models = [new_model(0), new_model(1)]   # the second one gets the weights of the first
        >>> two = on_ranks(2, lambda group: train(models[group.rank()], recipe, 2, group=group))
        >>> [abs(loss - ours) < 1e-9 for losses in two for loss, ours in zip(losses, alone)]
        [True, True, True, True]
        >>> train(new_model(0), Recipe(batch=24), 2)
        Traceback (most recent call last):
        ValueError: the number of walks must be a multiple of the batch, 24; got 256
    """
    check_integer("epochs", epochs, least=1)
    rank, ranks = (group.rank(), group.size()) if group else (0, 1)
    batches, sampler = own_batches(recipe, rank, ranks)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.rate)
    losses = _resume(file, recipe, model, optimizer)
    replica = (
        DistributedDataParallel(model, process_group=group) if group else model
    )
    for epoch in range(len(losses), epochs):
        sampler.set_epoch(epoch)  # another order, the same on all ranks
        loss = _learn(replica, batches, optimizer, each_step)
        losses.append((mean_over_ranks(loss, group) if group else loss).item())
        if rank == 0 and file is not None:  # one of them writes
            _save(file, recipe, losses, model, optimizer)
    return losses


def own_batches(
    recipe: Recipe, rank: int, ranks: int
) -> tuple[DataLoader[tuple[Tensor, ...]], DistributedSampler[tuple[Tensor, ...]]]:
    """Return the batches of one rank: of every batch its share, the same number on each rank.

    Args:
        recipe: of the run.
        rank: whose batches.
        ranks: how many share each batch.

    Returns:
        The batches, and the sampler that puts them into order.

    Raises:
        ValueError: the batch is no multiple of the number of ranks, or the walks are none of the
            batch.

    Example:
        >>> batches, _ = own_batches(Recipe(batch=16), 0, 2)
        >>> len(batches), next(iter(batches))[0].shape   # 256 walks, 8 of each 16
        (16, torch.Size([8, 17]))
        >>> own_batches(Recipe(batch=16), 0, 3)
        Traceback (most recent call last):
        ValueError: the batch must be a multiple of the number of ranks, 3; got 16
    """
    check_integer("batch", recipe.batch, least=1)
    if recipe.batch % ranks:
        rule = f"the batch must be a multiple of the number of ranks, {ranks}"
        raise ValueError(f"{rule}; got {recipe.batch}")
    if check_integer("walks", recipe.walks, least=1) % recipe.batch:
        rule = "the number of walks must be a multiple of the batch"
        raise ValueError(f"{rule}, {recipe.batch}; got {recipe.walks}")
    walks = TensorDataset(walks_around_the_clock(recipe.walks, seed=recipe.seed))
    sampler: DistributedSampler[tuple[Tensor, ...]] = DistributedSampler(
        walks, num_replicas=ranks, rank=rank, seed=recipe.seed
    )
    share, chance = recipe.batch // ranks, torch.Generator()
    return DataLoader(walks, share, sampler=sampler, generator=chance), sampler


def _learn(
    replica: nn.Module,
    batches: DataLoader[tuple[Tensor, ...]],
    optimizer: torch.optim.Optimizer,
    each_step: Callable[[], None],
) -> Tensor:
    """Go through the batches once, and return the mean loss over them."""
    device = next(replica.parameters()).device
    total = torch.zeros((), dtype=torch.float64, device=device)
    for (walks,) in batches:
        loss = next_hour_loss(replica, walks.to(device))
        optimizer.zero_grad()
        loss.backward()  # replicas average their gradients as they come
        optimizer.step()
        total += loss.detach() / len(batches)
        each_step()
    return total


def _save(
    file: str | Path,
    recipe: Recipe,
    losses: list[float],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    checkpoint.save(file, {"recipe": asdict(recipe), "losses": losses, **states})


def _resume(
    file: str | Path | None,
    recipe: Recipe,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> list[float]:
    """Go on from a checkpoint, if there is one, however many ranks have written it."""
    if file is not None and not Path(file).parent.is_dir():
        rule = f"{file} must be in a folder that is there"
        raise FileNotFoundError(f"{rule}; got no {Path(file).parent}")
    if file is None or not Path(file).exists():
        return []
    kept = checkpoint.load(file)
    if set(kept) != {"recipe", "losses", "model", "optimizer"}:
        rule = f"{file} must be a checkpoint of this training; got one of something else"
        raise ValueError(f"{rule}. {checkpoint.WAY_OUT}")
    lines = [
        [f"{name}: {value}" for name, value in part.items()]
        for part in (asdict(recipe), kept["recipe"])
    ]
    checkpoint.check_same(file, *lines)
    ours = checkpoint.outline("model", model.state_dict())
    checkpoint.check_same(file, ours, checkpoint.outline("model", kept["model"]))
    model.load_state_dict(kept["model"])
    optimizer.load_state_dict(kept["optimizer"])
    return list(kept["losses"])
