"""Computations split over ranks equal those of one machine."""

import pytest
import torch
import torch.nn.functional as F

from selfattn_book.experiments.ranks import run_on_ranks
from selfattn_book.experiments.splits import (
    pipeline_parallel,
    sequence_parallel,
    shard_slice,
    tensor_parallel,
)
from selfattn_book.feed_forward import FeedForward
from selfattn_book.masks import causal_mask

every_count = pytest.mark.parametrize("ranks", [1, 2, 3])


@pytest.mark.parametrize("count", [7, 0, 1])
def test_uneven_shards_are_refused(count):
    message = f"number of heads must be a multiple of the number of ranks, 2; got {count}"
    with pytest.raises(ValueError, match=message):
        run_on_ranks(2, lambda group: shard_slice(count, group, "heads"))


@every_count
def test_a_feed_forward_network_is_the_sum_of_its_shards(ranks, draw, seeded, agree):
    with seeded(1):
        part = FeedForward(5, 6).double()
    x = draw(2, 3, 5)
    hidden = F.relu(F.linear(x, part.expand.weight, part.expand.bias))
    wanted = F.linear(hidden, part.contract.weight, part.contract.bias)
    for made in run_on_ranks(ranks, lambda group: tensor_parallel(x, part, group)):
        agree(made, wanted.detach())


@every_count
@pytest.mark.parametrize("kind", ["causal", "random", "fully masked", "large score"])
def test_attention_to_split_keys_equals_the_oracle(ranks, kind, draw, draw_mask, oracle, agree):
    query, key, value = draw(2, 3, 5, 4), draw(2, 3, 6, 4), draw(2, 3, 6, 4)
    mask = causal_mask(5, 6) if kind == "causal" else draw_mask(5, 6)
    if kind == "fully masked":
        mask[2] = False
    if kind == "large score":
        key[..., 4, :] *= 1e4  # on the last rank

    def work(group):
        own = shard_slice(6, group)
        return sequence_parallel(query, key[..., own, :], value[..., own, :], mask[:, own], group)

    for made in run_on_ranks(ranks, work):
        agree(made, oracle(query, key, value, mask))


@every_count
def test_the_last_stage_returns_the_batches_in_their_order(ranks, draw):
    stages = [lambda x: x + 1, lambda x: 2 * x, lambda x: x**2][:ranks]
    batches = list(draw(4, 3, 2))
    *others, last = run_on_ranks(
        ranks, lambda group: pipeline_parallel(batches, stages[group.rank()], group)
    )
    assert others == [[]] * (ranks - 1)
    for made, batch in zip(last, batches, strict=True):
        for stage in stages:
            batch = stage(batch)
        assert torch.equal(made, batch)
