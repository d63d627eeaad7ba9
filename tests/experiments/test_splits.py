"""What is split over ranks gives what one machine gives; the oracle knows nothing of ranks."""

import pytest
import torch
import torch.nn.functional as F

from selfattn_book.experiments.ranks import run_on_ranks
from selfattn_book.experiments.splits import (
    shard_slice,
    split_blocks,
    split_feed_forward,
    split_keys,
)
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask

every_count = pytest.mark.parametrize("ranks", [1, 2, 3])


@every_count
def test_shares_are_all_of_it_and_do_not_overlap(ranks):
    shares = run_on_ranks(ranks, lambda group: shard_slice(12, group))
    dealt = [i for share in shares for i in range(12)[share]]
    assert dealt == list(range(12))


@pytest.mark.parametrize("count", [7, 0, 1])
def test_what_cannot_be_dealt_out_evenly_is_refused(count):
    message = f"number of heads must be a multiple of the number of ranks, 2; got {count}"
    with pytest.raises(ValueError, match=message):
        run_on_ranks(2, lambda group: shard_slice(count, group, "heads"))


@every_count
def test_a_feed_forward_part_is_the_sum_of_its_shares(ranks, draw, seeded, agree):
    with seeded(1):
        part = FeedForward(5, 6).double()
    x = draw(2, 3, 5)
    inner = F.relu(F.linear(x, part.expand.weight, part.expand.bias))
    wanted = F.linear(inner, part.contract.weight, part.contract.bias)
    for made in run_on_ranks(ranks, lambda group: split_feed_forward(x, part, group)):
        agree(made, wanted.detach())


@every_count
@pytest.mark.parametrize("kind", ["all", "causal", "random", "some blind"])
def test_keys_on_several_ranks_are_attended_to_as_one(ranks, kind, draw, draw_mask, oracle, agree):
    length, keys = 5, 6
    query, key, value = (
        draw(2, 3, length, 4),
        draw(2, 3, keys, 4),
        draw(2, 3, keys, 4),
    )
    mask = {
        "all": torch.ones(length, keys, dtype=torch.bool),
        "causal": causal_mask(length, keys),
        "random": draw_mask(length, keys),
        "some blind": draw_mask(length, keys),
    }[kind].clone()
    if kind == "some blind":
        mask[2] = False

    def work(group):
        own = shard_slice(keys, group)
        return split_keys(query, key[..., own, :], value[..., own, :], mask[:, own], group)

    wanted = oracle(query, key, value, mask)
    for made in run_on_ranks(ranks, work):
        agree(made, wanted)


def test_scores_may_be_large_on_one_rank_alone(draw, oracle, agree):
    query, key, value = draw(3, 4), draw(6, 4), draw(6, 4)
    key[4] *= 1e4  # on the second rank
    seen = torch.ones(3, 6, dtype=torch.bool)

    def work(group):
        own = shard_slice(6, group)
        return split_keys(query, key[own], value[own], seen[:, own], group)

    for made in run_on_ranks(2, work):
        agree(made, oracle(query[None], key[None], value[None])[0])


@every_count
def test_batches_come_out_of_the_last_stage_in_their_order(ranks, draw):
    stages = [lambda x: x + 1, lambda x: 2 * x, lambda x: x**2][:ranks]
    batches = list(draw(4, 3, 2))
    *others, last = run_on_ranks(
        ranks, lambda group: split_blocks(batches, stages[group.rank()], group)
    )
    assert others == [[]] * (ranks - 1)
    for made, batch in zip(last, batches, strict=True):
        for stage in stages:
            batch = stage(batch)
        assert torch.equal(made, batch)
