"""Tensor, sequence and pipeline parallelism, each in a few lines.

Each function runs on every rank of a group, under ``torch.distributed.run`` or in
:func:`~selfattn_book.experiments.ranks.run_on_ranks`, and computes the result of one machine. They show
the forward communication only; no gradients are sent.

Shape letters: ``B`` batch, ``T`` query length, ``S`` keys of one rank, ``D`` dimension, ``R`` ranks.
"""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import linear

from selfattn_book.experiments.ranks import Group
from selfattn_book.feed_forward import FeedForward


def shard_slice(count: int, group: Group, what: str = "examples") -> slice:
    """Return the slice of a rank: one contiguous shard each, all of the same length.

    Raises:
        ValueError: the count is not a multiple of the number of ranks.

    Example:
        >>> from selfattn_book.experiments.ranks import run_on_ranks
        >>> run_on_ranks(2, lambda group: shard_slice(6, group))
        [slice(0, 3, None), slice(3, 6, None)]
    """
    each, left = divmod(count, group.size())
    if left or not each:
        rule = f"the number of {what} must be a multiple of the number of ranks"
        raise ValueError(f"{rule}, {group.size()}; got {count}")
    return slice(group.rank() * each, (group.rank() + 1) * each)


@torch.no_grad()
def tensor_parallel(x: Tensor, part: FeedForward, group: Group) -> Tensor:
    r"""Compute a feed-forward network whose hidden units are split over the ranks.

    .. math:: \operatorname{ff}(x) = b_2 + \sum_r \max(0,\; x W_1^{(r)} + b_1^{(r)})\, W_2^{(r)}

    with columns of :math:`W_1` and rows of :math:`W_2` split over the ranks.

    Args:
        x: ``(B, T, D)``, the same on all ranks.
        part: whole network, of which each rank uses its shard.
        group: process group of the ranks.

    Source:
        :cite:t:`shoeybi2019megatron`, section 3.

    Example:
        >>> from selfattn_book.experiments.ranks import run_on_ranks
        >>> part, x = FeedForward(4, 6), torch.ones(2, 3, 4)
        >>> made = run_on_ranks(2, lambda group: tensor_parallel(x, part, group))
        >>> [torch.allclose(rank, part(x)) for rank in made]
        [True, True]
    """
    own = shard_slice(part.expand.out_features, group, "hidden units")
    hidden = linear(x, part.expand.weight[own], part.expand.bias[own]).relu()
    change = linear(hidden, part.contract.weight[:, own])  # (B, T, D)
    dist.all_reduce(change, group=group)  # the sum over the ranks
    return change + part.contract.bias


@torch.no_grad()
def sequence_parallel(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, group: Group
) -> Tensor:
    r"""Attend to keys and values that are split over the ranks.

    .. math:: y_i = \frac{\sum_r \sum_{j \in r} e^{s_{ij} - m_i} v_j}
        {\sum_r \sum_{j \in r} e^{s_{ij} - m_i}}, \qquad m_i = \max_j s_{ij}

    Args:
        query: ``(..., T, D)``, the same on all ranks.
        key: ``(..., S, D)``, of this rank.
        value: ``(..., S, D)``, of this rank.
        mask: ``(T, S)``, boolean, ``True`` = may attend, for this rank's keys.
        group: process group of the ranks.

    Returns:
        ``(..., T, D)``; a fully masked query gets zeros.

    Source:
        :cite:t:`milakov2018online`, section 3; over ranks, :cite:t:`liu2024ring`.
    """
    scores = (query @ key.mT / key.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
    largest = scores.amax(-1, keepdim=True).clamp(torch.finfo(scores.dtype).min)
    dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)  # (..., T, 1)
    weights = (scores - largest).exp()  # not yet divided
    total, context = weights.sum(-1, keepdim=True), weights @ value
    dist.all_reduce(total, group=group)
    dist.all_reduce(context, group=group)
    return context / total.where(total > 0, 1)


@torch.no_grad()
def pipeline_parallel(
    batches: Sequence[Tensor], stage: Callable[[Tensor], Tensor], group: Group
) -> list[Tensor]:
    """Send micro-batches through pipeline stages, one on each rank.

    Args:
        batches: micro-batches, read by the first rank; the others use only their shapes.
        stage: function of this rank, whose output has the shape of its input.
        group: process group of the ranks, in the order of the stages.

    Returns:
        The outputs of the last stage, and an empty list on all other ranks.

    Source:
        :cite:t:`huang2019gpipe`, section 2.

    Example:
        >>> from selfattn_book.experiments.ranks import run_on_ranks
        >>> stages = [torch.sqrt, torch.neg]
        >>> run_on_ranks(2, lambda group: pipeline_parallel(
        ...     [torch.tensor([9.0]), torch.tensor([4.0])], stages[group.rank()], group))
        [[], [tensor([-3.]), tensor([-2.])]]
    """
    rank, last, made = group.rank(), group.size() - 1, []
    for batch in batches:
        if rank > 0:
            batch = torch.empty_like(batch)
            group.recv([batch], rank - 1, 0).wait()
        batch = stage(batch)
        if rank < last:
            group.send([batch], rank + 1, 0).wait()
        else:
            made.append(batch)
    return made
