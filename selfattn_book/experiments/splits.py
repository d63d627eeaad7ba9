"""What ranks can split besides the batch: layers, keys and blocks, each in a few lines.

Each function runs on every rank of a group, under ``torch.distributed.run`` or in
:func:`~selfattn_book.experiments.ranks.on_ranks`, and gives what one machine would give. They show
what is sent; none of them sends a gradient back.

Shape letters: ``B`` batch, ``T`` query length, ``S`` keys of one rank, ``D`` width, ``R`` ranks.
"""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import linear

from selfattn_book.experiments.ranks import Group
from selfattn_book.transformer import FeedForward


def share_of(count: int, group: Group, what: str = "examples") -> slice:
    """Return which of a number of things belong to a rank: one stretch each, all equally long.

    Args:
        count: how many there are.
        group: the ranks.
        what: they are, in the message.

    Raises:
        ValueError: they cannot be dealt out evenly.

    Example:
        >>> from selfattn_book.experiments.ranks import on_ranks
        >>> on_ranks(2, lambda group: share_of(6, group))
        [slice(0, 3, None), slice(3, 6, None)]
        >>> on_ranks(2, lambda group: share_of(7, group, "heads"))
        Traceback (most recent call last):
        ValueError: the number of heads must be a multiple of the number of ranks, 2; got 7
    """
    each, left = divmod(count, group.size())
    if left or not each:
        rule = f"the number of {what} must be a multiple of the number of ranks"
        raise ValueError(f"{rule}, {group.size()}; got {count}")
    return slice(group.rank() * each, (group.rank() + 1) * each)


@torch.no_grad()
def split_feed_forward(x: Tensor, part: FeedForward, group: Group) -> Tensor:
    r"""Compute a feed-forward part of which each rank uses its share of the inner width.

    .. math:: \operatorname{ff}(x) = b_2 + \sum_r \max(0,\; x W_1^{(r)} + b_1^{(r)})\, W_2^{(r)}

    with columns of :math:`W_1` and rows of :math:`W_2` dealt out to the ranks.

    Args:
        x: ``(B, T, D)``, the same on all ranks.
        part: its share is taken from the whole; a rank of a real one would hold nothing else.
        group: the ranks.

    Raises:
        ValueError: the inner width is no multiple of the number of ranks.

    Source:
        :cite:t:`shoeybi2019megatron`, section 3.

    Example:
        >>> from selfattn_book.experiments.ranks import on_ranks
        >>> part, x = FeedForward(4, 6), torch.ones(2, 3, 4)
        >>> made = on_ranks(2, lambda group: split_feed_forward(x, part, group))
        >>> [torch.allclose(rank, part(x)) for rank in made]
        [True, True]
    """
    own = share_of(part.expand.out_features, group, "inner numbers")
    inner = linear(x, part.expand.weight[own], part.expand.bias[own]).relu()
    change = linear(inner, part.contract.weight[:, own])  # (B, T, D)
    dist.all_reduce(change, group=group)  # the sum over the ranks
    return change + part.contract.bias


@torch.no_grad()
def split_keys(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, group: Group
) -> Tensor:
    r"""Attend to keys of which each rank holds a stretch.

    .. math:: y_i = \frac{\sum_r \sum_{j \in r} e^{s_{ij} - m_i} v_j}
        {\sum_r \sum_{j \in r} e^{s_{ij} - m_i}}, \qquad m_i = \max_j s_{ij}

    Args:
        query: ``(..., T, D)``, the same on all ranks.
        key: ``(..., S, D)``, of this rank.
        value: ``(..., S, D)``, of this rank.
        mask: boolean, ``True`` = may be seen, ``(T, S)``, of this rank's keys.
        group: the ranks.

    Returns:
        ``(..., T, D)``; a query that may see nothing gets zeros.

    Source:
        :cite:t:`milakov2018online`, section 3; over ranks, :cite:t:`liu2024ring`.

    Example:
        >>> from selfattn_book.experiments.ranks import on_ranks
        >>> x, seen = torch.eye(4), torch.ones(4, 4, dtype=torch.bool)
        >>> made = on_ranks(2, lambda group: split_keys(
        ...     x, x[own := share_of(4, group)], x[own], seen[:, own], group))
        >>> torch.allclose(made[0], (x / 2).softmax(-1) @ x)
        True
    """
    scores = (query @ key.mT / key.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
    largest = scores.amax(-1, keepdim=True).clamp(torch.finfo(scores.dtype).min)
    dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)  # (..., T, 1)
    shares = (scores - largest).exp()  # not yet divided
    total, context = shares.sum(-1, keepdim=True), shares @ value
    dist.all_reduce(total, group=group)
    dist.all_reduce(context, group=group)
    return context / total.where(total > 0, 1)


@torch.no_grad()
def split_blocks(
    batches: Sequence[Tensor], stage: Callable[[Tensor], Tensor], group: Group
) -> list[Tensor]:
    """Send batches through stages, one on each rank, as along a conveyor belt.

    Args:
        batches: the first rank reads them; the others only ask how large they are.
        stage: what this rank does with a batch; what comes out is of the same shape.
        group: the ranks, in the order of the stages.

    Returns:
        What the last stage made of each batch, and an empty list on all other ranks.

    Source:
        :cite:t:`huang2019gpipe`, section 2.

    Example:
        >>> from selfattn_book.experiments.ranks import on_ranks
        >>> stages = [torch.sqrt, torch.neg]
        >>> on_ranks(2, lambda group: split_blocks(
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
