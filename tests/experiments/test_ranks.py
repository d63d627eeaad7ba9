"""Ranks as threads: they share what they should, and an accident of one ends all."""

import threading
import time

import pytest
import torch
import torch.distributed as dist

from selfattn_book.experiments.ranks import mean_over_ranks, run_on_ranks


@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_rank_has_its_number_and_all_meet(count):
    def work(group):
        total = torch.tensor([float(group.rank())])
        dist.all_reduce(total, group=group)
        return group.rank(), group.size(), total.item()

    sum_of_all = sum(range(count))
    assert run_on_ranks(count, work) == [(r, count, sum_of_all) for r in range(count)]


def test_a_mean_leaves_its_input_alone(draw):
    own = draw(3, 5, 2)
    before = own.clone()
    means = run_on_ranks(3, lambda group: mean_over_ranks(own[group.rank()], group))
    assert torch.equal(own, before)
    for mean in means:
        torch.testing.assert_close(mean, own.mean(0))


def test_what_the_first_failing_rank_raises_comes_out_and_no_thread_stays():
    def work(group):
        if group.rank() == 1:
            raise KeyError("lost")
        mean_over_ranks(torch.ones(1), group)

    before, begin = threading.active_count(), time.monotonic()
    with pytest.raises(KeyError, match="lost"):
        run_on_ranks(2, work, wait=2)
    assert time.monotonic() - begin < 60
    assert threading.active_count() == before


def test_one_rank_alone_waits_for_nobody():
    assert run_on_ranks(1, lambda group: group.size()) == [1]


def test_there_must_be_a_rank():
    with pytest.raises(ValueError, match="count must be at least 1; got 0"):
        run_on_ranks(0, lambda group: None)
